# SPDX-License-Identifier: BSD-3-Clause
"""devices.py: what stands for the GPU: "meta". Loads torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

#: Where tensors on the device are in truth.
DEVICE = torch.device("meta")
#: Where they seem to be.
CUDA = torch.device("cuda", 0)


def on_device(tensor: Tensor) -> bool:
    """Tell whether a tensor of an operator is on the device: one that a program has on
    "meta" itself, for which see memory.py, is not given to such. Not to be asked under
    a function mode."""
    return bool(tensor.device.type == "meta")


def names_meta(device: Any) -> bool:
    """Tell whether a device, as a program may write it, is "meta" itself."""
    if isinstance(device, str):
        return device.startswith("meta")
    return isinstance(device, torch.device) and device.type == "meta"


def is_gpu(device: Any) -> bool:
    """Tell whether a device, as a program may write it, is the GPU.

    Raises:
        RuntimeError: It is a second one, in CUDA's words.
    """
    if device is None or isinstance(device, bool):
        return False
    if isinstance(device, int):
        index: int | None = device
    else:
        if isinstance(device, str):
            if not device.startswith(("cuda", "meta")):
                return False
            device = torch.device(device)
        if not isinstance(device, torch.device) or device.type not in ("cuda", "meta"):
            return False
        index = device.index
    if index not in (None, 0, -1):
        raise RuntimeError(
            f"CUDA error: invalid device ordinal (cuda:{index}; a dry run has one GPU)"
        )
    return True
