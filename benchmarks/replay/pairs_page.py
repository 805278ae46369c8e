# SPDX-License-Identifier: BSD-3-Clause
"""pairs_page.py: writes results/replay_pairs.md from what run_pairs.py measured."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.loader.render import table
from benchmarks.replay.fidelity_page import machine_text
from benchmarks.replay.pair_table import PAIRS
from benchmarks.replay.pairs_text import (
    INTRODUCTION,
    RESNET,
    disturbed,
    gained_more,
    gained_nothing,
    not_found,
    outcome,
    resnet_note,
)

HEAD = (
    "pair", "slow", "predicted", "measured", "naive", "error, step %",
    "error, gain %", "gained more", "unprofiled / predicted %", "left", "others",
)  # fmt: skip


def middle(rows: list[dict[str, Any]], key: str) -> float | None:
    """Return the median of the rounds that have a value."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def spread(rows: list[dict[str, Any]], key: str) -> str:
    """Write the median of shares with the least and most."""
    values = [100 * row[key] for row in rows if row[key] is not None]
    if not values:
        return "-"
    text = f"{statistics.median(values):+.0f}"
    return text + (f" ({min(values):+.0f} to {max(values):+.0f})" if rows[1:] else "")


def error_of_gain(rows: list[dict[str, Any]]) -> str:
    """Write the error of the gain, and how many rounds have none."""
    nothing = gained_nothing(rows)
    left_out = f"; {nothing} of {len(rows)} gained nothing" if nothing else ""
    return spread(rows, "error_of_gain") + left_out


def predicted(found: list[dict[str, Any]], rounds: int) -> str:
    """Write a prediction, and in how many rounds there was one."""
    if not found:
        return "nothing found"
    rare = f"; found in {len(found)} of {rounds}" if len(found) < rounds else ""
    return f"{middle(found, 'predicted'):.1f}{rare}"


def unprofiled(rows: list[dict[str, Any]]) -> str:
    """Write the shares of the step that go, without the profiler and predicted."""
    if not rows or "plain_slow" not in rows[0]:
        return "-"
    real = statistics.median(1 - r["plain_fixed"] / r["plain_slow"] for r in rows)
    said = statistics.median(1 - r["predicted"] / r["slow"] for r in rows)
    return f"{100 * real:.0f} / {100 * said:.0f}"


def plain(value: float | None, form: str) -> str:
    """Write a value that not all rows have."""
    return "-" if value is None else form.format(value)


def row_of(name: str, every: list[dict[str, Any]]) -> list[str]:
    """Return a line of the table, of the rounds with findings if there are any."""
    found = [row for row in every if row["found"]]
    rows = found or every
    return [
        name,
        f"{middle(rows, 'slow'):.1f}",
        predicted(found, len(every)),
        f"{middle(rows, 'measured'):.1f}",
        f"{middle(rows, 'naive'):.1f}" if found else "-",
        spread(found, "error_of_step"),
        error_of_gain(found),
        f"{gained_more(found)} of {len(found)}" if found else "-",
        unprofiled(found),
        plain(middle(rows, "left_in_fixed"), "{:.1f}"),
        plain(middle(rows, "others"), "{:.0%}"),
    ]


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    measured = results["pairs"]
    known = {pair.name: pair for pair in PAIRS}
    lines = [row_of(f"`{name}`", rows) for name, rows in measured.items()]
    if results["recorded"]:
        lines.append(row_of(RESNET, [results["recorded"]]))
    every = [row for rows in measured.values() for row in rows]
    notes = [
        f"- `{n}`: {known[n].what}. {known[n].why}{not_found(rows)}"
        for n, rows in measured.items()
    ]
    rounds = max((len(rows) for rows in measured.values()), default=0)
    return "\n".join(
        [
            INTRODUCTION.format(
                machine=machine_text(results["machine"])
                + f" torch {results['machine']['torch']}.",
                rounds=rounds,
                steps=results["machine"].get("steps", "-"),
                outcome=outcome(every),
                disturbed=disturbed(every),
            ),
            table(HEAD, lines),
            "## The pairs, and why they may differ\n",
            *notes,
            *([resnet_note(results["recorded"])] if results["recorded"] else []),
            "",
        ]
    )
