# SPDX-License-Identifier: BSD-3-Clause
"""foreach.py: optimizers and gradient clipping take many tensors at once, as on a GPU.

They ask a tensor for its device in Python, which is answered elsewhere, and torch's
core to sort tensors by device and type, which would say "meta", and then they would be
taken one by one. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from torchtraceap_dryrun.device.devices import CUDA
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import private


@contextmanager
def installed() -> Iterator[None]:
    """Sort tensors on the device as "cuda:0"."""
    sort = private("torch._C._group_tensors_by_device_and_dtype")

    def sort_as_cuda(tensors: Any, with_indices: bool = False) -> Any:
        groups = sort(tensors, with_indices)
        return {
            (CUDA if device.type == "meta" else device, dtype): group
            for (device, dtype), group in groups.items()
        }

    with Replacements() as replaced:
        replaced.set(torch._C, "_group_tensors_by_device_and_dtype", sort_as_cuda)
        yield
