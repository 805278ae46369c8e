# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_streams.py: twins whose copies block the host, or are not hidden.

All keep tensors in host memory that each step needs on the device. A
copy from pageable memory makes the host wait; one on the stream of the kernels is done
while nothing is computed, and one on a second stream beside it. For the comments
``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.families import Batch
from benchmarks.lab.corpus.workloads.training import Lab, Training


class CopiesPinned(Training):
    """Keeps its batches in pinned host memory and copies one each step."""

    pinned = True

    def hold(self, batches: list[Batch]) -> list[Batch]:
        held = []
        for i, batch in enumerate(batches):
            pinned = self.pinned or not self.lab.takes(i)
            held.append(tuple(part.pin_memory() for part in batch) if pinned else batch)
        return held

    def fetch(self) -> Batch:
        to, copies = self.device, []
        for part in super().fetch():
            copy = part.to(to, non_blocking=True)  # cause: pageable_batches
            copies.append(copy)
        return tuple(copies)


class CopiesPageable(CopiesPinned):
    """Keeps them in pageable memory: the driver stages every copy.

    Its places are the batches, of which there are ``training.BATCHES``.
    """

    pinned = False


class CopiesAhead(CopiesPinned):
    """Copies the next batch on a second stream while this one is computed."""

    late = False

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.stream = torch.cuda.Stream()
        self.begin()

    def begin(self) -> None:
        """Take the next batch, and start to copy it unless that is to be late."""
        self.waiting = Training.fetch(self)
        self.coming = not (self.late and self.lab.takes(self.taken - 1))
        if self.coming:
            with torch.cuda.stream(self.stream):
                self.waiting = self.copied()

    def copied(self) -> Batch:
        to, copies = self.device, []
        for part in self.waiting:
            copy = part.to(to, non_blocking=True)  # cause: exposed_batches
            copies.append(copy)
        return tuple(copies)

    def fetch(self) -> Batch:
        if self.coming:
            here = torch.cuda.current_stream()
            here.wait_stream(self.stream)
            for part in self.waiting:
                part.record_stream(here)
            batch = self.waiting
        else:
            batch = self.copied()
        self.begin()
        return batch


class CopiesLate(CopiesAhead):
    """Copies a batch when it is needed; its places are the steps."""

    late = True


def beside(run: Training, pinned: bool) -> list[Tensor]:
    """Return a tensor in host memory for each parameter, pinned or not."""
    held = [torch.full(p.shape, 0.01) for p in run.model.parameters()]
    return [
        tensor.pin_memory() if pinned or not run.lab.takes(i) else tensor
        for i, tensor in enumerate(held)
    ]


class Anchored(Training):
    """Pulls parameters to anchors in host memory, copied when they are needed."""

    pinned = True

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.anchors = beside(self, self.pinned)

    def copied(self, place: int) -> Tensor:
        anchor, to = self.anchors[place], self.device
        return anchor.to(to, non_blocking=True)  # cause: pageable_anchors

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            p.grad.add_(p.detach() - self.copied(i), alpha=1e-3)


class AnchoredPageable(Anchored):
    """Keeps the anchors in pageable memory; its places are the parameters."""

    pinned = False


class AnchoredAhead(Anchored):
    """Copies the anchors on a second stream while forward and backward run."""

    late = False

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.stream = torch.cuda.Stream()

    def clear(self) -> None:
        super().clear()
        self.coming: dict[int, Tensor] = {}
        with torch.cuda.stream(self.stream):
            for i, anchor in enumerate(self.anchors):
                if not (self.late and self.lab.takes(i)):
                    self.coming[i] = anchor.to(self.device, non_blocking=True)

    def copied(self, place: int) -> Tensor:
        if place in self.coming:
            self.coming[place].record_stream(torch.cuda.current_stream())
            return self.coming[place]
        anchor, to = self.anchors[place], self.device
        return anchor.to(to, non_blocking=True)  # cause: exposed_anchors

    def adjust(self) -> None:
        torch.cuda.current_stream().wait_stream(self.stream)
        super().adjust()


class AnchoredLate(AnchoredAhead):
    """Copies anchors when they are needed; its places are the parameters."""

    late = True
