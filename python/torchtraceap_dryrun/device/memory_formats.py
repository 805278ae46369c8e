# SPDX-License-Identifier: BSD-3-Clause
"""memory_formats.py: how the results of convolutions lie in memory. Loads torch.

On meta those of the forward pass are contiguous, for there it is not known whose
kernel it is. cuDNN keeps channels_last, and what follows keeps what it gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.devices import DEVICE
from torchtraceap_dryrun.private_names import private

_suggested = private("torch._prims_common.suggest_memory_format")
#: Of operators: where their input and weight are, and how many results lie like them.
_CONVOLUTIONS = {
    "aten::convolution": (0, 1, 1),
    "aten::_convolution": (0, 1, 1),
    "aten::convolution_overrideable": (0, 1, 1),
    "aten::convolution_backward": (1, 2, 2),
}


def as_on_gpu(func: Any, args: Sequence[Any], out: Any) -> Any:
    """Return the results of an operator as they lie on a GPU; those of convolutions
    differ."""
    places = _CONVOLUTIONS.get(func._schema.name)
    if places is None or len(args) <= places[1]:
        return out
    source, weight, count = args[places[0]], args[places[1]], places[2]
    if not isinstance(source, Tensor) or not isinstance(weight, Tensor):
        return out
    memory_format = _format(source, weight)
    if isinstance(out, Tensor):
        return _laid(out, memory_format)
    return tuple(
        _laid(one, memory_format) if at < count and one is not None else one
        for at, one in enumerate(out)
    )


def _format(source: Tensor, weight: Tensor) -> torch.memory_format:
    # cudnn_conv_suggest_memory_format: one of both is enough, but not for doubles.
    if torch.float64 not in (source.dtype, weight.dtype):
        for one in (source, weight):
            found: torch.memory_format = _suggested(one)
            if found != torch.contiguous_format:
                return found
    return torch.contiguous_format


def _laid(tensor: Tensor, memory_format: torch.memory_format) -> Tensor:
    like = torch.empty(
        tensor.shape, dtype=tensor.dtype, device=DEVICE, memory_format=memory_format
    )
    return tensor if tensor.stride() == like.stride() else like
