# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/shortcuts.py: whether one number, names or times alone are enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.lab.detector.baselines.columns import by_cause
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.judging.sources import source_area, source_areas
from benchmarks.lab.detector.splits import folds_of
from benchmarks.lab.detector.ten_checks.check import Check, Evidence

SINGLE_GOAL = 0.90
BLIND_GOAL = 0.05
#: Columns that read the name of an operator, a range or a kernel. The record itself
#: has the kind of a runtime call or a copy.
READS_NAMES = re.compile(
    r"name|^repeats$|loader|compile|_gc$|optimizer|collectives|^communication|^views$|"
    r"elementwise|matrix|^reductions$|^indexing$|^op_cop|^fills$|^reads$|^backward$|"
    r"^quantized$"
)
#: Columns that read when something ran, or for how long.
READS_TIMES = re.compile(
    r"busy|idle|gap|^late|delay|delivery|^queue|^length|_step$|_time$|_ratio|_median$|"
    r"_p90$|^in_|waiting|^wait_longest$|^threads|exposed|overlap|largest|launched_late|"
    r"^grids_small$|^occupancy$|^kernels_"
)
_LEAST_WINDOWS = 50


def single_features(evidence: Evidence) -> Check:
    """3: no feature alone reaches 0.90 where something is held out.

    Asked within each source, as a feature may do by telling sources apart.
    """
    corpus, labels = evidence.corpus, evidence.labels
    source = corpus.of_windows("source")
    found: dict[str, tuple[float, str]] = {}
    for fold in folds_of(corpus, labels)[0]:
        if fold.split in ("S0", "S7"):
            continue
        for side, head in enumerate(SIDES):
            rows = np.flatnonzero(fold.test[side] >= 0)
            label = fold.test[side, rows]
            apart = source_areas(
                corpus.features[rows], label, source[rows], _LEAST_WINDOWS
            )
            for one, areas in apart.items():
                best = np.maximum(areas, 1 - areas)
                place = f"{head}, {fold.split} {fold.item}, {one}"
                for column, area in zip(corpus.columns, best, strict=True):
                    if area > found.get(column, (0.0, ""))[0]:
                        found[column] = float(area), place
    goal = f"each <= {SINGLE_GOAL:.2f} on S1-S7"
    name = "single features"
    if not found:
        return Check(3, name, goal, None, "skipped", "no fold has enough windows")
    top = sorted(found.items(), key=lambda one: -one[1][0])
    over = [f"{n} {a:.3f} ({where})" for n, (a, where) in top if a > SINGLE_GOAL]
    trees = [
        row.figures[key].value
        for (split, baseline), row in evidence.rows.items()
        if baseline == "tree of depth 2" and split not in ("S0", "S7")
        for key in ("cpu_auroc", "gpu_auroc")
        if key in row.figures
    ]
    beside = f"; tree of depth 2: at most {max(trees):.3f}" if trees else ""
    first, (area, where) = top[0]
    worst = f"{len(over)} features above: {', '.join(over[:6])}"
    meaning = worst if over else f"the most: {first} ({where})"
    verdict: Any = "failed" if over else "passed"
    return Check(3, name, goal, area, verdict, meaning + beside)


def blindness(evidence: Evidence) -> Check:
    """4: without columns that read names little is lost; without times, the rest.

    Both go without the columns by cause as well: rules read names and times. The
    loss without those alone is shown beside.
    """
    columns = evidence.corpus.columns
    names, times, causes = columns_read(columns)
    goal = f"name-blind loses <= {BLIND_GOAL:.2f}"
    name = "name-blind, and timing-blind"
    if not names.any():
        why = "no column reads names: not applicable to trees"
        return Check(4, name, goal, None, "skipped", why)
    if (names | causes).all():
        return Check(4, name, goal, None, "skipped", "every column reads names")
    lost, said = [], []
    for side, head in enumerate(SIDES):
        label = evidence.labels.heads[side]
        whole = _area(evidence, evidence.scores[side], label)
        blind = _area(evidence, _without(evidence, label, names | causes), label)
        if np.isnan(whole) or np.isnan(blind):
            continue
        lost.append(whole - blind)
        text = f"{head}: {whole:.3f}"
        if causes.any():
            bare = _area(evidence, evidence.bare[side], label)
            text += f", without causes {bare:.3f}"
        text += f", without names {blind:.3f}"
        if times.any() and not (times | causes).all():
            said_then = _without(evidence, label, times | causes)
            text += f", without times {_area(evidence, said_then, label):.3f}"
        said.append(text)
    if not lost:
        why = "no head has enough windows of both kinds in a source"
        return Check(4, name, goal, None, "skipped", why)
    said.append(f"of {len(columns)} columns {names.sum()} read names")
    said[-1] += f", {times.sum()} times, {causes.sum()} are by cause"
    worst = float(max(lost))
    verdict: Any = "passed" if worst <= BLIND_GOAL else "failed"
    return Check(4, name, goal, worst, verdict, "; ".join(said))


def columns_read(
    columns: Sequence[str],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which columns read names, which times, and which are by cause."""
    causes = by_cause(columns)
    names = np.array([bool(READS_NAMES.search(name)) for name in columns], bool)
    times = np.array([bool(READS_TIMES.search(name)) for name in columns], bool)
    return names & ~causes, times & ~causes, causes


def _without(evidence: Evidence, label: np.ndarray, these: np.ndarray) -> np.ndarray:
    return evidence.held_out(label, evidence.usable, np.flatnonzero(~these))


def _area(evidence: Evidence, said: np.ndarray, label: np.ndarray) -> float:
    return source_area(said, label, evidence.corpus.of_windows("source"))
