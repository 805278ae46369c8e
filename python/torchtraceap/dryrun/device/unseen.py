# SPDX-License-Identifier: BSD-3-Clause
"""unseen.py: tensors on the device that a thread made which is not followed.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from torchtraceap.dryrun.device.memory import is_unseen
from torchtraceap.dryrun.recorder import Recorder
from torchtraceap.dryrun.recording_lock import LOCK

_NOTE = (
    "a thread of before the block uses the device: what it runs is not seen. Start it "
    "in the block"
)


def take_over(recorder: Recorder, tensors: Iterable[Tensor]) -> None:
    """Count the memory of such tensors, as an operator is given them."""
    for tensor in filter(is_unseen, tensors):
        with LOCK:
            recorder.live.allocate(tensor)
            recorder.note(_NOTE)
