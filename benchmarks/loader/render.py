# SPDX-License-Identifier: BSD-3-Clause
"""render.py RESULTS.json: writes results/performance.md from what a run measured.

python -m benchmarks.loader.render results/loader.json > results/performance.md
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.loader.targets import Results
from benchmarks.loader.wording import (
    AGREEMENT,
    ANALYSIS,
    INPUTS,
    INTRODUCTION,
    LIMITS,
    PEERS,
    SCALING,
)

AFTER_LOAD = ("timeline", "analysis")  # rows that load nothing


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table; all columns but the first are numbers."""
    marks = ["---"] + ["--:"] * (len(head) - 1)
    lines = (f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))
    return "\n".join(lines) + "\n"


def page(results: Results) -> str:
    """Return the page."""
    some = next(iter(results["in_process"].values()))["limit, raw"]
    cold = next(iter(results["cold"].values()))["torchtraceap, 2 threads"]
    parts = [
        INTRODUCTION.format(machine=machine_text(results)),
        "## Targets\n",
        table(("", "measured", "accept", "goal", "reached"), target_rows(results)),
        target_notes(results),
        "## Inputs\n",
        INPUTS,
        table(("input", "MB", "events", "bytes an event", "gzip"), input_rows(results)),
        "## Against the limit\n",
        LIMITS.format(rounds=len(some["wall_s"])),
    ]
    for stem in results["in_process"]:
        head = (stem, "wall ms", "CPU ms", "median", "MB/s", "ns an event", "ratio")
        parts.append(table(head, in_process_rows(results, stem)))
    parts += ["## Analysis against load\n", ANALYSIS]
    head = ("", "timeline ms", "x load", "analysis ms", "x load")
    parts.append(table(head, analysis_rows(results)))
    parts += ["## Against other loaders\n", PEERS.format(rounds=len(cold["wall_s"]))]
    for stem in results["cold"]:
        head = (stem, "wall s", "median", "CPU s", "MB/s", "peak, x JSON", "slower")
        parts.append(table(head, cold_rows(results, stem)))
        parts.append(skipped_text(results["cold"][stem]))
    calls = results["python_call"]
    first, later = (min(calls[which]) * 1e3 for which in ("first", "later"))
    parts += [
        "## Calls from Python\n",
        f"`torchtraceap.load` on {calls['input']}: {first:.1f} ms the first time in a "
        f"process, {later:.1f} ms later (wall clock, best).\n",
        "## Cost against size\n",
        SCALING,
        table(("", "MB at 4N", "load", "analysis"), scaling_rows(results)),
        "## Agreement\n",
        AGREEMENT,
        agreement_text(results),
    ]
    return "\n".join(part for part in parts if part)


def machine_text(results: Results) -> str:
    """Say where and with what the run was made."""
    m, versions = results["machine"], results["versions"]
    dirty = ", changed since" if m["dirty"] else ""
    known = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"{m['date']}, commit {m['commit']}{dirty}. {m['processor']}, {m['cores']} "
        f"cores, {m['memory_bytes'] / 2**30:.0f} GiB, Linux {m['kernel']}; load average"
        f" {m['load_before']:.1f} before and {m['load_after']:.1f} after. Python "
        f"{m['python']}, {known}. The run took {m['seconds']} s."
    )


def target_rows(results: Results) -> Iterator[list[str]]:
    """Yield what was asked and what was reached."""
    for row in results["targets"]:
        sign = "≤" if row["below"] else "≥"
        unit = f" {row['unit']}" if row["unit"] else ""
        found = "-" if row["measured"] is None else f"{row['measured']:.2f}{unit}"
        limits = [f"{sign} {row[which]:g}{unit}" for which in ("accept", "goal")]
        yield [row["what"], found, *limits, row["verdict"]]


def target_notes(results: Results) -> str:
    """Add what must be known about some of them."""
    notes = [f"{r['what']}: {r['note']}" for r in results["targets"] if r["note"]]
    extra = "What `on_trace_ready` adds to a run is in [overhead.md](overhead.md)."
    return "; ".join(notes) + ". " + extra + "\n"


