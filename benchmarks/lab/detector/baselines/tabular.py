# SPDX-License-Identifier: BSD-3-Clause
"""baselines/tabular.py: networks for tables: RealMLP of pytabkit, and TabICL if there.

RealMLP keeps its tuned defaults and sees as many windows as the trees, but fewer epochs
than its authors gave it: ten seconds of a core for each head of a fold. TabM-D is not
there: for an eighth of the windows and half of the epochs it takes longer, and scoring
takes as long again.
"""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores

MOST_REALMLP = 20_000
EPOCHS_REALMLP = 8
_MOST_QUICK = 2_500
MOST_TABICL = 2_000


def realmlp(task: Task) -> Scores:
    """Score by RealMLP-TD trained on window labels."""
    from pytabkit import RealMLP_TD_Classifier

    for name in ("lightning", "pytorch_lightning", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.ERROR)

    def make() -> Any:
        return RealMLP_TD_Classifier(
            device="cpu",
            random_state=task.seed,
            n_cv=1,
            n_refit=0,
            n_threads=1,
            verbosity=0,
            n_epochs=4 if task.quick else EPOCHS_REALMLP,
            use_ls=False,
        )

    most = _MOST_QUICK if task.quick else MOST_REALMLP
    return task.once("realmlp", lambda: Scores(_heads(task, make, most), probable=True))


def tabicl(task: Task) -> Scores:
    """Score by TabICL from a checkpoint of the caller's.

    Raises:
        NotHere: No checkpoint was given, or the package is not installed.
    """
    if not task.tabicl:
        raise NotHere("no checkpoint given (--tabicl PATH)")
    if not Path(task.tabicl).is_file():
        raise NotHere(f"{task.tabicl}: no such file")
    if importlib.util.find_spec("tabicl") is None:
        raise NotHere("the package tabicl is not installed")
    from tabicl import TabICLClassifier  # type: ignore[import-not-found]

    def make() -> Any:
        return TabICLClassifier(
            model_path=task.tabicl,
            allow_auto_download=False,
            device="cpu",
            random_state=task.seed,
        )

    return Scores(_heads(task, make, MOST_TABICL), probable=True)


def _heads(task: Task, make: Callable[[], Any], most: int) -> np.ndarray:
    def head(side: int) -> np.ndarray | None:
        rows = task.train_rows(side, most)
        label = task.fold.train[side, rows]
        if not len(rows) or label.sum() < 10:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make()
            model.fit(task.evened[rows], label.astype(int))
            said: np.ndarray = model.predict_proba(task.evened[task.rows])[:, 1]
        return said

    return task.by_head(head)
