# SPDX-License-Identifier: BSD-3-Clause
"""table_text.py: the tables, as text that is Markdown too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks.lab.detector.baselines.table import BASELINES
from benchmarks.lab.detector.folds import Skipped
from benchmarks.lab.detector.splits import SPLITS
from benchmarks.lab.detector.summary import Figure, Row
from benchmarks.lab.pages import table

Rows = Mapping[tuple[str, str], Row]
HEADS = {"cpu": "CPU", "gpu": "GPU"}
#: The name of a figure, and its column head: a table each, so that intervals
#: have room.
AREAS = (
    ("auroc", "AUROC"), ("auroc_pooled", "pooled"), ("auroc_in_S", "in S"),
    ("auroc_in_R", "in R"), ("auroc_in_P", "in P"), ("auroc_in_G", "in G"),
    ("auroc_bad", "in bad traces"), ("auroc_trace", "within a trace"),
)  # fmt: skip
PARTS = (
    ("auroc_idle", "busy < 0.5"), ("auroc_mid", "0.5-0.9"), ("auroc_busy", "> 0.9"),
    ("auroc_band0", "5-10 %"), ("auroc_band1", "10-20 %"),
    ("auroc_band2", "20-50 %"), ("auroc_band3", "> 50 %"),
)  # fmt: skip
LIMITS = (
    ("auprc", "AUPRC"), ("recall_1fp", "recall at 1 % FP"),
    ("found_1alarm", "found at 1 alarm"), ("ece", "ECE"),
)  # fmt: skip
KINDS = (
    ("kind_accuracy", "accuracy"), ("kind_macro_f1", "macro-F1"),
    ("recoverable_error", "error of recoverable"),
)  # fmt: skip


def main_table(rows: Rows, heads: Sequence[str] = ("cpu", "gpu")) -> str:
    """Return the AUROC of each baseline in each split, by head: mean over sources."""
    splits = [s for s in SPLITS if any(split == s for split, _ in rows)]
    head = ["baseline", "learns from"]
    head += [f"{split} {HEADS[side]}" for split in splits for side in heads]
    lines = []
    for name, reads in _names(rows):
        cells = [
            with_interval(_figure(rows, split, name, f"{side}_auroc"))
            for split in splits
            for side in heads
        ]
        if any(cell != "-" for cell in cells):
            lines.append([name, reads, *cells])
    return table(head, lines)


def detail_table(rows: Rows, split: str) -> str:
    """Return all figures of one split, with intervals."""
    parts = []
    for side, name in HEADS.items():
        rate = _base_rate(rows, split, side)
        first = f"{split}, {name} (base rate {rate:.3f})"
        parts.append(_figure_table(rows, split, side, AREAS, first, worst=True))
        for some in (PARTS, LIMITS):
            parts.append(_figure_table(rows, split, side, some, f"{split}, {name}"))
    parts.append(kind_table(rows, split))
    return "\n\n".join(part for part in parts if part)


def kind_table(rows: Rows, split: str) -> str:
    """Return who names the pattern and the recoverable share, and how well."""
    return _figure_table(rows, split, "", KINDS, f"{split}, patterns")


def _figure_table(
    rows: Rows,
    split: str,
    side: str,
    keys: Sequence[tuple[str, str]],
    first: str,
    worst: bool = False,
) -> str:
    """Return a table of some figures; a column or a row without any is left out."""
    lines = {}
    for baseline, _ in _names(rows):
        names = [f"{side}_{key}" if side else key for key, _ in keys]
        values = [_figure(rows, split, baseline, name) for name in names]
        if any(np.isfinite(v.value) for v in values):
            lines[baseline] = list(map(with_interval, values))
    if not lines:
        return ""
    shown = [
        k for k in range(len(keys)) if any(line[k] != "-" for line in lines.values())
    ]
    last = ["worst family"] if worst else []
    heading = [first, *(keys[k][1] for k in shown), *last]
    cells = []
    for baseline, line in lines.items():
        where, area = rows[split, baseline].worst.get(side, ("-", float("nan")))
        told = [f"{area:.2f} ({where})" if np.isfinite(area) else "-"] if worst else []
        cells.append([baseline, *(line[k] for k in shown), *told])
    return table(heading, cells)


def skipped_text(rows: Rows, skipped: Iterable[Skipped]) -> str:
    """Return what is not in the tables, and why."""
    lines = [
        f"- {one.split}{f' {one.item}' if one.item else ''}: {one.reason}"
        for one in skipped
    ]
    why = {baseline: row.skipped for (_, baseline), row in rows.items() if row.skipped}
    lines += [f"- {baseline}: {reason}" for baseline, reason in why.items()]
    return "Left out:\n\n" + "\n".join(lines) + "\n" if lines else ""


def with_interval(figure: Figure) -> str:
    """Write a figure with its interval: 0.912 (0.90-0.93)."""
    if not np.isfinite(figure.value):
        return "-"
    text = f"{figure.value:.3f}"
    if np.isfinite(figure.low):
        text += f" ({figure.low:.2f}-{figure.high:.2f})"
    return text


def _names(rows: Rows) -> list[tuple[str, str]]:
    """Return name and what it learned from of all in the rows, in their order."""
    known = {baseline.name: baseline.reads for baseline in BASELINES}
    there = dict.fromkeys(name for _, name in rows)
    own = [(name, "its own") for name in there if name not in known]
    return [(name, known[name]) for name in known if name in there] + own


def _figure(rows: Rows, split: str, baseline: str, name: str) -> Figure:
    row = rows.get((split, baseline))
    nothing = Figure(float("nan"))
    return row.figures.get(name, nothing) if row else nothing


def _base_rate(rows: Rows, split: str, side: str) -> float:
    rates = [
        row.figures[f"{side}_base_rate"].value
        for (at, _), row in rows.items()
        if at == split and f"{side}_base_rate" in row.figures
    ]
    return float(np.mean(rates)) if rates else float("nan")
