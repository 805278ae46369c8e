# SPDX-License-Identifier: BSD-3-Clause
"""stacked.py: the whole model: network and trees on some groups, what is made of both
on others.

Nothing is calibrated on what was trained on: groups are divided, by source, before
anything is learned.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap.base.errors import TrainingError
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import CALIBRATED_FOR, NOT_ASKED
from torchtraceap.detection.detection import sides_of
from torchtraceap_train.checkpoint import Phase
from torchtraceap_train.forest import Forest, grow_forest
from torchtraceap_train.loop import Progress, train_network
from torchtraceap_train.mixing import LEAST_OF_BOTH, Choice, Side, choose
from torchtraceap_train.traces import LearningTrace

#: Of each source's groups; of what it has fewer than five of, none.
CALIBRATED = 0.2
#: Share of the calibration windows, and traces, that count as strange.
_STRANGE_WINDOWS, _STRANGE_TRACES = 0.001, 0.01
_ALONE = np.array([1, 0, 0, 0], np.float32)
#: Weights of a voice in naming patterns.
_GRID = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Plan:
    """How a model is trained."""

    phases: tuple[Phase, ...]  # Of the network.
    config: dict[str, Any] = field(default_factory=dict)  # That is not the default.
    trees: bool = True  # Grow trees beside it.
    calibrated: float = CALIBRATED


def train_model(
    traces: Sequence[LearningTrace],
    plan: Plan,
    *,
    seed: int = 0,
    begin: Path | None = None,
    checkpoint: Path | None = None,
    device: str = "cpu",
    card: dict[str, str] | None = None,
    told: Callable[[Progress], None] = lambda progress: None,
) -> Any:
    """Train all of it and return it, a ``_torch.Model``; see ``train_network``.

    What goes on from a model keeps its trees, mix and thresholds: a few traces of one's
    own are enough to move a network, not to calibrate one.

    Raises:
        TrainingError: As ``train_network``; two traces have one name; scikit-learn or
            LightGBM is missing, which is reported before training.
    """
    traces = [trace for trace in traces if len(trace)]
    names = Counter(trace.name for trace in traces)
    if names and (most := names.most_common(1)[0])[1] > 1:
        raise TrainingError(
            f"{most[1]} traces are called {most[0]}: leave out the sets that repeat "
            "others."
        )
    if begin is None:
        _need("sklearn", "scikit-learn", "calibrating the detector")
        if plan.trees:
            what_for = "growing the detector's trees (--no-trees: none)"
            _need("lightgbm", "LightGBM", what_for)
    share = plan.calibrated if begin is None else 0
    fitted, held = divide(traces, share, seed)
    network = train_network(
        fitted,
        plan.phases,
        config=plan.config,
        seed=seed,
        begin=begin,
        checkpoint=checkpoint,
        device=device,
        told=told,
    )
    module = load_torch_module()
    if begin is not None:
        before = module.Model.load(os.fspath(begin), device=device)
        kept = {NOT_ASKED: before.card.get(NOT_ASKED, "")}
        # Whose promise they were: of this network none was measured.
        kept[CALIBRATED_FOR] = before.card.get("name", "another network")
        return before.with_network(network, (card or {}) | kept)
    outputs = 2 + len(module.pattern_names()) + 1
    forest = grow_forest(fitted, outputs, seed) if plan.trees else None
    return stack(network, forest, fitted, held, seed, card or {})


def _need(module: str, called: str, what_for: str) -> None:
    """Import a module of the extra ``train``; say here, not after hours, that it cannot
    be."""
    try:
        import_module(module)
    except (ImportError, OSError) as error:
        raise TrainingError(
            f"{what_for} needs {called}, which cannot be imported ({error}): "
            "pip install 'torchtraceap[train]'"
        ) from error


def divide(
    traces: Sequence[LearningTrace], share: float, seed: int
) -> tuple[list[LearningTrace], list[LearningTrace]]:
    """Return the traces to fit and those to calibrate on; no group is in both."""
    random = np.random.default_rng([seed, 7])
    kept: set[str] = set()
    for source in sorted({trace.source for trace in traces}):
        groups = sorted({trace.group for trace in traces if trace.source == source})
        drawn = random.permutation(groups)[: int(share * len(groups))]
        kept |= set(drawn.tolist())
    return (
        [trace for trace in traces if trace.group not in kept],
        [trace for trace in traces if trace.group in kept],
    )


def stack(
    network: Any,
    forest: Forest | None,
    fitted: Sequence[LearningTrace],
    kept: Sequence[LearningTrace],
    seed: int,
    card: dict[str, str],
) -> Any:
    """Return the model of a network and trees, mixed and calibrated on ``kept``."""
    module = load_torch_module()
    patterns = len(module.pattern_names())
    types_mix, of_network = (1.0, 0.0, 0.0), 1.0
    if kept and forest is not None:
        to_mix = _to_mix(kept, seed)
        said = [network.score(trace.arrays) for trace in kept]
        windows = np.concatenate([trace.windows for trace in kept])
        raw = module.trees_raw(forest, windows)
        logits = np.concatenate([one["logits"] for one in said])
        kind = np.concatenate([trace.kind for trace in kept])
        by_rules = module.rules_logit(np.nan_to_num(windows[:, -patterns:]))
        voices = np.stack([logits[:, 2:-1], raw[:, 2:-1], by_rules])
        types_mix = _types_mixed(voices[:, to_mix], kind[to_mix])
        recoverable = np.concatenate([trace.recoverable for trace in kept])
        own = np.concatenate([one["recoverable"] for one in said])
        of_network = _share_of(own, raw[:, -1], recoverable)
    model = module.Model(
        network,
        trees=forest,
        types_mix=types_mix,
        recoverable_mix=of_network,
        known=know(fitted, kept or fitted),
        card=card,
    )
    return mix(model, kept, seed)[0] if kept else model


def mix(
    model: Any, kept: Sequence[LearningTrace], seed: int
) -> tuple[Any, tuple[Choice | None, Choice | None]]:
    """Return a model with the probabilities and thresholds of ``kept``, of which none
    was learned from, and what the mix of each side rests on (mixing.py).

    A side of which too little is known keeps the network's word alone.
    """
    said = [model.say(t.arrays, claimed=claimed(t)) for t in kept]
    rules = np.concatenate([rules_logits(trace) for trace in kept])
    any_ = np.concatenate([trace.any for trace in kept])
    to_mix = _to_mix(kept, seed)
    sources, groups = (
        np.repeat([str(getattr(t, of)) for t in kept], [len(t) for t in kept])
        for of in ("source", "group")
    )
    weights = np.tile(_ALONE, (2, 1))
    calibration: list[NDArray[np.float32]] = []
    choices: list[Choice | None] = []
    for side in range(2):
        network, trees = (
            _logit(np.concatenate([one[voice][:, side] for one in said]))
            for voice in ("network", "trees")
        )
        logits = np.stack([network, trees, rules[:, side]], axis=1)
        rows = np.flatnonzero((any_[:, side] >= 0) & to_mix)
        choice = choose(
            Side(logits[rows], any_[rows, side], sources[rows], groups[rows])
        )
        if choice is not None:
            weights[side] = choice.weights
        choices.append(choice)
        score = logits @ weights[side, :3] + weights[side, 3]
        negative = score[(any_[:, side] == 0) & ~to_mix]
        calibration.append(np.sort(1 / (1 + np.exp(-negative))).astype(np.float32))
    mixed = model.with_mix(weights, tuple(calibration), dict(model.card))
    return mixed, (choices[0], choices[1])


def _to_mix(kept: Sequence[LearningTrace], seed: int) -> NDArray[np.bool_]:
    """Return which windows a mix is fitted on, of half of the groups: thresholds are
    taken from the others."""
    half = {trace.name for trace in divide(kept, 0.5, seed)[0]}
    return np.repeat([t.name in half for t in kept], [len(t) for t in kept])


def _logit(shares: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return logits of probabilities; 0 of those that no one told."""
    kept = np.clip(np.nan_to_num(shares.astype(float), nan=0.5), 1e-7, 1 - 1e-7)
    logits: NDArray[np.float64] = np.log(kept / (1 - kept))
    return logits


