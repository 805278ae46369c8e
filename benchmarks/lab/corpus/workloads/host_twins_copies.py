# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_copies.py: twins that copy much too often between host and device.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.training import Lab, Training


class CopiesWhole(Training):
    """Copies each tensor of a batch from host memory at once."""

    def hold(self, batches: list[Batch]) -> list[Batch]:
        return batches

    def fetch(self) -> Batch:
        return tuple(part.to(self.device) for part in super().fetch())


class CopiesRows(CopiesWhole):
    """Copies sample by sample, then puts the batch together on the device.

    Its places are the samples; the others come in one copy.
    """

    def fetch(self) -> Batch:
        parts = []
        for part in Training.fetch(self):
            count = self.lab.share(len(part))
            rows = []
            for row in part[:count]:
                rows.append(row.to(self.device))  # cause: small_copies
            rows = torch.stack(rows)
            if count < len(part):
                rows = torch.cat([rows, part[count:].to(self.device)])
            parts.append(rows)
        return tuple(parts)


class CopiesFields(CopiesWhole):
    """Copies a tensor of the batch field by field (columns, channels, words).

    Its places are the fields of the first that has any; the others come in one copy.
    """

    def fetch(self) -> Batch:
        parts = list(Training.fetch(self))
        split = next((i for i, part in enumerate(parts) if part.dim() > 1), -1)
        return tuple(
            self.joined(part) if i == split else part.to(self.device)
            for i, part in enumerate(parts)
        )

    def joined(self, part: Tensor) -> Tensor:
        count = self.lab.share(part.shape[1])
        fields = []
        for field in part[:, :count].unbind(1):
            fields.append(field.to(self.device))  # cause: fields_copied_singly
        joined = torch.stack(fields, dim=1)
        if count == part.shape[1]:
            return joined
        others = part[:, count:].contiguous().to(self.device)
        return torch.cat([joined, others], dim=1)


class ScalesGradients(Training):
    """Multiplies each gradient with a number from the host, all copied at once."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        count = len(list(self.model.parameters()))
        self.scales = [torch.tensor(1.0 - 0.1 / (i + 1)) for i in range(count)]

    def on_device(self) -> list[Tensor]:
        return list(torch.stack(self.scales).to(self.device).unbind())

    def adjust(self) -> None:
        scales = self.on_device()
        for p, scale in zip(self.model.parameters(), scales, strict=True):
            p.grad.mul_(scale)


class CopiesScales(ScalesGradients):
    """Copies a number for each gradient; its places are the parameters."""

    def on_device(self) -> list[Tensor]:
        count = self.lab.share(len(self.scales))
        scales = []
        for value in self.scales[:count]:
            scales.append(value.to(self.device))  # cause: scalars_one_by_one
        if count < len(self.scales):
            scales += torch.stack(self.scales[count:]).to(self.device).unbind()
        return scales


class CopiesNorms(Training):
    """Copies the norm of each gradient to the host without waiting, for a log.

    Its places are the parameters; the others come in one copy.
    """

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.norms: list[Tensor] = []

    def adjust(self) -> None:
        norms = [p.grad.norm() for p in self.model.parameters()]
        self.norms.clear()
        count = self.lab.share(len(norms))
        for norm in norms[:count]:
            copy = norm.to("cpu", non_blocking=True)  # cause: metrics_one_by_one
            self.norms.append(copy)
        if count < len(norms):
            self.norms.append(torch.stack(norms[count:]).to("cpu", non_blocking=True))


class CopiesNormsWhole(CopiesNorms):
    """Copies the same norms at once."""

    def adjust(self) -> None:
        norms = [p.grad.norm() for p in self.model.parameters()]
        self.norms = [torch.stack(norms).to("cpu", non_blocking=True)]


class SendsGradientsRound(Training):
    """Takes gradients to the host and straight back; its places are the parameters."""

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            if self.lab.takes(i):
                p.grad = p.grad.cpu().to(self.device)  # cause: round_trip
