# SPDX-License-Identifier: BSD-3-Clause
"""shapes.py: the shapes that operators give, also where torch has no meta kernel.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.devices import DEVICE, on_device
from torchtraceap_dryrun.device.memory_formats import as_on_gpu
from torchtraceap_dryrun.device.nested import map_tensors, tensors_in
from torchtraceap_dryrun.device.signatures import written_by

# Elements of the largest tensor that stands in for one on the CPU to learn a shape.
_MOST = 1 << 26


def run_on_meta(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what an operator gives on the device: tensors without memory.

    Raises:
        DryRunError: No way is known to tell the shapes. What else it raises, an
            operator would raise on a GPU too.
    """
    if kwargs.get("generator") is not None:
        kwargs = {**kwargs, "generator": None}
    try:
        return as_on_gpu(func, args, func(*args, **kwargs))
    except NotImplementedError as error:
        reason = error
    written = written_by(func, args, {})  # Not by name: how large is `out=` to be?
    if written:
        count = len(func._schema.returns)
        return None if count == 0 else written[0] if count == 1 else tuple(written)
    return _by_cpu(func, args, kwargs, reason)


def _by_cpu(
    func: Any, args: Sequence[Any], kwargs: dict[str, Any], reason: Exception
) -> Any:
    """Run an operator on zeros on the CPU and keep the shapes."""
    inputs = list(tensors_in([*args, *kwargs.values()]))
    if any(t.numel() > _MOST for t in inputs):
        raise refusal(func) from reason

    def zeros(tensor: Tensor) -> Tensor:
        if not on_device(tensor):
            return tensor
        return torch.zeros(tensor.shape, dtype=tensor.dtype)

    def shape(tensor: Tensor) -> Tensor:
        if tensor.layout != torch.strided:
            raise reason
        return torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE
        )

    host = map_tensors(kwargs, zeros)
    if "device" in host:
        host["device"] = torch.device("cpu")
    try:
        return map_tensors(func(*map_tensors(tuple(args), zeros), **host), shape)
    except Exception:
        raise refusal(func) from reason


def refusal(func: Any) -> DryRunError:
    """Return the error that says that an operator cannot be run dry."""
    return DryRunError(
        f"{func.name()} cannot be run dry: torch has no kernel for it that works out "
        "shapes (meta). If it is your own, give it one with torch.library."
        "register_fake; else leave it out of the dry run"
    )
