# SPDX-License-Identifier: BSD-3-Clause
"""integrations_page.py: writes results/integrations.md from what run.py measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.integrations.pair_cost import Cost, Pair, added, ratio
from benchmarks.integrations.trainers import SCHEDULE

INTRODUCTION = """\
# What integrations cost

Written by `python -m benchmarks.integrations.run --page`, as
[integrations.json](../../benchmarks/results/integrations.json).

Each figure is of pairs of runs, one with the integration and one without right before
or after it, in alternating order: the median of all pairs, and the interval of 95 %
that a bootstrap over the pairs gives. An interval that holds 1, or 0 µs, means that
nothing was seen. All runs are on a CPU, in one process.

{machine}
"""
STEPS = """\
A run is 60 steps of a small model, with `wait={wait}, warmup={warmup},
active={active}`, stacks and shapes. *Outside* are steps after the recorded ones,
*inside* those that are recorded; *the report* is what the one step takes longer at
whose end the trace is read and analyzed.

The first row is torch's profiler by itself, the measure of the others: what is inside
is its recording, and its own processing is in each report. Where a trainer does more
in Python between operators, there is more to record. On a busy machine some runs took 6
times as long inside, with nothing of ours too; why was not looked into, and what there
was of such runs is in the figures.
"""
DESTINATIONS = """
## Where reports go

A run is 60 steps of a small model, at one of which a report of 75,718 events and 8
findings goes to the destination: *the report* is what that step takes longer, *after*
how many times as long those after it take. With a report every 1000 steps, a thousandth
of it goes to each step. *No files*: without the page and the JSON report
(`files=False`). The first report, which loads a package or opens a run, is left out.
"""
HEADS = ("step, ms", "outside", "outside, µs", "inside", "the report, ms")


def page(results: Mapping[str, Any]) -> str:
    """Return the page."""
    rows = [
        [name, case["what"], str(len(case["phases"]["outside"])), *cells(case)]
        for name, case in results["cases"].items()
        if "outside" in case["phases"]
    ]
    head = [
        "",
        "what is added",
        "pairs",
        *HEADS,
    ]
    destinations = [
        [
            name,
            case["what"],
            str(len(case["phases"]["report"])),
            text(added(case["phases"]["report"]), "{:+.0f}"),
            text(ratio(case["phases"]["after"]), "{:.3f}"),
        ]
        for name, case in results["cases"].items()
        if "after" in case["phases"]
    ]
    parts = [
        INTRODUCTION.format(machine=machine_text(results["machine"])),
        STEPS.format(**SCHEDULE),
        table(head, rows),
        DESTINATIONS,
        table(["", "what is added", "pairs", "the report, ms", "after"], destinations),
    ]
    return "\n".join(parts)


def cells(case: Mapping[str, Any]) -> list[str]:
    """Write the figures of a trainer's row."""
    outside: Sequence[Pair] = case["phases"]["outside"]
    without = sorted(one for one, _ in outside)[len(outside) // 2]
    return [
        f"{without:.2f}",
        text(ratio(outside), "{:.3f}"),
        text(added(outside), "{:+.1f}", 1000),
        text(ratio(case["phases"]["inside"]), "{:.2f}"),
        text(added(case["phases"]["report"]), "{:+.0f}"),
    ]


def text(cost: Cost, form: str, unit: float = 1) -> str:
    """Write a median with its interval."""
    figures = (cost.median, cost.low, cost.high)
    median, low, high = (form.format(unit * figure) for figure in figures)
    return f"{median} ({low} to {high})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table of Markdown; all columns but the first two are figures."""
    marks = ["---", "---"] + ["--:"] * (len(head) - 2)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, marks, *rows))


def machine_text(machine: Mapping[str, Any]) -> str:
    """Say where the run was made."""
    changed = ", changed since" if machine["dirty"] else ""
    return (
        f"{machine['date']}, commit {machine['commit']}{changed}, torch "
        f"{machine['torch']}, {machine['processor']}, {machine['cores']} cores; load "
        f"average {machine['load_before']:.1f} before and {machine['load_after']:.1f} "
        "after."
    )