def input_rows(results: Results) -> Iterator[list[str]]:
    """Yield the sizes of the inputs."""
    for stem, size in results["text_bytes"].items():
        events = results["inputs"][f"{stem}.json"]["figures"]["events"]
        small = results["inputs"][f"{stem}.json.gz"]["bytes"]
        yield [
            stem,
            f"{size / 1e6:.1f}",
            f"{events:,}",
            f"{size / events:.0f}",
            f"{size / small:.1f}:1",
        ]


def in_process_rows(results: Results, stem: str) -> Iterator[list[str]]:
    """Yield the rows of the C++ program on one input."""
    rows = results["in_process"][stem]
    events = results["inputs"][f"{stem}.json"]["figures"]["events"]
    for name, row in rows.items():
        if name in AFTER_LOAD:
            continue
        layout = name.partition(",")[0] if not name.startswith("limit") else name[7:]
        stored = f"{stem}.compact.json" if layout == "compact" else f"{stem}.json"
        size = results["inputs"][stored]["bytes"]
        wall, cpu = min(row["wall_s"]), min(row["cpu_s"])
        clock = "wall_s" if "2 threads" in name else "cpu_s"
        limit = min(
            rows["limit, compact" if layout == "compact" else "limit, raw"][clock]
        )
        yield [
            name,
            f"{wall * 1e3:.1f}",
            f"{cpu * 1e3:.1f}",
            f"{statistics.median(row[clock]) * 1e3:.1f}",
            f"{size / 1e6 / wall:,.0f}",
            f"{min(row[clock]) / events * 1e9:.0f}",
            f"{limit / min(row[clock]):.2f}",
        ]


def analysis_rows(results: Results) -> Iterator[list[str]]:
    """Yield what follows the load, beside the load."""
    for stem, rows in results["in_process"].items():
        cells = [stem]
        for name in AFTER_LOAD:
            cpu = min(rows[name]["cpu_s"])
            load = min(rows["raw, 1 thread"]["cpu_s"])
            cells += [f"{cpu * 1e3:.1f}", f"{cpu / load:.2f}"]
        yield cells


def cold_rows(results: Results, stem: str) -> Iterator[list[str]]:
    """Yield the Python loaders on one input, fastest first."""
    rows = results["cold"][stem]
    size = results["text_bytes"][stem]
    ours = min(rows["torchtraceap, 2 threads"]["wall_s"])
    timed = [(min(row["wall_s"]), name) for name, row in rows.items() if row["wall_s"]]
    for wall, name in sorted(timed):
        row = rows[name]
        yield [
            name,
            f"{wall:.3f}",
            f"{statistics.median(row['wall_s']):.3f}",
            f"{min(row['cpu_s']):.3f}",
            f"{size / 1e6 / wall:,.0f}",
            f"{min(row['peak_bytes']) / size:.2f}",
            f"{wall / ours:.1f}",
        ]


def skipped_text(rows: dict[str, Any]) -> str:
    """Say which loaders were left out and why."""
    reasons = [f"{n}: {row['skipped']}" for n, row in rows.items() if "skipped" in row]
    return "Not timed: " + "; ".join(reasons) + ".\n" if reasons else ""


def scaling_rows(results: Results) -> Iterator[list[str]]:
    """Yield cost against size."""
    for row in results["scaling"]:
        ratios = (
            "-" if row[p] is None else f"{row[p]:.2f}" for p in ("load", "analysis")
        )
        yield [row["kind"], f"{row['bytes'][1] / 1e6:.1f}", *ratios]


def agreement_text(results: Results) -> str:
    """Say who disagrees, or that nobody does."""
    if results["disagreements"]:
        return "".join(f"- **{text}**\n" for text in results["disagreements"])
    compared = sum(
        row.get("agreed_on", 0)
        for group in ("in_process", "cold")
        for rows in results[group].values()
        for row in rows.values()
    )
    return f"All agree: {compared} figures were compared.\n"


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text())), end="")
