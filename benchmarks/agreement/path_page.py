# SPDX-License-Identifier: BSD-3-Clause
"""path_page.py RESULTS.json: writes docs/agreement_critical_path.md.

python benchmarks/agreement/path_page.py benchmarks/results/hta_critical_path.json
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "loader"))

from path_reasons import REASONS
from path_words import INTRODUCTION, MAPPING, SIMULATED, SPLIT, WINDOWS
from render import table

Results = dict[str, Any]
NEAR = 0.05  # differences below this share of what is compared need no reason
OURS = (
    *("host", "runtime_calls", "hand_over", "before_the_trace"),
    *("compute", "communication", "copies", "device_delay"),
)
THEIRS = (
    *("host", "runtime_calls", "compute", "communication", "copies", "device_delay"),
    *("between_operators", "blocking_call", "return"),
)


def headline(row: Results) -> str:
    """Say in one line how near the two are."""
    said = [f"{w['step'] or 'whole'}: {percent(same(w))} same" for w in row["windows"]]
    return "; ".join(said + [f"{k}: {v}" for k, v in row["fails"].items()])


def same(window: Results) -> float:
    """Return the share of time in which both are in the same category."""
    return float(window["same_us"] / window["compared_us"])


def percent(share: float | None) -> str:
    """Write a share."""
    return "-" if share is None else f"{100 * share:.0f} %"


def ms(us: float) -> str:
    """Write microseconds as milliseconds."""
    return f"{us / 1e3:,.3f}" if us < 1e5 else f"{us / 1e3:,.1f}"


def windows(results: Results) -> Iterator[tuple[str, Results, Results]]:
    """Yield a name, the trace and the window of each path."""
    for trace, row in results["traces"].items():
        for of in row["windows"]:
            what = "whole" if of["step"] is None else f"step {of['step']}"
            mark = "" if row["replayable"] else " (refused)"
            yield f"{trace.removesuffix('.json.gz')}, {what}{mark}", row, of


def window_rows(results: Results) -> Iterator[list[str]]:
    """Yield lengths, agreement and reasons of each window."""
    for name, _, of in windows(results):
        lacks = of["theirs_lacks_us"]
        outside = lacks.get("before", 0) + lacks.get("after", 0)
        silent = sum(lacks.get(key, 0) for key in THEIRS[-3:])
        why = [
            f"{reason} {percent(us / of['compared_us'])}"
            for reason, us in of["reasons_us"].items()
            if us > NEAR * of["compared_us"]
        ]
        yield [
            name + (", its work" if of["leads_to"] == "work" else ""),
            ms(of["window_us"]),
            ms(of["ours_us"]),
            ms(of["theirs_us"]),
            ms(outside),
            ms(silent),
            percent(same(of)),
            percent(of["our_work_on_theirs"]),
            percent(of["their_work_on_ours"]),
            ", ".join(why),
        ]


def split_rows(results: Results) -> Iterator[list[str]]:
    """Yield what the paths of whole traces are made of, in percent of each."""
    for name, _, of in windows(results):
        if of["step"] is not None:
            continue
        for who, labels in (("ours", OURS), ("theirs", THEIRS)):
            whole = sum(of[who].values()) or 1
            parts = {key: of[who].get(key, 0) / whole for key in labels}
            cells = [percent(parts[key]) if key in parts else "" for key in COLUMNS]
            yield [f"{name.removesuffix(', whole')}: {who}", *cells]


COLUMNS = tuple(dict.fromkeys((*OURS, *THEIRS)))


def simulated_rows(results: Results) -> Iterator[list[str]]:
    """Yield what both say of device work that takes no time."""
    for name, row in results["traces"].items():
        said = row.get("without_device")
        if not said or not said["ours"]:
            continue
        of = [w for w in row["windows"] if w["step"] is None]
        cells = [name.removesuffix(".json.gz")]
        for who in ("ours", "theirs"):
            before, after = said[who]["before_us"], said[who]["after_us"]
            cells += [ms(before), ms(after), percent(1 - after / before)]
        yield [*cells, percent(same(of[0])) if of else "-"]


def failures(results: Results) -> Iterator[str]:
    """Yield each error of HTA's with the traces that it comes in."""
    by_error: dict[str, list[str]] = defaultdict(list)
    for name, row in results["traces"].items():
        for error in sorted(set(row["fails"].values())):
            # The same one of other events is the same.
            plain = error.partition(" = ")[0] + " ... " + error.rpartition(": ")[2]
            plain = plain if " = " in error else error
            of = by_error[plain]
            if name not in of:
                of.append(name)
    for error, names in sorted(by_error.items(), key=lambda item: -len(item[1])):
        listed = ", ".join(name.removesuffix(".json.gz") for name in names)
        yield f"- `{error}`: {listed}\n"


def page(results: Results) -> str:
    """Return the page."""
    found = [of for _, _, of in windows(results)]
    believed = [of for _, row, of in windows(results) if row["replayable"]]
    left = sum(
        of["reasons_us"].get("other", 0) > NEAR * of["compared_us"] for of in found
    )
    traces = results["traces"].values()
    handled = [row for row in traces if row["windows"]]
    theirs = [
        row["hta_load_seconds"] + sum(w["seconds"] for w in row["windows"])
        for row in handled
    ]
    on_theirs = [w["our_work_on_theirs"] for w in believed]
    both_ways = [w["their_work_on_ours"] for w in believed]
    text = INTRODUCTION.format(
        hta=results["hta"],
        all=len(results["traces"]),
        handled=len(handled),
        windows=len(found),
        believed=len(believed),
        same=percent(statistics.median(map(same, believed))),
        above=sum(same(of) >= 1 - NEAR for of in believed),
        on_theirs=percent(statistics.median(s for s in on_theirs if s is not None)),
        on_ours=percent(statistics.median(s for s in both_ways if s is not None)),
        left="no window" if not left else f"{left} windows",
        their_seconds=f"{sum(theirs):,.0f}",
        our_seconds=f"{sum(row['ours_seconds'] for row in handled):,.0f}",
        **results["machine"],
    )
    head = (
        *("path", "window ms", "ours", "HTA's", "outside", "no weight", "same"),
        *("our work on theirs", "theirs on ours", "because of"),
    )
    reasons = (["`" + key + "`", text] for key, text in REASONS.items())
    rows = "".join(f"| {name} | {why} |\n" for name, why in reasons)
    silence = ("trace", "ours ms", "without", "gain", "HTA's ms", "without", "gain")
    parts = [
        text,
        MAPPING,
        f"## Why they differ\n\n| reason | what it is |\n|---|---|\n{rows}",
        WINDOWS,
        table(head, window_rows(results)),
        SPLIT,
        table(("trace", *COLUMNS), split_rows(results)),
        SIMULATED,
        table((*silence, "same path"), simulated_rows(results)),
        "## What HTA cannot do\n\n" + "".join(failures(results)),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(json.loads(Path(sys.argv[1]).read_text())), end="")
