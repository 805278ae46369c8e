# SPDX-License-Identifier: BSD-3-Clause
"""host_twins.py: twins that read values of the device, and those that load data.

More of them are in host_twins_waits.py, _loading.py, _copies.py, _fills.py,
_streams.py, _snapshots.py, _moves.py, _python.py, _garbage.py and _ranks.py. A slow
twin takes its slow way at the share ``Lab.strength`` of its places; its docstring says
what they are.

A comment ``# cause: NAME`` marks the line to blame in pair NAME; the manifest finds
it by that comment, so that a test can compare it with the frame a finding names.
Such a line is in a plain function: a comprehension is a frame of its own in some
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

from benchmarks.lab.corpus.workloads.families import SOURCES, Batch
from benchmarks.lab.corpus.workloads.training import Training, takes


class ClipsOnHost(Training):
    """Clips the gradient norm with a number read from the device per parameter.

    Its places are the parameters; the norms of the others stay on the device.
    """

    limit = 0.1  # Below any norm seen here, so that the clipping is always at work.

    def adjust(self) -> None:
        squares, kept = 0.0, []
        for i, p in enumerate(self.model.parameters()):
            norm = p.grad.norm()
            if self.lab.takes(i):
                squares += norm.item() ** 2  # cause: item_per_parameter
            else:
                kept.append(norm)
        if kept:
            total = (torch.stack(kept).square().sum() + squares).sqrt()
            factor = (self.limit / total).clamp(max=1.0)
        else:
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


def masked_mean(losses: Tensor, hit: Tensor) -> Tensor:
    """Return the mean of those that are hit, 0 if none is."""
    return (losses * hit).sum() / hit.sum().clamp(min=1)


class AveragesByIndex(Training):
    """Averages the losses of each source over rows found with ``nonzero``.

    Its places are the sources.
    """

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        total = losses.new_zeros(())
        for i in range(SOURCES):
            if not self.lab.takes(i):
                total = total + masked_mean(losses, source == i)
                continue
            rows = torch.nonzero(source == i).squeeze(1)  # cause: nonzero_rows
            if len(rows):
                total = total + losses[rows].mean()
        return total / SOURCES


class AveragesByMask(Training):
    """Averages the same losses with a mask: every shape is known beforehand."""

    def reduce(self, losses: Tensor, source: Tensor) -> Tensor:
        total = losses.new_zeros(())
        for i in range(SOURCES):
            total = total + masked_mean(losses, source == i)
        return total / SOURCES


LARGER = {"cuda": 1, "small": 8, "cpu": 8}
"""How much more a stored sample holds than what is used of it, by scale.

Where steps are small, so are samples, and unpacking them would be nothing.
"""


class PackedSamples(Dataset[Batch]):
    """Samples kept compressed and unpacked one at a time, as image files are.

    Only a ``share`` of them is; the rest lies ready. Far longer than any run, so that
    no epoch ends while steps are timed.
    """

    def __init__(
        self, batches: list[Batch], share: float = 1.0, larger: int = 1
    ) -> None:
        self.ready: dict[int, Batch] = {}
        self.packed: dict[int, list[tuple[bytes, torch.dtype, torch.Size]]] = {}
        rows = [row for batch in batches for row in zip(*batch, strict=True)]
        for i, row in enumerate(rows):
            if takes(i, share):
                self.packed[i] = [
                    (zlib.compress(part.numpy().tobytes() * larger, 1), part.dtype,
                     part.shape) for part in row
                ]  # fmt: skip
            else:
                self.ready[i] = row
        self.count = len(rows)

    def __len__(self) -> int:
        return self.count * 100_000

    def __getitem__(self, index: int) -> Batch:
        index %= self.count
        return self.ready[index] if index in self.ready else self.unpack(index)

    def unpack(self, index: int) -> Batch:
        parts = []
        for data, dtype, shape in self.packed[index]:
            unpacked = torch.frombuffer(bytearray(zlib.decompress(data)), dtype=dtype)
            parts.append(unpacked[: math.prod(shape)].view(shape))
        return tuple(parts)


class LoadsInStep(Training):
    """Unpacks each batch in the training process; its places are the samples."""

    workers = 0

    def hold(self, batches: list[Batch]) -> list[Batch]:
        loader = DataLoader(
            PackedSamples(batches, self.lab.strength, LARGER[self.lab.scale]),
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
