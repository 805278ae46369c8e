# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_parts.py: tables of docs/benchmark.md that no terminal shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baselines.table import BASELINES
from corpus_facts import goals_of
from splits import SPLITS
from summary import Row
from table_text import HEADS, main_table, table

Rows = Mapping[tuple[str, str], Row]
#: Shown by each thing that is held out.
_SHOWN = ("idle fraction", "rules, windows of 128", "LightGBM", "rules + LightGBM")


def split_table(rows: Rows, head: str) -> str:
    """Return the areas of one head."""
    only = {
        key: Row(
            {n: f for n, f in row.figures.items() if n == f"{head}_auroc"},
            {}, {}, {}, row.skipped, row.seeds, row.seconds,
        )
        for key, row in rows.items()
    }  # fmt: skip
    made = main_table(only, (head,))
    return f"### {head.upper()}\n\n{made}"


def item_table(rows: Rows) -> str:
    """Return the areas in each fold, of splits that have several."""
    lines = []
    for split in SPLITS:
        shown = [rows.get((split, name)) for name in _SHOWN]
        items = {i for row in shown if row for of in row.by_item.values() for i in of}
        for item in sorted(items) if len(items) > 1 else ():
            areas = [
                row.by_item.get(head, {}).get(item) if row else None
                for row in shown
                for head in HEADS
            ]
            lines.append([split, item, *map(_area, areas)])
    if not lines:
        return ""
    head = [f"{name}, {side}" for name in _SHOWN for side in HEADS.values()]
    return "Each fold by itself:\n\n" + table(["split", "held out", *head], lines)


def notes(rows: Rows) -> str:
    """Return what was capped."""
    there = {name for _, name in rows}
    notes = [f"- {b.name}: {b.note}." for b in BASELINES if b.note and b.name in there]
    seconds = sum(row.seconds for row in rows.values())
    return (
        "Caps, so that the table takes minutes on two cores "
        f"({seconds / 60:.0f} minutes of one core for training and scoring):\n\n"
        + "\n".join(notes)
    )


def corpus_part(facts: dict[str, Any]) -> str:
    """Return what the corpus holds, beside what is asked of it."""
    goals = [
        [what, goal, figure, "yes" if met else "no"]
        for what, goal, figure, met in goals_of(facts)
    ]
    sources = [
        [name, f"{of['traces']:,}", f"{of['windows']:,}", _percent(of["window_rate"])]
        for name, of in facts["sources"].items()
    ]
    return (
        "## The corpus\n\n"
        + table(("", "goal", "is", "met"), goals)
        + "\n\n"
        + table(("source", "traces", "windows", "positive"), sources)
    )


def margin_table(margins: Sequence[dict[str, Any]]) -> str:
    """Return the differences between detectors."""
    lines = [
        [m["split"], m["head"].upper(), m["baseline"], m["against"],
         f"{m['value']:+.3f}",
         "-" if m["low"] is None else f"{m['low']:+.3f} to {m['high']:+.3f}"]
        for m in margins
        if m["split"] != "S0"
    ]  # fmt: skip
    if not lines:
        return ""
    head = ("split", "head", "detector", "against", "difference", "95 %")
    return "## Differences\n\nTaken resample by resample.\n\n" + table(head, lines)


def pattern_table(patterns: Sequence[dict[str, Any]]) -> str:
    """Return how well each pattern is found."""
    lines = [
        [f"`{p['pattern']}`", p["side"].upper(), str(p["windows"]), str(p["traces"]),
         *(_area(p[key]) for key in ("rules", "own_rule", "lightgbm"))]
        for p in patterns
    ]  # fmt: skip
    head = ("pattern", "side", "windows", "traces", "rules", "its rule", "LightGBM")
    return table(head, lines) if lines else "No pattern has 20 positive windows."


def _area(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
