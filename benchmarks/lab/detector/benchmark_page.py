# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_page.py: fills results/benchmark.md and the tables beside it."""

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
from benchmarks.lab.detector.benchmark_results import rows_of
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.corpus_facts import goals_of
from benchmarks.lab.detector.folds import Skipped
from benchmarks.lab.detector.judging.judged import RESAMPLES
from benchmarks.lab.detector.judging.sources import LEAST_OF_EACH
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.table_text import (
    HEADS,
    KINDS,
    LIMITS,
    detail_table,
    kind_table,
    main_table,
    skipped_text,
)
from benchmarks.lab.pages import table

Rows = Mapping[tuple[str, str], Row]
#: A rule solves a pattern from this area on; learning helps from this difference on.
SOLVED, HELPS = 0.95, 0.02
#: Shown by each thing that is held out.
_SHOWN = ("busy fraction", "rules, windows of 128", "LightGBM", "rules + LightGBM",
          NETWORK, STACK)  # fmt: skip
#: Shown in detail in each split.
_SHOWN_ALL = ("source only", "busy fraction", "rules, windows of 128",
              "LightGBM, weak", "RealMLP", "CatBoost", BARE, "LightGBM", TOGETHER,
              "rules + LightGBM", NETWORK, STACK)  # fmt: skip


def context(results: dict[str, Any]) -> dict[str, Any]:
    """Return what both pages say besides the figures."""
    rows = rows_of(results)
    splits = [s for s in SPLITS if any(split == s for split, _ in rows)]
    detail = "S1" if "S1" in splits else next(iter(splits), "S0")
    kinds = kind_table(rows, detail)
    known = [p for p in results["patterns"] if p["rules"] is not None]
    learned = [p for p in known if p["lightgbm"] is not None]
    helped = [p for p in learned if p["lightgbm"] >= p["rules"] + HELPS]
    skipped = [Skipped(**one) for one in results["skipped"]]
    return {
        "least": LEAST_OF_EACH,
        "resamples": RESAMPLES,
        "bare": BARE,
        "solved_from": SOLVED,
        "helps": HELPS,
        "known": known,
        "solved": [p for p in known if p["rules"] >= SOLVED],
        "helped": sorted(helped, key=lambda p: p["rules"] - p["lightgbm"]),
        "ahead": [p for p in learned if p["rules"] >= p["lightgbm"] + HELPS],
        "margin_lines": _margin_lines(results["margins"]),
        "goals": goals_of(results["corpus"]),
        "seeds": _seeds(rows),
        "split_tables": _split_tables(rows),
        "items": item_table(rows),
        "notes": _notes(rows),
        "seconds": sum(row.seconds for row in rows.values()),
        "left_out": skipped_text(rows, skipped),
        "margin_rows": _margin_rows(results["margins"]),
        "detail": f"{detail}, {SPLITS[detail]} held out",
        "detail_table": detail_table(rows, detail).removesuffix(kinds).rstrip(),
        "kind_table": kinds,
        "compact": compact_tables(rows, detail) if len(splits) > 1 else "",
    }


def _seeds(rows: Rows) -> dict[str, int]:
    """Return how many seeds each split had."""
    of = {
        split: max(
            (row.seeds for (at, _), row in rows.items() if at == split), default=0
        )
        for split in SPLITS
    }
    return {split: count for split, count in of.items() if count}


def _split_tables(rows: Rows) -> dict[str, str]:
    made = {head.upper(): split_table(rows, head) for head in SIDES}
    return {head: text for head, text in made.items() if text}


def _notes(rows: Rows) -> dict[str, list[str]]:
    """Return what was capped, or else must be known, and of which rows."""
    there = {name for (_, name), row in rows.items() if not row.skipped}
    of: dict[str, list[str]] = {}
    for b in BASELINES:
        if b.note and b.name in there:
            of.setdefault(b.note, []).append(b.name)
    return of


def _margin_rows(margins: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return the differences between detectors."""
    return [
        [m["split"], m["head"].upper(), m["baseline"], m["against"],
         f"{m['value']:+.3f}",
         "-" if m["low"] is None else f"{m['low']:+.3f} to {m['high']:+.3f}"]
        for m in margins
        if m["split"] != "S0"
    ]  # fmt: skip


def _named(splits: Sequence[str]) -> str:
    return ", ".join(splits) if splits else "none"


def _margin_lines(margins: Sequence[dict[str, Any]]) -> list[str]:
    """Say where one detector is above another by an interval above zero."""
    lines = []
    pairs = dict.fromkeys((m["baseline"], m["against"]) for m in margins)
    for baseline, against in pairs:
        mine = [
            m for m in margins if (m["baseline"], m["against"]) == (baseline, against)
        ]
        for head in ("cpu", "gpu"):
            some = [m for m in mine if m["head"] == head and m["low"] is not None]
            if not some:
                continue
            above = [m["split"] for m in some if m["low"] > 0]
            below = [m["split"] for m in some if m["high"] < 0]
            open_ = len(some) - len(above) - len(below)
            lines.append(
                f"{head.upper()}: {baseline} is above {against} on "
                f"{_named(above)}, below on {_named(below)}"
                + (f", open on {open_} more." if open_ else ".")
            )
    return lines


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
    return made if made.count("\n") > 1 else ""


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
    return table(["split", "held out", *head], lines)


def _area(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
