# SPDX-License-Identifier: BSD-3-Clause
"""baselines/outliers.py: the distance of a window from those of good traces.

All are fitted to windows of good traces, as many of each source; otherwise a source
with few would count as rare. They know no side, and score both heads alike.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores

#: Most windows to fit to: the last two compare every window with every other.
MOST = {"linear": 20_000, "neighbors": 4_000, "kernel": 2_000}


def _rows(task: Task, kind: str) -> np.ndarray:
    rows = task.few_even(task.good_rows, MOST[kind])
    if len(rows) < 50:
        raise NotHere("fewer than 50 windows of good traces to fit to")
    return rows


def _fit_rows(task: Task, kind: str) -> np.ndarray:
    fit: np.ndarray = task.evened[_rows(task, kind)]
    return fit


def _reduced(task: Task) -> np.ndarray:
    """Return the leading components of all windows: densities need few dimensions."""

    def make() -> np.ndarray:
        fit = _fit_rows(task, "linear")
        count = min(16, fit.shape[1])
        pca = PCA(count, random_state=task.seed).fit(fit)
        made: np.ndarray = pca.transform(task.evened)
        return made

    return task.once("reduced", make)


def k_means(task: Task) -> Scores:
    """Score by the distance to the nearest of 32 centers."""
    model = MiniBatchKMeans(32, n_init=3, random_state=task.seed)
    model.fit(_fit_rows(task, "linear"))
    return Scores(task.both_heads(model.transform(task.evened[task.rows]).min(axis=1)))


def mixture(task: Task) -> Scores:
    """Score by how unlikely a mixture of 8 Gaussians finds it."""
    rows = _rows(task, "linear")
    model = GaussianMixture(8, reg_covar=1e-2, max_iter=50, random_state=task.seed)
    model.fit(_reduced(task)[rows])
    return Scores(task.both_heads(-model.score_samples(_reduced(task)[task.rows])))


def neighbors(task: Task) -> Scores:
    """Score by the local outlier factor."""
    model = LocalOutlierFactor(20, novelty=True)
    rows = _rows(task, "neighbors")
    model.fit(_reduced(task)[rows])
    return Scores(task.both_heads(-model.score_samples(_reduced(task)[task.rows])))


def isolation(task: Task) -> Scores:
    """Score by an isolation forest of 100 trees."""
    model = IsolationForest(n_estimators=100, random_state=task.seed)
    model.fit(_fit_rows(task, "linear"))
    return Scores(task.both_heads(-model.score_samples(task.evened[task.rows])))


def reconstruction(task: Task) -> Scores:
    """Score by what the leading components leave over."""
    model = PCA(0.9, svd_solver="full").fit(_fit_rows(task, "linear"))
    even = task.evened[task.rows]
    left = even - model.inverse_transform(model.transform(even))
    return Scores(task.both_heads((left**2).mean(axis=1)))


def one_class(task: Task) -> Scores:
    """Score by a one-class support vector machine."""
    model = OneClassSVM(nu=0.1, gamma="scale")
    rows = _rows(task, "kernel")
    model.fit(_reduced(task)[rows])
    return Scores(task.both_heads(-model.score_samples(_reduced(task)[task.rows])))
