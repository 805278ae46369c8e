# SPDX-License-Identifier: BSD-3-Clause
"""cost_page.py: writes results/analysis_cost.md from what run.py measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from benchmarks.loader.render import machine_text, scaling_rows, table, target_rows
from benchmarks.loader.targets import Results, Target

INTRODUCTION = """\
# What the analysis costs

Written by `python -m benchmarks.analysis.run`; not edited by hand. *Analysis* is all
that `analyze` does after the load: links, timeline, quality, every rule, balance,
windows. The args that rules read are kept from the load, each text once; only where
little of them repeats is the file read again (`cpp/trace/args_kept.h`). **Ratios of one
run count, milliseconds do not.**

{machine}
"""

AGAINST_LOAD = """\
CPU time, one thread, median of {rounds} rounds in which all took turns, every call in a
process of its own. *x load* is the analysis divided by the load of the same file.
"""

SCALING = """\
t(4N)/t(N) in CPU time: 4 is linear. The first row is a real trace, repeated 4 and 16
times with later times and other ids; the others drive one property each far
(`benchmarks/loader/hostile.py`, `benchmarks/analysis/kinds.py`). "-" took less than
3 ms at N.
"""


def ratios(results: Results) -> dict[tuple[str, str], float]:
    """Return analysis over load of each trace in each form."""
    return {
        (name, form): statistics.median(row["analysis"])
        / statistics.median(row["load"])
        for name, forms in results["traces"].items()
        for form, row in forms.items()
    }


def targets(results: Results) -> list[dict[str, Any]]:
    """Return what is asked, beside what was measured."""
    found = ratios(results)
    rows = []
    for form in ("raw", "gzip"):
        of_form = {name: r for (name, f), r in found.items() if f == form}
        worst = max(of_form, key=lambda name: of_form[name])
        middle = statistics.median(of_form.values())
        rows.append(
            Target(f"analysis against load, {form}, median", middle, 1.0, 0.5, True)
        )
        rows.append(
            Target(
                *(f"analysis against load, {form}, worst ({worst})", of_form[worst]),
                *(1.0, 0.5, True),
            )
        )
    timed = [row for row in results["scaling"] if row["analysis"] is not None]
    worst_row = max(timed, key=lambda row: row["analysis"])
    rows.append(
        Target(
            f"t(4N)/t(N), analysis, worst ({worst_row['kind']})",
            *(worst_row["analysis"], 4.6, 4.2, True),
        )
    )
    return [{**asdict(target), "verdict": target.verdict} for target in rows]


def cost_rows(results: Results) -> Iterator[list[str]]:
    """Yield each trace with both costs."""
    found = ratios(results)
    for name, forms in results["traces"].items():
        for form, row in forms.items():
            ms = [
                f"{statistics.median(row[p]) * 1e3:.1f}" for p in ("load", "analysis")
            ]
            yield [f"{name}, {form}", *ms, f"{found[name, form]:.2f}"]


def page(results: Results) -> str:
    """Return the page."""
    some = next(iter(next(iter(results["traces"].values())).values()))
    parts = [
        INTRODUCTION.format(machine=machine_text(results).replace(", .", ".")),
        table(("", "measured", "accept", "goal", "reached"), target_rows(results)),
        "## Against the load\n",
        AGAINST_LOAD.format(rounds=len(some["load"])),
        table(("trace", "load ms", "analysis ms", "x load"), cost_rows(results)),
        "## Against the size\n",
        SCALING,
        table(("", "MB at 4N", "load", "analysis"), scaling_rows(results)),
    ]
    return "\n".join(parts)