def claimed(trace: LearningTrace) -> NDArray[np.float32] | None:
    """Return the largest share that rules say a fix of each side saves, float32 [n, 2],
    as ``Report.claimed_shares`` has it of a report; None: only the columns tell."""
    if trace.rules is None:
        return None
    names = load_torch_module().pattern_names()
    never = [row.name for row in _core.patterns() if not row.user_finding]
    counts = ~np.isin(names, never)
    sides = sides_of(names)
    most = [trace.rules[:, counts & (sides == s)].max(axis=1) for s in range(2)]
    return np.ascontiguousarray(np.stack(most, axis=1).clip(0, 1), np.float32)


def rules_logits(trace: LearningTrace) -> NDArray[np.float64]:
    """Return the logits of rules for each side of the windows, [n, 2]: of the shares
    that they claim, else of the columns."""
    module = load_torch_module()
    shares = claimed(trace)
    told = (
        module.rules_input(trace.windows)
        if shares is None
        else module.rules_logit(shares.astype(float))
    )
    logits: NDArray[np.float64] = told.astype(float)
    return logits


def _types_mixed(
    voices: NDArray[np.float32], kind: NDArray[np.int16]
) -> tuple[float, float, float]:
    """Return what network, trees and rules count for naming the pattern: the three
    of a grid that name most correctly, and among these the likeliest. The
    voices [3, n, P] are the logits that each gives a pattern; kind [n] is it, or -1.
    """
    rows = np.flatnonzero(kind >= 0)
    if len(rows) < LEAST_OF_BOTH:
        return 1.0, 0.0, 0.0
    sides = sides_of(load_torch_module().pattern_names())
    mine = sides[None, :] == sides[kind[rows]][:, None]

    def wrong(mix: tuple[float, float, float]) -> tuple[float, float]:
        scores = np.where(mine, np.tensordot(mix, voices[:, rows], 1), -np.inf)
        right = scores[np.arange(len(rows)), kind[rows]]
        unlikely = (np.logaddexp.reduce(scores, axis=1) - right).mean()
        return float((scores.argmax(axis=1) != kind[rows]).mean()), float(unlikely)

    return min(itertools.product(_GRID, _GRID, _GRID), key=wrong)


