# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_python.py: twins that keep the host busy with Python.

All work on numbers that lie on the host from the start, so that nothing is read back.
The fixed form gets the same result by other means, which a test compares. For the
comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.training import Lab, Training

VALUES = {"cuda": 30_000, "small": 100_000, "cpu": 10_000}
"""How many numbers a step works on in Python, by scale: some milliseconds."""

BINS = 64


class WorksOnHost(Training):
    """Does something on the host after each step, whose result it keeps."""

    result: object = None

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        rng = torch.Generator().manual_seed(lab.seed)
        self.values = torch.randint(BINS, (VALUES[lab.scale],), generator=rng)
        self.share = lab.share(len(self.values))
        self.numbers = self.values.tolist()

    def finish(self, losses: Tensor) -> Tensor:
        self.work()
        return losses.detach()

    def work(self) -> None:
        """Do it, and leave what comes out in ``result``."""


class CountsByTensor(WorksOnHost):
    """Counts values by one operator."""

    def work(self) -> None:
        self.result = torch.bincount(self.values, minlength=BINS).tolist()


class CountsInPython(WorksOnHost):
    """Counts values one by one; its places are the values."""

    def work(self) -> None:
        counts = torch.bincount(self.values[self.share :], minlength=BINS).tolist()
        for number in self.numbers[: self.share]:
            counts[number] += 1  # cause: counts_in_python
        self.result = counts


class WritesOnce(WorksOnHost):
    """Writes numbers into a text, most of which is the same in every step."""

    text = ""

    def work(self) -> None:
        if not self.text:
            self.text = written(self.numbers[: self.share])
        self.result = f"step {self.taken}{self.text}"


class WritesAgain(WorksOnHost):
    """Writes the whole text in every step; its places are the numbers."""

    def work(self) -> None:
        text = written(self.numbers[: self.share])  # cause: text_written_again
        self.result = f"step {self.taken}{text}"


def written(numbers: list[int]) -> str:
    """Write numbers into a text, one after the other."""
    text = ""
    for number in numbers:
        text += f" {number / BINS:.3f}"
    return text


class JoinsByTensor(WorksOnHost):
    """Gives each number the code of the pair it makes with the next, by operators."""

    def work(self) -> None:
        pairs = self.values[:-1] * BINS + self.values[1:]
        self.result = pairs[: self.share].remainder(1009).sum().item()


class JoinsInPython(WorksOnHost):
    """Looks at pair after pair, as a tokenizer would; its places are the pairs."""

    def work(self) -> None:
        total, last = 0, None
        for number in self.numbers[: self.share + 1]:
            if last is not None:
                total += (last * BINS + number) % 1009  # cause: pairs_in_python
            last = number
        self.result = total
