# SPDX-License-Identifier: BSD-3-Clause
"""host_twins.py: twins that make the device wait for the host.

Reads of device values, the data loader, and everything copied between the two.
A comment ``# cause: NAME`` marks the line to blame in pair NAME; the manifest finds
it by that comment, so that a test can compare it with the frame a finding names.
Such a line stands in a plain function: a comprehension is a frame of its own in some
Python versions and not in others.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from workloads.families import SOURCES, Batch
from workloads.training import Training


class ClipsOnHost(Training):
    """Clips the gradient norm with a number read from the device per parameter."""

    limit = 0.1  # Below any norm seen here, so that the clipping is always at work.

    def adjust(self) -> None:
        squares = 0.0
        for p in self.model.parameters():
            squares += p.grad.norm().item() ** 2  # cause: item_per_parameter
        factor = min(1.0, self.limit / math.sqrt(squares))
        for p in self.model.parameters():
            p.grad.mul_(factor)


class ClipsOnDevice(ClipsOnHost):
    """Clips the same norm, kept on the device."""

    def adjust(self) -> None:
        norms = [p.grad.norm() for p in self.model.parameters()]
        factor = (self.limit / torch.stack(norms).norm()).clamp(max=1.0)
        for p in self.model.parameters():
            p.grad.mul_(factor)


class AveragesByIndex(Training):
    """Averages the losses of each source over rows found with ``nonzero``."""

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        total = losses.new_zeros(())
        for i in range(SOURCES):
            rows = torch.nonzero(source == i).squeeze(1)  # cause: nonzero_rows
            if len(rows):
                total = total + losses[rows].mean()
        return total / SOURCES


class AveragesByMask(Training):
    """Averages the same losses with a mask: every shape is known beforehand."""

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        total = losses.new_zeros(())
        for i in range(SOURCES):
            hit = source == i
            total = total + (losses * hit).sum() / hit.sum().clamp(min=1)
        return total / SOURCES


class PackedSamples(Dataset[Batch]):
    """Samples kept compressed and unpacked one at a time, as image files are.

    Far longer than any run, so that no epoch ends while steps are timed.
    """

    def __init__(self, batches: list[Batch]) -> None:
        rows = (row for batch in batches for row in zip(*batch, strict=True))
        self.samples = [
            [(zlib.compress(part.numpy().tobytes()), part.dtype, part.shape)
             for part in row] for row in rows
        ]  # fmt: skip

    def __len__(self) -> int:
        return len(self.samples) * 100_000

    def __getitem__(self, index: int) -> Batch:
        return tuple(
            torch.frombuffer(bytearray(zlib.decompress(data)), dtype=dtype).view(shape)
            for data, dtype, shape in self.samples[index % len(self.samples)]
        )


class LoadsInStep(Training):
    """Unpacks each batch in the training process, between two steps."""

    workers = 0

    def hold(self, batches: list[Batch]) -> list[Batch]:
        loader = DataLoader(
            PackedSamples(batches),
            batch_size=self.lab.config["batch"],
            num_workers=self.workers,
            pin_memory=self.device.type == "cuda",
            persistent_workers=self.workers > 0,
        )
        self.loaded: Iterator[list[Tensor]] = iter(loader)
        return []

    def fetch(self) -> Batch:
        batch = next(self.loaded)  # cause: loader_without_workers
        return tuple(part.to(self.device, non_blocking=True) for part in batch)

    def close(self) -> None:
        del self.loaded  # Ends the worker processes.


class LoadsAhead(LoadsInStep):
    """Unpacks in worker processes, batches ahead of the step."""

    # One core stays for the training process; more than 8 workers gain nothing here.
    workers = min(8, max(1, (os.cpu_count() or 2) - 1))


class CopiesPinned(Training):
    """Keeps its batches in pinned host memory and copies one each step."""

    pinned = True

    def hold(self, batches: list[Batch]) -> list[Batch]:
        if not self.pinned:
            return batches
        return [tuple(part.pin_memory() for part in batch) for batch in batches]

    def fetch(self) -> Batch:
        copies = []
        for part in super().fetch():
            copy = part.to(self.device, non_blocking=True)  # cause: pageable_batches
            copies.append(copy)
        return tuple(copies)


class CopiesPageable(CopiesPinned):
    """Keeps them in pageable memory: the driver stages every copy."""

    pinned = False


class CopiesWhole(Training):
    """Copies each tensor of a batch from host memory at once."""

    def hold(self, batches: list[Batch]) -> list[Batch]:
        return batches

    def fetch(self) -> Batch:
        return tuple(part.to(self.device) for part in super().fetch())


class CopiesRows(CopiesWhole):
    """Copies sample by sample, then puts the batch together on the device."""

    def fetch(self) -> Batch:
        parts = []
        for part in Training.fetch(self):
            rows = []
            for row in part:
                rows.append(row.to(self.device))  # cause: small_copies
            parts.append(torch.stack(rows))
        return tuple(parts)


class DecaysFromHost(Training):
    """Decays each row of each parameter by factors made on the host every step.

    Constants and not random numbers: the two devices' generators differ, so twins
    that draw noise could not be compared.
    """

    def decay(self, p: Tensor) -> Tensor:
        rows = (len(p),) + (1,) * (p.dim() - 1)
        return torch.full(rows, 1e-2).to(self.device)  # cause: tensors_made_on_host

    def adjust(self) -> None:
        for p in self.model.parameters():
            p.grad.addcmul_(p.detach(), self.decay(p))


class DecaysOnDevice(DecaysFromHost):
    """Makes the same factors where they are used."""

    def decay(self, p: Tensor) -> Tensor:
        rows = (len(p),) + (1,) * (p.dim() - 1)
        return torch.full(rows, 1e-2, device=self.device)
