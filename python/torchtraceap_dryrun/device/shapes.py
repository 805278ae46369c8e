# SPDX-License-Identifier: BSD-3-Clause
"""shapes.py: the shapes and layouts that operators give, also where torch has no meta
kernel. Loads torch.

On meta the results of convolutions are contiguous, because the kernel's library is
unknown there: cuDNN keeps channels_last. Most meta kernels are written in Python and
take longer than everything else a dry run does for an operator, and programs call the
same ones repeatedly: so shapes are cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.arguments import map_tensors, tensors_in, written_by
from torchtraceap_dryrun.device.tensors import DEVICE, on_device
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


# Elements of the largest tensor that stands in for one on the CPU to learn a shape.
_MOST_ELEMENTS = 1 << 26


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
    if any(t.numel() > _MOST_ELEMENTS for t in inputs):
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


#: Entries, of about 1 KB each; a program whose shapes are never the same needs no more.
_MOST_KEPT = 20_000

_Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]


@cache
def _returns(func: Any) -> tuple[int | None, ...] | None:
    """Return, of each return of an operator, the place of the argument that it is, None
    if it is a new tensor. None: they are not always the same for the same shapes, as
    views, lists, results given by keyword."""
    schema = func._schema
    if schema.name.endswith(("empty", "empty_like", "empty_strided")):
        return None
    if schema.name == "aten::_new_zeros_with_same_feature_meta":
        return None  # Its memory is as large as another's, of which this is a part.
    if torch.Tag.inplace_view in func.tags:
        return None  # It changes shapes: of its argument, each time.
    returns: list[int | None] = []
    for one in schema.returns:
        if str(one.type) != "Tensor":
            return None
        if one.alias_info is None:
            returns.append(None)
            continue
        if not one.alias_info.is_write:
            return None
        for at, argument in enumerate(schema.arguments):
            alias = argument.alias_info
            if alias and alias.before_set == one.alias_info.before_set:
                if argument.kwarg_only:
                    return None
                returns.append(at)
    return tuple(returns) if len(returns) == len(schema.returns) else None


class _Unfit(Exception):
    """An argument that cannot be part of a cache key."""


def _mark(value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.layout != torch.strided or value.is_conj() or value.is_neg():
            raise _Unfit
        return value.shape, value.stride(), value.dtype, on_device(value)
    if isinstance(value, list | tuple):
        return tuple(map(_mark, value))
    if isinstance(value, torch.Generator):
        raise _Unfit
    return type(value), value


def _key(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return what tells a call from others; None if it is not to be kept."""
    try:
        named = tuple((name, _mark(value)) for name, value in kwargs.items())
        key = func, tuple(map(_mark, args)), named, torch.get_default_dtype()
        hash(key)
    except (_Unfit, TypeError):
        return None
    return key


class ShapeCache:
    """Of one run."""

    def __init__(self) -> None:
        # Of each return: the place of the argument that it is, or how a new one lies.
        self._known: dict[Any, tuple[_Layout | int, ...]] = {}

    def run(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return what an operator gives, as `run_on_meta`."""
        returns = _returns(func)
        key = None if returns is None else _key(func, args, kwargs)
        if returns is None or key is None:
            return run_on_meta(func, args, kwargs)
        known = self._known.get(key)
        if known is None:
            out = run_on_meta(func, args, kwargs)
            self._keep(key, returns, args, out)
            return out
        outs = [
            args[one]
            if isinstance(one, int)
            else torch.empty_strided(*one[:2], dtype=one[2], device=DEVICE)
            for one in known
        ]
        return None if not outs else outs[0] if len(outs) == 1 else tuple(outs)

    def _keep(
        self, key: Any, returns: Sequence[int | None], args: Sequence[Any], out: Any
    ) -> None:
        outs = () if out is None else (out,) if isinstance(out, Tensor) else tuple(out)
        if len(outs) != len(returns) or len(self._known) >= _MOST_KEPT:
            return
        # Some give views without saying so: _unsafe_view.
        taken = {t.untyped_storage()._cdata for t in args if isinstance(t, Tensor)}
        known: list[_Layout | int] = []
        for at, tensor in zip(returns, outs, strict=True):
            if at is not None:
                known.append(at)
                continue
            if not _is_plain(tensor) or tensor.untyped_storage()._cdata in taken:
                return
            known.append((tuple(tensor.shape), tensor.stride(), tensor.dtype))
        self._known[key] = tuple(known)


def _is_plain(tensor: Any) -> bool:
    """Tell whether a tensor is one that empty_strided makes."""
    return (
        isinstance(tensor, Tensor)
        and on_device(tensor)
        and tensor.layout == torch.strided
        and tensor.storage_offset() == 0
        and not tensor.is_conj()
        and not tensor.is_neg()
    )
