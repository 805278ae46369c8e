# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_loading.py: more twins that wait for their batches.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import time
import warnings

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.host_twins import (
    LARGER,
    LoadsInStep,
    PackedSamples,
)
from benchmarks.lab.corpus.workloads.training import takes


class KeptSamples(PackedSamples):
    """Packed samples that keep what they have unpacked once."""

    def unpack(self, index: int) -> Batch:
        self.ready[index] = super().unpack(index)
        return self.ready[index]


DELAY_S = {"cuda": 0.02, "small": 0.08, "cpu": 0.02}
"""How long a batch from far is on its way, by scale: longer than most steps."""


class FarSamples(Dataset[Batch]):
    """Samples that come from far: to fetch one is to wait, hardly to work.

    A whole batch takes ``delay_s`` seconds, a share of its samples that of it.
    """

    def __init__(self, batches: list[Batch], delay_s: float, share: float) -> None:
        self.samples = [row for batch in batches for row in zip(*batch, strict=True)]
        self.delay = delay_s * len(batches) / len(self.samples)
        self.share = share

    def __len__(self) -> int:
        return len(self.samples) * 100_000

    def __getitem__(self, index: int) -> Batch:
        index %= len(self.samples)
        if self.delay and takes(index, self.share):
            time.sleep(self.delay)
        return self.samples[index]


def stacked(samples: list[Batch]) -> list[Tensor]:
    """Put samples together as DataLoader does."""
    return default_collate(samples)


def by_numbers(samples: list[Batch]) -> list[Tensor]:
    """Put samples together by way of Python's numbers."""
    parts = []
    for rows in zip(*samples, strict=True):
        numbers = []
        for row in rows:
            numbers.append(row.tolist())  # cause: collated_in_python
        parts.append(torch.tensor(numbers, dtype=rows[0].dtype))
    return parts


class Loads(LoadsInStep):
    """Loads with ``workers`` processes, which need not be busy."""

    def samples(self, batches: list[Batch]) -> Dataset[Batch]:
        return PackedSamples(batches, self.lab.strength, LARGER[self.lab.scale])

    def collate(self, samples: list[Batch]) -> list[Tensor]:
        return stacked(samples)

    def hold(self, batches: list[Batch]) -> list[Batch]:
        with warnings.catch_warnings():  # That there are more workers than processors.
            warnings.simplefilter("ignore")
            loader = DataLoader(
                self.samples(batches),
                batch_size=self.lab.config["batch"],
                num_workers=self.workers,
                collate_fn=self.collate if not self.workers else None,
                pin_memory=self.device.type == "cuda",
                persistent_workers=self.workers > 0,
            )
            self.loaded = iter(loader)
        return []

    def fetch(self) -> Batch:
        batch = next(self.loaded)  # cause: unpacked_again, one_far_worker
        return tuple(part.to(self.device, non_blocking=True) for part in batch)


class UnpacksAgain(Loads):
    """Unpacks samples whenever they come; its places are the samples."""


class UnpacksOnce(Loads):
    """Keeps what was unpacked."""

    def samples(self, batches: list[Batch]) -> Dataset[Batch]:
        return KeptSamples(batches, self.lab.strength, LARGER[self.lab.scale])


class OneFarWorker(Loads):
    """One worker waits for samples from far; its places are the samples."""

    workers = 1

    def samples(self, batches: list[Batch]) -> Dataset[Batch]:
        return FarSamples(batches, DELAY_S[self.lab.scale], self.lab.strength)


class ManyFarWorkers(OneFarWorker):
    """Several wait at once, which takes no processor."""

    workers = 6


class CollatesNumbers(Loads):
    """Puts batches together from Python's numbers; its places are the samples.

    Nothing is packed here: what counts is the putting together.
    """

    def samples(self, batches: list[Batch]) -> Dataset[Batch]:
        return FarSamples(batches, 0.0, self.lab.strength)

    def collate(self, samples: list[Batch]) -> list[Tensor]:
        count = self.lab.share(len(samples))
        if count == len(samples):
            return by_numbers(samples)
        parts = zip(by_numbers(samples[:count]), stacked(samples[count:]), strict=True)
        return [torch.cat(both) for both in parts]


class CollatesTensors(CollatesNumbers):
    """Stacks the samples' tensors."""

    def collate(self, samples: list[Batch]) -> list[Tensor]:
        return stacked(samples)
