# SPDX-License-Identifier: BSD-3-Clause
"""baselines/networks.py: small networks on window features; trace labels at most.

An LSTM that repeats the windows of good traces, and multiple-instance learning from
the label of a trace: by its worst window, by its worst few (as RTFM does), and by
teaching a second network with what the first is sure of (as MIST does).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from judging.figures import Scores
from torch import Tensor, nn
from torch.nn import functional

from baselines.task import NotHere, Task

#: Windows of a trace that one sequence holds.
_LENGTH = 32
#: Sequences to train the LSTM on, and traces of multiple-instance learning.
MOST_SEQUENCES = 400
MOST_TRACES = 600
EPOCHS_LSTM = 8
#: Windows of a trace that are drawn at each look at it.
_DRAWN = 64
_WORST_SHARE = 0.1


def sequences(run: np.ndarray, device: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return int [sequences, _LENGTH]: rows that follow each other, -1 where none."""
    change = (np.diff(run[rows]) != 0) | (np.diff(device[rows]) != 0)
    parts = np.split(rows, np.flatnonzero(change) + 1)
    chunks = [p[k : k + _LENGTH] for p in parts for k in range(0, len(p), _LENGTH)]
    made = np.full((len(chunks), _LENGTH), -1)
    for chunk, into in zip(chunks, made, strict=True):
        into[: len(chunk)] = chunk
    return made


class _Repeater(nn.Module):
    """Writes down a sequence in 16 numbers a window and reads it back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.encode = nn.LSTM(width, 16, batch_first=True)
        self.decode = nn.LSTM(16, 32, batch_first=True)
        self.out = nn.Linear(32, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return a sequence like the one given."""
        back: Tensor = self.out(self.decode(self.encode(x)[0])[0])
        return back


def lstm(task: Task) -> Scores:
    """Score by how badly an LSTM trained on good traces repeats a window.

    Raises:
        NotHere: There are hardly any good traces.
    """
    torch.manual_seed(task.seed)
    corpus, even = task.corpus, torch.from_numpy(task.evened)
    train = sequences(corpus.run, corpus.device, task.good_rows)
    if len(train) < 5:
        raise NotHere("fewer than 5 sequences of good traces to train on")
    train = train[task.random(5).permutation(len(train))[:MOST_SEQUENCES]]
    net = _Repeater(even.shape[1])
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(3 if task.quick else EPOCHS_LSTM):
        for at in torch.randperm(len(train)).split(16):
            there = torch.from_numpy(train[at.numpy()])
            loss = _off(net, even, there)[there >= 0].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    errors = np.full(len(even), np.nan)
    tested = sequences(corpus.run, corpus.device, task.rows)
    with torch.no_grad():
        for there in torch.from_numpy(tested).split(256):
            errors[there[there >= 0].numpy()] = _off(net, even, there)[there >= 0]
    return Scores(task.both_heads(errors[task.rows]))


def _off(net: nn.Module, even: Tensor, there: Tensor) -> Tensor:
    x = even[there.clamp(min=0)] * (there >= 0)[..., None]
    error: Tensor = ((net(x) - x) ** 2).mean(dim=-1)
    return error


Pool = Callable[[Tensor], Tensor]


def _worst(said: Tensor) -> Tensor:
    return said.amax(dim=1)


def _worst_few(said: Tensor) -> Tensor:
    few = max(2, round(_WORST_SHARE * said.shape[1]))
    return said.topk(few, dim=1).values.mean(dim=1)


def mil_max(task: Task) -> Scores:
    """Score by a network that learned a trace's label from its worst window."""
    return Scores(task.both_heads(_bags(task, _worst)[task.rows]))


def mil_top(task: Task) -> Scores:
    """Score by a network that learned a trace's label from its worst few windows."""
    return Scores(task.both_heads(_top(task)[task.rows]))


def mil_taught(task: Task) -> Scores:
    """Score by a network taught with what the one above is sure of.

    Of bad traces the worst tenth of the windows count as positive, the best half as
    negative, all of good traces as negative.
    """
    said = _top(task)
    bad = ~task.corpus.of_windows("good")
    rows, label = [], []
    for run in np.unique(task.corpus.run[task.trained_rows]):
        here = np.flatnonzero(task.corpus.run == run)
        if not bad[here[0]]:
            rows.append(here)
            label.append(np.zeros(len(here)))
            continue
        order = here[np.argsort(-said[here])]
        sure = max(1, round(_WORST_SHARE * len(here)))
        quiet = order[len(order) - len(order) // 2 :]
        rows += [order[:sure], quiet]
        label += [np.ones(sure), np.zeros(len(quiet))]
    net = _fit_windows(task, np.concatenate(rows), np.concatenate(label))
    with torch.no_grad():
        taught = torch.sigmoid(net(torch.from_numpy(task.evened[task.rows]))[:, 0])
    return Scores(task.both_heads(taught.numpy().astype(float)))


def _top(task: Task) -> np.ndarray:
    return task.once("mil_top", lambda: _bags(task, _worst_few))


def _network(task: Task) -> nn.Module:
    torch.manual_seed(task.seed)
    width = task.evened.shape[1]
    return nn.Sequential(
        nn.Linear(width, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1)
    )


def _bags(task: Task, pool: Pool) -> np.ndarray:
    """Train with trace labels; return float [N], a score of every window."""
    good = task.corpus.of_runs("good")
    runs = np.unique(task.corpus.run[task.trained_rows])
    if len(np.unique(good[runs])) < 2:
        raise NotHere("the traces to train on are all good, or all bad")
    random = task.random(6)
    runs = random.permutation(runs)[:MOST_TRACES]
    first = np.searchsorted(task.corpus.run, runs)
    count = np.searchsorted(task.corpus.run, runs, "right") - first
    label = torch.from_numpy((~good[runs]).astype(np.float32))
    even = torch.from_numpy(task.evened)
    net = _network(task)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for _ in range(10 if task.quick else 20):
        for at in torch.randperm(len(runs)).split(32):
            where = at.numpy()
            drawn = random.random((len(where), _DRAWN)) * count[where, None]
            said = net(even[first[where, None] + drawn.astype(int)])[..., 0]
            loss = functional.binary_cross_entropy_with_logits(pool(said), label[at])
            # RTFM and its kin ask for few flagged windows in a trace.
            loss = loss + 1e-3 * torch.sigmoid(said).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    with torch.no_grad():
        said = torch.cat([net(part)[:, 0] for part in even.split(8192)])
    return said.numpy().astype(float)


def _fit_windows(task: Task, rows: np.ndarray, label: np.ndarray) -> nn.Module:
    even = torch.from_numpy(task.evened[rows])
    wanted = torch.from_numpy(label.astype(np.float32))
    net = _network(task)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for _ in range(2 if task.quick else 8):
        for at in torch.randperm(len(rows)).split(256):
            said = net(even[at])[:, 0]
            loss = functional.binary_cross_entropy_with_logits(said, wanted[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    net.eval()
    return net
