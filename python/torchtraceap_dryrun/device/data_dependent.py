# SPDX-License-Identifier: BSD-3-Clause
"""data_dependent.py: operators whose result is as large as values say: a GPU must be
waited for to learn that. Where the values are known the result is exact; else its size
is guessed, once for each mask. Loads torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.waits.table import BY_LIST
from torchtraceap_dryrun.device.copies import filled, how_known, read_back, to_device
from torchtraceap_dryrun.device.guesses import TRUE_SHARE
from torchtraceap_dryrun.device.run import Handler, Run
from torchtraceap_dryrun.device.tensors import memory_of, on_device
from torchtraceap_dryrun.record import Value

_aten = torch.ops.aten


def _guessed_count(run: Run, mask: Tensor) -> int:
    """Return how many elements of a tensor without values are not zero: a guess that
    stays the same as long as the tensor does."""
    run.recorder.live.allocate(mask)
    memory = memory_of(mask)
    assert memory is not None
    key = mask.storage_offset(), mask.shape, mask.stride()
    return memory.counts.setdefault(key, round(mask.numel() * TRUE_SHARE))


def _places(run: Run, mask: Tensor) -> Tensor:
    """Return the result of nonzero on the device, and record that; no wait."""
    values = run.values.shadow(mask)
    found = None if values is None else values.nonzero()
    n = _guessed_count(run, mask) if found is None else len(found)
    out = run.new((n, mask.dim()), torch.int64)
    if found is not None:
        run.values.put(out, found, run.values.known(mask))
    elif out.numel():
        sizes = torch.tensor(mask.shape, dtype=torch.int64)
        drawn = torch.rand((n, mask.dim()), generator=run.values.generator)
        run.values.guess(out, (drawn * sizes).to(torch.int64))
    run.emit(_aten.nonzero.default, (mask,), {}, [out])
    return out


def _nonzero(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    out = _places(run, args[0])
    read_back(run, func._schema.name, how_known(run, args[0]))
    return out


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)


def _by_places(run: Run, api: str, indices: Sequence[Any]) -> list[Tensor | None]:
    """Return indices with their masks replaced by places, each of which is waited for;
    indices of the host are copied."""
    out: list[Tensor | None] = []
    for index in indices:
        if not isinstance(index, Tensor) or not (on_device(index) or index.dim()):
            out.append(index)
        elif not _is_mask(index):
            out.append(index if on_device(index) else to_device(run, index, BY_LIST))
        else:
            if on_device(index):
                places = _places(run, index)
                read_back(run, api, how_known(run, index))
            else:
                # Its places go through pinned memory, without a wait.
                host = index.nonzero()
                run.values.on_host(host, run.values.known(index))
                places = to_device(run, host, waits=False)
            # Views that CUDA makes as well; they launch nothing.
            columns = ((places, 1, at) for at in range(index.dim()))
            out += [run.run(_aten.select.int, column, {}) for column in columns]
    return out


def _index(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    indices = _by_places(run, func._schema.name, args[1])
    return run.run(func, (args[0], indices, *args[2:]), kwargs)


def _index_put(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    target, indices, value = args[:3]
    accumulate = args[3] if len(args) > 3 else kwargs.get("accumulate", False)
    in_place = func._schema.name.endswith("_")
    masks = [i for i in indices if i is not None]
    number = value.numel() == 1 and not on_device(value) and not accumulate
    if number and len(masks) == 1 and _is_mask(masks[0]) and on_device(masks[0]):
        # A number by one mask: torch makes a masked_fill of it, which needs no size.
        mask = masks[0]
        before = next(at for at, i in enumerate(indices) if i is not None)
        after = target.dim() - before - mask.dim()
        mask = mask.reshape((1,) * before + tuple(mask.shape) + (1,) * after)
        fill = _aten.masked_fill_.Scalar if in_place else _aten.masked_fill.Scalar
        return filled(run, fill, (target, mask), value)
    indices = _by_places(run, func._schema.name, indices)
    if not on_device(value):
        value = to_device(run, value)
    return run.run(func, (target, indices, value, *args[3:]), kwargs)


def _masked_select(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    source, mask = torch.broadcast_tensors(*map(torch.atleast_1d, args[:2]))
    columns = _by_places(run, func._schema.name, [mask])
    return run.run(_aten.index.Tensor, (source, columns), {})


# Of elements whose values are not known: how many appear once.
_SHARE = 0.5


def _sized(
    guess: Callable[[Tensor, Sequence[Any], Mapping[str, Any]], Any],
) -> Handler:
    """Return the handler of an operator that gives tensors of a size that depends on
    values: as they are known, else of the shapes and types that ``guess`` says."""

    def handle(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
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


DATA_DEPENDENT: Mapping[str, Handler] = {
    "aten::nonzero": _nonzero,
    "aten::index": _index,
    "aten::index_put": _index_put,
    "aten::index_put_": _index_put,
    "aten::_index_put_impl_": _index_put,
    "aten::masked_select": _masked_select,
    "aten::_unique": _sized(lambda s, a, k: list(_unique_shapes(s, a, k))[:2]),
    "aten::_unique2": _sized(_unique_shapes),
    "aten::unique_consecutive": _sized(_unique_shapes),
    "aten::unique_dim": _sized(_unique_dim_shapes),
    "aten::unique_dim_consecutive": _sized(_unique_dim_shapes),
    "aten::repeat_interleave": _sized(_repeat_shapes),
    "aten::bincount": _sized(_bincount_shapes),
}
