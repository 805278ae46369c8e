# SPDX-License-Identifier: BSD-3-Clause
"""fold_models.py: the detector, trained anew on each fold.

Trains the same as `torchtraceap train`, by the same code, except for fewer steps, so
that all folds take hours and not days.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap_train
from benchmarks.lab.detector.compact_corpus import Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.training_set import types_to_learn, write_set
from benchmarks.lab.detector.window_labels import UNSCORED, Labels
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap_train.checkpoint import Phase
from torchtraceap_train.draws import DrawSettings
from torchtraceap_train.recipe import LABELS, NETWORK
from torchtraceap_train.stacked import Plan, train_model
from torchtraceap_train.traces import LearningTrace, read_set

STEPS = 500
_QUICK = 10
#: Of a quick one: to see that all works.
_TINY = {"width": 16, "heads": 2, "layers": 1, "hidden": 16, "max_tokens": 32}


def model_of(corpus: Corpus, labels: Labels, fold: Fold, seed: int, quick: bool) -> Any:
    """Return a model trained on a fold, kept in the corpus' folder once it is made.

    Raises:
        TrainingError: There is nothing to train on.
    """
    module = load_torch_module()
    name = _digest(corpus, fold, seed, quick) + ".safetensors"
    path = corpus.folder.parent / "evaluated" / name
    if path.exists():
        return module.Model.load(str(path))
    phase = Phase(_QUICK if quick else STEPS, LABELS, DrawSettings())
    plan = Plan((phase,), {**NETWORK, **(_TINY if quick else {})})
    model = train_model(list(to_learn(corpus, labels, fold)), plan, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(str(path))
    return model


def to_learn(corpus: Corpus, labels: Labels, fold: Fold) -> Iterator[LearningTrace]:
    """Yield what may be trained on of a fold, with the labels that the fold gives."""
    types = types_to_learn(corpus, labels.patterns, labels.heads)
    goodness = corpus.goodness
    for line, here, trace in _traces(corpus, fold.trained):
        mine = fold.trained[here]
        saved = corpus.saved_all[here].clip(0, 1)
        yield replace(
            trace,
            any=np.where(mine, fold.train[:, here], UNSCORED).T.astype(np.int8).copy(),
            types=np.where(mine[:, None], types[here], UNSCORED).astype(np.int8),
            kind=np.where(mine, labels.kind[here], -1).astype(np.int16),
            recoverable=np.where(mine, saved, np.nan).astype(np.float32),
            bad=None if goodness[line] < 0 else bool(goodness[line] == 0),
        )


def to_test(corpus: Corpus, fold: Fold) -> Iterator[LearningTrace]:
    """Yield the traces that a fold tests, whole, with the labels to test with."""
    tested = (fold.test != UNSCORED).any(axis=0)
    for _, here, trace in _traces(corpus, tested):
        yield replace(trace, any=fold.test[:, here].T.astype(np.int8).copy())


def _traces(
    corpus: Corpus, asked: np.ndarray
) -> Iterator[tuple[int, slice, LearningTrace]]:
    """Yield line, windows and trace of each run with a window that is asked for."""
    begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
    every = all_traces(corpus.folder)
    for line, run in enumerate(corpus.runs):
        here = slice(begin[line], begin[line + 1])
        if asked[here].any():
            yield line, here, every[run.name]


@lru_cache(1)
def all_traces(folder: Path) -> dict[str, LearningTrace]:
    """Return every trace of the corpus by name, read once a process."""
    if not (folder / "set.json").exists():
        write_set(folder)
    rows = json.loads((folder / "set.json").read_text("utf-8"))["traces"]
    names = [row["name"] for row in rows]
    return {trace.name: trace for trace in read_set(folder, names)}


def _digest(corpus: Corpus, fold: Fold, seed: int, quick: bool) -> str:
    """Return a digest of all that decides about a model."""
    digest = hashlib.sha256(f"{corpus.digest} {seed} {quick}".encode())
    digest.update(fold.train.tobytes() + fold.trained.tobytes())
    code = Path(torchtraceap_train.__file__).parent
    for path in (*sorted(code.glob("*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
