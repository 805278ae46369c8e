# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_snapshots.py: twins that copy their parameters to the host each step.

For the comments ``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.lab.corpus.workloads.host_twins_streams import beside
from benchmarks.lab.corpus.workloads.training import Lab, Training


class Snapshots(Training):
    """Copies the parameters to buffers in host memory after each step."""

    pinned = True

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.buffers = beside(self, self.pinned)

    def save(self) -> None:
        for p, buffer in zip(self.model.parameters(), self.buffers, strict=True):
            buffer.copy_(p.detach(), non_blocking=True)  # cause: pageable_snapshots

    def finish(self, losses: Tensor) -> Tensor:
        self.save()
        return losses.detach()


class SnapshotsPageable(Snapshots):
    """Has the buffers in pageable memory; its places are the parameters."""

    pinned = False


class SnapshotsBeside(Snapshots):
    """Copies on a second stream, beside the next step up to its update."""

    late = False

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab)
        self.stream = torch.cuda.Stream()

    def save(self) -> None:
        pairs = list(zip(self.model.parameters(), self.buffers, strict=True))
        for i, (p, buffer) in enumerate(pairs):
            if self.late and self.lab.takes(i):
                buffer.copy_(p.detach(), non_blocking=True)  # cause: exposed_snapshots
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for i, (p, buffer) in enumerate(pairs):
                if not (self.late and self.lab.takes(i)):
                    buffer.copy_(p.detach(), non_blocking=True)

    def adjust(self) -> None:
        torch.cuda.current_stream().wait_stream(self.stream)


class SnapshotsLate(SnapshotsBeside):
    """Copies on the stream of the kernels; its places are the parameters."""

    late = True
