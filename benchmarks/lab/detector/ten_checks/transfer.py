# SPDX-License-Identifier: BSD-3-Clause
"""ten_checks/transfer.py: simulated against real, strength against score."""

from __future__ import annotations

from typing import Any

import numpy as np

# Behind the detector's own folder: both are full of common names.
from benchmarks.lab.corpus.simulation.probe import Windows, probe
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.ten_checks.check import Check, Evidence
from benchmarks.lab.detector.window_labels import POSITIVE

PROBE_GOAL = 0.80
SHIFT_GOAL = 0.08
PAIRS_GOAL = 0.95
_LEAST_WINDOWS = 50
_LEAST_PAIRS = 20
#: Fewer comparisons of two strengths decide nothing.
_LEAST_RISES = 30
#: A strength is higher than another only by so much of the run.
_STEP = 0.05


def domain_probe(evidence: Evidence) -> Check:
    """5: good windows of simulated traces look like those of real ones.

    Real are the public traces as they are, scheduled again (natural runs of P); the
    classifier is that of benchmarks/lab/corpus/gates.py, which reads them themselves.
    """
    corpus = evidence.corpus
    goal = f"AUROC <= {PROBE_GOAL:.2f}"
    name = "simulated told from real, good windows"
    source, role = corpus.of_windows("source"), corpus.of_windows("role")
    real = (source == "P") & (role == "natural") & corpus.learnable[corpus.run]
    rows = np.flatnonzero((source == "S") | real)
    groups = np.unique(corpus.of_windows("group")[rows], return_inverse=True)[1]
    windows = Windows(
        corpus.features[rows],
        source[rows] == "S",
        corpus.run[rows],
        groups,
        corpus.busy[rows],
        np.nansum(corpus.rules[rows], axis=1),
        corpus.columns,
    ).good()
    counts = windows.made.sum(), (~windows.made).sum()
    if min(counts) < _LEAST_WINDOWS:
        why = f"{counts[0]} windows of S, {counts[1]} of P; {_LEAST_WINDOWS} are needed"
        return Check(5, name, goal, None, "skipped", why)
    try:
        told = probe(windows, 6)
    except ValueError as error:
        return Check(5, name, goal, None, "skipped", str(error))
    betray = ", ".join(f"{name} {area:.2f}" for name, area in told.single.items())
    meaning = f"{counts[0]} windows against {counts[1]}; one by one: {betray}"
    # One feature that tells is enough, whatever trees learn of few origins.
    best = max(told.single.values())
    verdict: Any = "passed" if max(told.auroc, best) <= PROBE_GOAL else "failed"
    return Check(5, name, goal, told.auroc, verdict, meaning)


def shift(evidence: Evidence) -> Check:
    """6: another generator costs little: AUROC(S0) - AUROC(S6) of LightGBM."""
    goal = f"<= {SHIFT_GOAL:.2f}"
    name = "AUROC(S0) - AUROC(S6)"
    rows = [evidence.rows.get((split, "LightGBM")) for split in ("S0", "S6")]
    off, said = [], []
    for head in SIDES:
        a, b = (_figure(row, f"{head}_auroc") for row in rows)
        if np.isfinite(a) and np.isfinite(b):
            off.append(a - b)
            said.append(f"{head}: {a:.3f} - {b:.3f}")
    if not off:
        why = "LightGBM was not evaluated on both, or one source is not there"
        return Check(6, name, goal, None, "skipped", why)
    worst = float(max(off))
    verdict: Any = "passed" if worst <= SHIFT_GOAL else "failed"
    return Check(6, name, goal, worst, verdict, "; ".join(said))


def strength(evidence: Evidence) -> Check:
    """7: a trace's score rises with what its pattern costs, falls when fixed."""
    corpus = evidence.corpus
    trace = _trace_scores(evidence)
    number = {run.name: k for k, run in enumerate(corpus.runs)}
    goal = f"in >= {100 * PAIRS_GOAL:.0f} % of the pairs"
    name = "the score rises with strength, falls when fixed"
    falls, of_way = [], {}
    told: set[int] = set()
    for k, run in enumerate(corpus.runs):
        if run.role != "slow" or run.saved() < POSITIVE or np.isnan(trace[k]):
            continue
        twin = number.get(run.twin)
        # Several slow runs of a real trace share one twin: it counts once.
        if twin is not None and twin not in told and np.isfinite(trace[twin]):
            told.add(twin)
            falls.append(trace[k] > trace[twin])
        for cause in run.injected():
            key = run.group, cause.pattern, cause.mechanism
            of_way.setdefault(key, []).append((cause.saved, trace[k]))
    rises = [
        high > low
        for some in of_way.values()
        for weak, low in some
        for strong, high in some
        if strong >= weak + _STEP
    ]
    if len(falls) < _LEAST_PAIRS:
        why = f"{len(falls)} pairs that cost 5 %; {_LEAST_PAIRS} are needed"
        return Check(7, name, goal, None, "skipped", why)
    shares = [float(np.mean(falls))]
    meaning = f"falls in {shares[0]:.3f} of {len(falls)}"
    if rises:
        meaning += f"; rises in {np.mean(rises):.3f} of {len(rises)}"
    if len(rises) < _LEAST_RISES:
        meaning += f"; mechanisms at two strengths in a group: {len(rises)} pairs, "
        meaning += f"{_LEAST_RISES} are needed"
    else:
        shares.append(float(np.mean(rises)))
    verdict: Any = "passed" if min(shares) >= PAIRS_GOAL else "failed"
    if verdict == "passed" and len(rises) < _LEAST_RISES:
        verdict = "undecided"
    return Check(7, name, goal, min(shares), verdict, meaning + _base(evidence, trace))


def _base(evidence: Evidence, trace: np.ndarray) -> str:
    """State where fixed twins lie beside untouched traces."""
    role = evidence.corpus.of_runs("role")
    fixed, found = trace[role == "fixed"], trace[role == "natural"]
    if not np.isfinite(fixed).any() or not np.isfinite(found).any():
        return ""
    return (
        f"; median score fixed {np.nanmedian(fixed):.3f}, "
        f"as found {np.nanmedian(found):.3f}"
    )


def _trace_scores(evidence: Evidence) -> np.ndarray:
    """Return float [runs]: the mean over windows of the higher head."""
    corpus = evidence.corpus
    scores = np.fmax(evidence.scores[0], evidence.scores[1])
    known = np.isfinite(scores)
    count = np.bincount(corpus.run[known], minlength=len(corpus.runs))
    total = np.bincount(corpus.run[known], scores[known], minlength=len(corpus.runs))
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def _figure(row: Row | None, name: str) -> float:
    if row is None or name not in row.figures:
        return float("nan")
    return row.figures[name].value
