# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_fills.py: twins that fill tensors on the host and copy them each step.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.families import SOURCES
from benchmarks.lab.corpus.workloads.training import Training


class DecaysFromHost(Training):
    """Decays each row of each parameter by factors made on the host every step.

    Constants and not random numbers: the two devices' generators differ, so twins
    that draw noise could not be compared. Its places are the parameters.
    """

    def decay(self, place: int, p: Tensor) -> Tensor:
        rows = (len(p),) + (1,) * (p.dim() - 1)
        if not self.lab.takes(place):
            return torch.full(rows, 1e-2, device=self.device)
        return torch.full(rows, 1e-2).to(self.device)  # cause: tensors_made_on_host

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            p.grad.addcmul_(p.detach(), self.decay(i, p))


class DecaysOnDevice(DecaysFromHost):
    """Makes the same factors where they are used."""

    def decay(self, place: int, p: Tensor) -> Tensor:
        rows = (len(p),) + (1,) * (p.dim() - 1)
        return torch.full(rows, 1e-2, device=self.device)


class AddsUpFromHost(Training):
    """Adds each gradient to zeros made on the host; its places are the parameters."""

    def zeros(self, place: int, p: Tensor) -> Tensor:
        if not self.lab.takes(place):
            return torch.zeros(p.shape, device=self.device)
        return torch.zeros(p.shape).to(self.device)  # cause: zeros_made_on_host

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            p.grad = self.zeros(i, p).add_(p.grad)


class AddsUpOnDevice(AddsUpFromHost):
    """Makes the zeros on the device."""

    def zeros(self, place: int, p: Tensor) -> Tensor:
        return torch.zeros(p.shape, device=self.device)


class MasksFromHost(Training):
    """Keeps every output by a mask of ones, made on the host part by part.

    Its places are the parts, as many as there are sources.
    """

    def ones(self, place: int, part: Tensor) -> Tensor:
        if not self.lab.takes(place):
            return torch.ones(part.shape, device=self.device)
        return torch.ones(part.shape).to(self.device)  # cause: masks_made_on_host

    def refine(self, outputs: Tensor) -> Tensor:
        parts = []
        for i, part in enumerate(outputs.chunk(SOURCES)):
            parts.append(part * self.ones(i, part))
        return torch.cat(parts)


class MasksOnDevice(MasksFromHost):
    """Makes the same masks on the device."""

    def ones(self, place: int, part: Tensor) -> Tensor:
        return torch.ones(part.shape, device=self.device)
