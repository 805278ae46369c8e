# SPDX-License-Identifier: BSD-3-Clause
"""shape_cache.py: the shapes that an operator gave to like arguments before.

Most meta kernels are written in Python and take longer than all else that a dry run
does of an operator; programs call the same ones over and over. Loads torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.devices import DEVICE, on_device

#: Entries, of about 1 KB each; a program whose shapes are never the same needs no more.
_MOST = 20_000

_Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype]


@dataclass(frozen=True)
class _Kind:
    """What the returns of an operator are, by its schema."""

    #: Of each return: the place of the argument that it is; None: a new tensor.
    returns: tuple[int | None, ...]


@cache
def _kind(func: Any) -> _Kind | None:
    """Return None for operators whose returns are not always the same for the same
    shapes: views, lists, results given by keyword."""
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
    return _Kind(tuple(returns)) if len(returns) == len(schema.returns) else None


class _Unfit(Exception):
    """An argument by which results cannot be told apart."""


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


class ShapeCache:
    """Of one run."""

    def __init__(self) -> None:
        # Of each return: the place of the argument that it is, or how a new one lies.
        self._known: dict[Any, tuple[_Layout | int, ...]] = {}

    def key(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return what tells a call from others; None if it is not to be kept."""
        if _kind(func) is None:
            return None
        try:
            named = tuple((name, _mark(value)) for name, value in kwargs.items())
            key = func, tuple(map(_mark, args)), named, torch.get_default_dtype()
            hash(key)
        except (_Unfit, TypeError):
            return None
        return key

    def find(self, key: Any, args: Sequence[Any]) -> tuple[bool, Any]:
        """Return whether a call is known, and what it gives."""
        known = self._known.get(key)
        if known is None:
            return False, None
        outs = [
            args[one]
            if isinstance(one, int)
            else torch.empty_strided(*one[:2], dtype=one[2], device=DEVICE)
            for one in known
        ]
        return True, None if not outs else outs[0] if len(outs) == 1 else tuple(outs)

    def keep(self, key: Any, func: Any, args: Sequence[Any], out: Any) -> None:
        """Remember what a call gave."""
        kind = _kind(func)
        outs = () if out is None else (out,) if isinstance(out, Tensor) else tuple(out)
        if kind is None or len(outs) != len(kind.returns) or len(self._known) >= _MOST:
            return
        # Some give views without saying so: _unsafe_view.
        taken = {t.untyped_storage()._cdata for t in args if isinstance(t, Tensor)}
        known: list[_Layout | int] = []
        for at, tensor in zip(kind.returns, outs, strict=True):
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
