# SPDX-License-Identifier: BSD-3-Clause
"""decompositions.py: operators that torch takes apart in another way on a GPU. Loads
torch.

Many operators are made of others and ask where their tensors are. Those that ask for
"cuda" and then take one kernel for what else would be several are here. Optimizers and
gradient clipping ask torch's core to sort tensors by device and type, which would say
"meta", and then they would be taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.tensors import CUDA
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.overrides.kernels import operator, replaced
from torchtraceap_dryrun.private_names import private


def _dropout(data: Tensor, p: float, train: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {p}"
        )
    if p == 0 or not train or data.numel() == 0:
        return data
    if p == 1:
        return data.mul(torch.zeros((), dtype=data.dtype, device=data.device))
    return operator("native_dropout")(data, p, train)[0]


def _softmax(name: str) -> Callable[..., Tensor]:
    run = operator(name)

    def softmax(data: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
        if data.dtype is torch.float16 and dtype is torch.float32:
            return run(data, dim, True)
        return run(data if dtype is None else data.to(dtype), dim, False)

    return softmax


class _RmsNorm(torch.autograd.Function):  # type: ignore[misc]
    """RMS norm as one operator in each direction, which only CUDA has."""

    @staticmethod
    def forward(
        ctx: Any, data: Tensor, shape: Sequence[int], weight: Any, eps: Any
    ) -> Tensor:
        with private("torch._C._AutoDispatchBelowAutograd")():
            out, scale = operator("_fused_rms_norm")(data, shape, weight, eps)
        ctx.shape = shape
        ctx.save_for_backward(data, scale, weight)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        data, scale, weight = ctx.saved_tensors
        wanted = [ctx.needs_input_grad[0], ctx.needs_input_grad[2]]
        of_data, of_weight = operator("_fused_rms_norm_backward")(
            grad, data, ctx.shape, scale, weight, wanted
        )
        return of_data, None, of_weight, None


def _rms_norm(
    data: Tensor, shape: Sequence[int], weight: Tensor | None = None, eps: Any = None
) -> Tensor:
    whole = operator("rms_norm")
    if data.is_complex() or (weight is not None and weight.dtype is not data.dtype):
        composite = private("torch._C.DispatchKey").CompositeImplicitAutograd
        return whole._op_dk(composite, data, shape, weight, eps)
    return _RmsNorm.apply(data, shape, weight, eps)


def _rms_norm_shapes(
    data: Tensor, shape: Sequence[int], weight: Tensor | None, eps: Any
) -> tuple[Tensor, Tensor]:
    half = data.dtype in (torch.float16, torch.bfloat16)
    rows = [*data.shape[: -len(shape)], *(1 for _ in shape)]
    scale = data.new_empty(rows, dtype=torch.float32 if half else data.dtype)
    return torch.empty_like(data), scale


@contextmanager
def installed() -> Iterator[None]:
    """Let these operators take the path of a GPU for tensors on the device."""
    above = "AutogradMeta"
    kernels: dict[tuple[str, str], Callable[..., Any]] = {
        ("dropout", above): _dropout,
        ("softmax.int", above): _softmax("_softmax"),
        ("log_softmax.int", above): _softmax("_log_softmax"),
        ("rms_norm", above): _rms_norm,
        ("_fused_rms_norm", "Meta"): _rms_norm_shapes,
    }
    sort = private("torch._C._group_tensors_by_device_and_dtype")

    def sort_as_cuda(tensors: Any, with_indices: bool = False) -> Any:
        groups = sort(tensors, with_indices)
        return {
            (CUDA if device.type == "meta" else device, dtype): group
            for (device, dtype), group in groups.items()
        }

    with replaced(kernels), Replacements() as attributes:
        attributes.set(torch._C, "_group_tensors_by_device_and_dtype", sort_as_cuda)
        yield
