# SPDX-License-Identifier: BSD-3-Clause
"""baselines/networks.py: an LSTM that repeats the windows of good traces."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores

#: Windows of a trace that one sequence holds.
_LENGTH = 32
#: Sequences to train on, about as many of each source.
MOST_SEQUENCES = 400
EPOCHS_LSTM = 8


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
    train = train[task.random(5).permutation(len(train))]
    source = corpus.of_windows("source")[train[:, 0]]
    each = -(-MOST_SEQUENCES // len(np.unique(source)))
    some = [np.flatnonzero(source == name)[:each] for name in np.unique(source)]
    train = train[np.concatenate(some)]
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
