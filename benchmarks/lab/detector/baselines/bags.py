# SPDX-License-Identifier: BSD-3-Clause
"""baselines/bags.py: multiple-instance learning: windows from the labels of traces.

A network of two layers on the statistics of a window, with an output for each side. It
learns the labels of a trace (trace_labels.py) by its worst window, by its worst few (as
RTFM does), or from the confident labels of another (as MIST does).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.baselines.trace_labels import UNKNOWN
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.detector.judging.judged import Scores

#: Traces to train on.
MOST_TRACES = 600
#: Windows of a trace that are drawn at each look at it.
_DRAWN = 64
_WORST_SHARE = 0.1

Pool = Callable[[Tensor], Tensor]


def _worst(said: Tensor) -> Tensor:
    return said.amax(dim=1)


def _worst_few(said: Tensor) -> Tensor:
    few = max(2, round(_WORST_SHARE * said.shape[1]))
    return said.topk(few, dim=1).values.mean(dim=1)


def mil_max(task: Task) -> Scores:
    """Score by a network that learned a trace's labels from its worst window."""
    return Scores(_bags(task, _worst)[:, task.rows])


def mil_top(task: Task) -> Scores:
    """Score by a network that learned a trace's labels from its worst few windows."""
    return Scores(_top(task)[:, task.rows])


def mil_taught(task: Task) -> Scores:
    """Score by a network taught with what the one above is sure of.

    Of traces that are bad on a side the worst tenth of the windows count as positive,
    the best half as negative, all of good traces as negative.
    """
    said, run = _top(task), task.corpus.run
    wanted = np.full(said.shape, np.nan, np.float32)
    for side, label in enumerate(task.trace_labels):
        wanted[side, label == 0] = 0
        for one in np.unique(run[label == 1]):
            here = np.flatnonzero(run == one)
            order = here[np.argsort(-said[side, here])]
            wanted[side, order[: max(1, round(_WORST_SHARE * len(here)))]] = 1
            wanted[side, order[len(order) - len(order) // 2 :]] = 0
    rows = np.flatnonzero(np.isfinite(wanted).any(axis=0))
    net = _fit_windows(task, rows, wanted[:, rows].T)
    with torch.no_grad():
        taught = torch.sigmoid(net(torch.from_numpy(task.evened[task.rows])))
    return Scores(_told(task, taught.numpy().T.astype(float)))


def _top(task: Task) -> np.ndarray:
    return task.once("mil_top", lambda: _bags(task, _worst_few))


def _told(task: Task, heads: np.ndarray) -> np.ndarray:
    """Return the heads, NaN of a side whose traces to train on are all of one kind."""
    for side, label in enumerate(task.trace_labels):
        if len(np.unique(label[label != UNKNOWN])) < 2:
            heads[side] = np.nan
    return heads


def _network(task: Task) -> nn.Module:
    torch.manual_seed(task.seed)
    width = task.evened.shape[1]
    return nn.Sequential(
        nn.Linear(width, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, len(SIDES))
    )


def _off_label(said: Tensor, label: Tensor) -> Tensor:
    """Return the loss over what is known; a label that is not is NaN."""
    known = ~label.isnan()
    loss: Tensor = functional.binary_cross_entropy_with_logits(
        said, label.nan_to_num(), weight=known.to(said.dtype), reduction="sum"
    )
    return loss / known.sum().clamp(min=1)


def _bags(task: Task, pool: Pool) -> np.ndarray:
    """Train with trace labels; return float [2, N], scores of every window.

    Raises:
        NotHere: On neither side are there traces of both kinds.
    """
    labels = task.trace_labels
    runs = np.unique(task.corpus.run[(labels != UNKNOWN).any(axis=0)])
    if all(len(np.unique(one[one != UNKNOWN])) < 2 for one in labels):
        raise NotHere("the traces to train on are all good, or all bad")
    random = task.random(6)
    runs = random.permutation(runs)[:MOST_TRACES]
    first = np.searchsorted(task.corpus.run, runs)
    count = np.searchsorted(task.corpus.run, runs, "right") - first
    known = labels[:, first].T.astype(np.float32)
    label = torch.from_numpy(np.where(known == UNKNOWN, np.nan, known))
    even = torch.from_numpy(task.evened)
    net = _network(task)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for _ in range(10 if task.quick else 20):
        for at in torch.randperm(len(runs)).split(32):
            where = at.numpy()
            drawn = random.random((len(where), _DRAWN)) * count[where, None]
            said = net(even[first[where, None] + drawn.astype(int)])
            # RTFM and its kin ask for few flagged windows in a trace.
            loss = _off_label(pool(said), label[at])
            loss = loss + 1e-3 * torch.sigmoid(said).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        said = torch.cat([net(part) for part in even.split(8192)])
    return _told(task, said.numpy().T.astype(float))


def _fit_windows(task: Task, rows: np.ndarray, label: np.ndarray) -> nn.Module:
    even = torch.from_numpy(task.evened[rows])
    wanted = torch.from_numpy(np.ascontiguousarray(label, np.float32))
    net = _network(task)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for _ in range(2 if task.quick else 8):
        for at in torch.randperm(len(rows)).split(256):
            loss = _off_label(net(even[at]), wanted[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    return net