def _share_of(
    network: NDArray[np.float32], trees: NDArray[np.float32], truth: NDArray[np.float32]
) -> float:
    """Return the network's share in the share that is saved: of the least error."""
    rows = np.flatnonzero(np.isfinite(truth))
    if len(rows) < LEAST_OF_BOTH:
        return 1.0

    def error(share: float) -> float:
        mixed = share * network[rows] + (1 - share) * trees[rows]
        return float(np.abs(mixed - truth[rows]).mean())

    return float(min(np.linspace(0, 1, 11), key=error))


def know(
    fitted: Sequence[LearningTrace], kept: Sequence[LearningTrace]
) -> dict[str, Any] | None:
    """Return what tells strange windows: Mahalanobis' distance to those learned from;
    None if these are all the same, as a single one is.

    The covariance is shrunk as Ledoit and Wolf do (J. Multivariate Analysis 88, 2004).
    """
    from sklearn.covariance import LedoitWolf

    windows = np.concatenate([trace.windows for trace in fitted]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column without any value
        middle = np.nan_to_num(np.nanmedian(windows, axis=0))
    filled = np.where(np.isnan(windows), middle, windows)
    scale = filled.std(axis=0)
    scale[scale < 1e-6] = 1
    if (filled == filled[0]).all():
        return None
    model = LedoitWolf().fit(filled / scale)
    whiten = np.linalg.cholesky(model.precision_).T / scale
    known: dict[str, Any] = {
        "center": (model.location_ * scale).astype(np.float32),
        "middle": middle.astype(np.float32),
        "whiten": np.ascontiguousarray(whiten, np.float32),
        "window_from": math.inf,
        "trace_from": math.inf,
    }
    module = load_torch_module()
    each = [module.strangeness(known, trace.windows) for trace in kept if len(trace)]
    medians = [np.median(one) for one in each]
    windows_from = np.quantile(np.concatenate(each), 1 - _STRANGE_WINDOWS)
    known["window_from"] = float(windows_from)
    known["trace_from"] = float(np.quantile(medians, 1 - _STRANGE_TRACES))
    return known
