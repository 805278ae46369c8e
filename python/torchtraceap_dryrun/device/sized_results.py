# SPDX-License-Identifier: BSD-3-Clause
"""sized_results.py: operators whose result is as large as values say. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap_dryrun.device.reading_back import how_known, read_back
from torchtraceap_dryrun.record import Value

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.dispatch import Dispatch, Handler

# Of elements whose values are not known: how many appear once.
_SHARE = 0.5


def _sized(
    guess: Callable[[Tensor, Sequence[Any], Mapping[str, Any]], Any],
) -> Handler:
    """Return the handler of an operator that gives tensors of a size that depends on
    values: as they are known, else of the shapes and types that ``guess`` says."""

    def handle(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
        shadows = run.values.shadows(args, kwargs)
        known: Value = "guessed"
        if shadows is None:
            sizes = guess(args[0], args, kwargs)
            outs = [run.new(shape, dtype) for shape, dtype in sizes]
        else:
            known = how_known(run, *args, *kwargs.values())
            made = func(*shadows[0], **shadows[1])
            results = [made] if isinstance(made, Tensor) else list(made)
            outs = [run.new(r.shape, r.dtype) for r in results]
            for out, result in zip(outs, results, strict=True):
                run.values.put(out, result, known == "known")
        run.emit(func, args, kwargs, outs)
        if kwargs.get("output_size") is None:
            read_back(run, func._schema.name, known)
        return outs[0] if len(func._schema.returns) == 1 else tuple(outs)

    return handle


def _unique_shapes(source: Tensor, args: Any, kwargs: Any) -> Any:
    n = round(source.numel() * _SHARE)
    yield (n,), source.dtype
    yield source.shape, torch.int64
    yield (n,), torch.int64


def _unique_dim_shapes(source: Tensor, args: Any, kwargs: Any) -> Any:
    dim = args[1] if len(args) > 1 else kwargs["dim"]
    shape = list(source.shape)
    inverse = (shape[dim],)
    shape[dim] = n = round(shape[dim] * _SHARE)
    yield shape, source.dtype
    yield inverse, torch.int64
    yield (n,), torch.int64


def _repeat_shapes(source: Tensor, args: Any, kwargs: Any) -> Any:
    size = kwargs.get("output_size")
    yield (source.numel() if size is None else size,), torch.int64


def _bincount_shapes(source: Tensor, args: Any, kwargs: Any) -> Any:
    weights = args[1] if len(args) > 1 else kwargs.get("weights")
    least = args[2] if len(args) > 2 else kwargs.get("minlength", 0)
    dtype = torch.int64 if weights is None else torch.float64
    yield (max(least, round(source.numel() * _SHARE)),), dtype


SIZED: Mapping[str, Handler] = {
    "aten::_unique": _sized(lambda s, a, k: list(_unique_shapes(s, a, k))[:2]),
    "aten::_unique2": _sized(_unique_shapes),
    "aten::unique_consecutive": _sized(_unique_shapes),
    "aten::unique_dim": _sized(_unique_dim_shapes),
    "aten::unique_dim_consecutive": _sized(_unique_dim_shapes),
    "aten::repeat_interleave": _sized(_repeat_shapes),
    "aten::bincount": _sized(_bincount_shapes),
}
