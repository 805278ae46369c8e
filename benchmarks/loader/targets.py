# SPDX-License-Identifier: BSD-3-Clause
"""targets.py: the loader's targets, each next to the figure of a run.

All are ratios of figures of one run, except the times of a Python call. Seconds are the
best round: CPU time where one thread works, which a busy machine disturbs least, and
wall clock where several do or whole processes are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.lab import pages
from benchmarks.lab.pages import Target

Results = dict[str, Any]
OURS = "torchtraceap, 2 threads"


def best(results: Results, group: str, size: str, name: str, clock: str) -> float:
    """Return the best round of a row, in seconds; NaN if it was not measured."""
    row = results[group].get(size, {}).get(name, {})
    return min(row.get(clock, []), default=float("nan"))


def main_size(results: Results) -> str:
    """Return the input that ratios are taken on: of 300 MB or nearest to it."""
    sizes = [name for name in results["in_process"] if name.startswith("sim-")]
    return min(sizes, key=lambda s: abs(int(s.removeprefix("sim-")) - 300))


def targets(results: Results) -> Iterator[Target]:
    """Yield every target with what was measured."""
    size = main_size(results)
    smallest = results["python_call"]["input"]

    def row(name: str, clock: str) -> float:
        return best(results, "in_process", size, name, f"{clock}_s")

    def ratio(above: str, below: str, clock: str) -> float:
        return row(above, clock) / row(below, clock)

    yield Target(
        "raw, 1 thread, against the limit row",
        ratio("limit, raw", "raw, 1 thread", "cpu"),
        *(0.50, 0.70),
    )
    yield Target(
        "raw, 2 threads, against its own 1 thread (wall)",
        ratio("raw, 1 thread", "raw, 2 threads", "wall"),
        *(1.5, 1.8),
        note="needs two idle cores",
    )
    yield Target(
        "CPU time of raw, 2 threads, against 1 thread",
        ratio("raw, 2 threads", "raw, 1 thread", "cpu"),
        *(1.1, 1.1),
        below=True,
    )
    yield Target(
        "gzip, 1 thread, against raw, 1 thread",
        ratio("raw, 1 thread", "gzip, 1 thread", "cpu"),
        *(0.7, 0.85),
    )
    yield Target(
        "gzip, 2 threads, against its own 1 thread (wall)",
        ratio("gzip, 1 thread", "gzip, 2 threads", "wall"),
        *(1.4, 1.7),
        note="needs two idle cores",
    )
    for peer, at, accept, goal in (
        ("msgspec Structs", size, 2.5, 4.0),
        ("HTA", smallest, 50.0, 100.0),
    ):
        ours = best(results, "cold", at, OURS, "wall_s")
        theirs = best(results, "cold", at, peer, "wall_s")
        why = results["cold"].get(at, {}).get(peer, {}).get("skipped", "")
        yield Target(
            f"against {peer}, {at} (wall)", theirs / ours, accept, goal, note=why
        )
    peak = results["cold"].get(size, {}).get(OURS, {}).get("peak_bytes", [])
    yield Target(
        "peak memory over the interpreter, x JSON",
        max(peak, default=float("nan")) / results["text_bytes"][size],
        *(0.6, 0.35),
        below=True,
    )
    calls = results["python_call"]
    for which, accept, goal in (("first", 60.0, 45.0), ("later", 40.0, 30.0)):
        yield Target(
            f"Python call on {calls['input']}, {which} (wall)",
            min(calls[which]) * 1e3,
            *(accept, goal),
            below=True,
            unit="ms",
            note="on a quiet machine",
        )
    yield Target(
        "analysis after load, against load on 1 thread",
        ratio("analysis", "raw, 1 thread", "cpu"),
        *(1.0, 0.5),
        below=True,
    )
    for part in ("load", "analysis"):
        timed = [row for row in results["scaling"] if row[part] is not None]
        worst = max(timed, key=lambda row: row[part])
        yield Target(
            f"t(4N)/t(N), {part}, worst of all kinds",
            worst[part],
            *(4.6, 4.2),
            below=True,
            note=worst["kind"],
        )


def as_rows(results: Results) -> list[dict[str, Any]]:
    """Return the targets as the results file holds them."""
    known = (t if t.measured == t.measured else replace(t, measured=None)
             for t in targets(results))  # fmt: skip
    return [target.as_row() for target in known]


def noted(results: Results) -> dict[str, Any]:
    """Return what results/performance.md says besides the figures."""
    cold = results["cold"]
    by_speed = {
        stem: sorted(
            (min(r["wall_s"]), name, r) for name, r in of.items() if r["wall_s"]
        )
        for stem, of in cold.items()
    }
    rows = (r for group in ("in_process", "cold") for of in results[group].values()
            for r in of.values())  # fmt: skip
    return {
        "notes": "; ".join(
            f"{t['what']}: {t['note']}" for t in results["targets"] if t["note"]
        ),
        "by_speed": by_speed,
        "warm_rounds": len(
            next(iter(results["in_process"].values()))["limit, raw"]["wall_s"]
        ),
        "cold_rounds": len(next(iter(cold.values()))[OURS]["wall_s"]),
        "compared": sum(row.get("agreed_on", 0) for row in rows),
    }


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Write the targets for people."""
    for row in rows:
        sign = "<=" if row["below"] else ">="
        note = f" ({row['note']})" if row["note"] else ""
        limits = f"accept {sign} {row['accept']:g}, goal {sign} {row['goal']:g}"
        found = f"{pages.number(row['measured'], '.2f'):>8} {row['unit']}"
        yield f"{row['what']:58} {found}  {limits}: {row['verdict']}{note}"
