# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_parts.py: tables of results/benchmark.md that no terminal shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.lab.detector.baselines.table import (
    BARE,
    BASELINES,
    NETWORK,
    STACK,
    TOGETHER,
)
from benchmarks.lab.detector.corpus_facts import goals_of
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.table_text import HEADS, KINDS, LIMITS, main_table, table

Rows = Mapping[tuple[str, str], Row]
#: Shown by each thing that is held out.
_SHOWN = ("busy fraction", "rules, windows of 128", "LightGBM", "rules + LightGBM",
          NETWORK, STACK)  # fmt: skip
#: Shown in detail in each split.
_SHOWN_ALL = ("source only", "busy fraction", "rules, windows of 128",
              "LightGBM, weak", "RealMLP", "CatBoost", BARE, "LightGBM", TOGETHER,
              "rules + LightGBM", NETWORK, STACK)  # fmt: skip


def split_table(rows: Rows, head: str) -> str:
    """Return the areas of one head."""
    only = {
        key: replace(
            row,
            figures={n: f for n, f in row.figures.items() if n == f"{head}_auroc"},
        )
        for key, row in rows.items()
    }
    made = main_table(only, (head,))
    return f"### {head.upper()}\n\n{made}" if made.count("\n") > 1 else ""


def compact_tables(rows: Rows, left_out: str) -> str:
    """Return the main figures of every split but one, of some detectors, bare."""
    heads = [
        (f"{side}_{key}", f"{name} {what}")
        for side, name in HEADS.items()
        for key, what in (("auroc", "AUROC"), ("auroc_bad", "in bad traces"), *LIMITS)
    ]
    parts = []
    for split in SPLITS:
        lines = {
            name: [_cell(rows.get((split, name)), key) for key, _ in (*heads, *KINDS)]
            for name in _SHOWN_ALL
        }
        lines = {name: of for name, of in lines.items() if any(c != "-" for c in of)}
        if split == left_out or not lines:
            continue
        columns = [what for _, what in (*heads, *KINDS)]
        shown = [
            k for k in range(len(columns)) if any(of[k] != "-" for of in lines.values())
        ]
        parts.append(
            table(
                [split, *(columns[k] for k in shown)],
                [[name, *(of[k] for k in shown)] for name, of in lines.items()],
            )
        )
    return "\n\n".join(parts)


def seeds_text(rows: Rows) -> str:
    """Return how many seeds each split had."""
    of = dict.fromkeys(SPLITS, 0)
    for (split, _), row in rows.items():
        of[split] = max(of[split], row.seeds)
    told = ", ".join(f"{split} {count}" for split, count in of.items() if count)
    return f"Seeds of what is random, by split: {told}."


def _cell(row: Row | None, name: str) -> str:
    if row is None or name not in row.figures or np.isnan(row.figures[name].value):
        return "-"
    return f"{row.figures[name].value:.3f}"


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
    """Return what was capped, and what else must be known of a row."""
    there = {name for (_, name), row in rows.items() if not row.skipped}
    of: dict[str, list[str]] = {}
    for b in BASELINES:
        if b.note and b.name in there:
            of.setdefault(b.note, []).append(b.name)
    notes = [f"- {', '.join(names)}: {note}." for note, names in of.items()]
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
         *(_area(p[key]) for key in ("rules", "own_rule", "bare", "lightgbm"))]
        for p in patterns
    ]  # fmt: skip
    head = ("pattern", "side", "windows", "traces", "rules", "its rule", BARE,
            "LightGBM")  # fmt: skip
    return table(head, lines) if lines else "No pattern has 20 positive windows."


def _area(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
