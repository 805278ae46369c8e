# SPDX-License-Identifier: BSD-3-Clause
"""data_dependent.py: operators whose result, or its size, depends on values.

A GPU must be waited for before the host can go on, and meta tensors cannot tell. Where
the values are known the result is exact; else a size is guessed, once for each mask.
Loads torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.copies import moved
from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.device.values import memory_of
from torchtraceap.dryrun.record import Copy, Value
from torchtraceap.dryrun.waits.sync_ops import BY_LIST

if TYPE_CHECKING:
    from torchtraceap.dryrun.device.dispatch import Dispatch, Handler

# Of elements of a tensor whose values are not known: how many are true, not zero, or
# appear once.
_SHARE = 0.5

_aten = torch.ops.aten


def read_back(run: Dispatch, api: str, value: Value, nbytes: int = 8) -> None:
    """Record that the host read what was just worked out: a copy, and a wait."""
    op = run.recorder.record.entries[-1]
    op.copy = Copy("d2h", nbytes, pinned=False, blocking=True)  # type: ignore[union-attr]
    run.recorder.sync(api, "seen", value)


def _how_known(run: Dispatch, *tensors: Tensor) -> Value:
    here = [t for t in tensors if on_device(t)]
    return "known" if all(map(run.values.known, here)) else "guessed"


def _item(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    tensor: Tensor = args[0]
    values, known = run.values.read(tensor)
    run.emit(func, args, {}, [])
    read_back(run, func._schema.name, "known" if known else "guessed", tensor.itemsize)
    return values.item()


def _truth(default: bool) -> Handler:
    """Return the handler of an operator that gives a Python bool of two tensors."""

    def handle(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> bool:
        shadows = [run.values.shadow(t) if on_device(t) else t for t in args[:2]]
        answer = default
        if all(s is not None for s in shadows):
            answer = bool(func(*shadows, *args[2:], **kwargs))
        elif func._schema.name == "aten::equal" and args[0].shape != args[1].shape:
            answer = False
        run.emit(func, args, kwargs, [])
        read_back(run, func._schema.name, _how_known(run, *args[:2]), 1)
        return answer

    return handle


def count(run: Dispatch, mask: Tensor) -> int:
    """Return how many elements of a tensor are not zero: so many as its values say, or
    a guess that stays the same as long as the tensor does."""
    if not on_device(mask):
        return int(mask.count_nonzero())
    values = run.values.shadow(mask)
    if values is not None:
        return int(values.count_nonzero())
    run.recorder.allocate(mask)
    memory = memory_of(mask)
    assert memory is not None
    key = mask.storage_offset(), mask.shape, mask.stride()
    return memory.counts.setdefault(key, round(mask.numel() * _SHARE))


def _places(run: Dispatch, mask: Tensor) -> Tensor:
    """Return the result of nonzero on the device, and record that; no wait."""
    n = count(run, mask)
    out = run.new((n, mask.dim()), torch.int64)
    values = run.values.shadow(mask)
    if values is not None:
        run.values.put(out, values.nonzero(), run.values.known(mask))
    elif out.numel():
        sizes = torch.tensor(mask.shape, dtype=torch.int64)
        drawn = torch.rand((n, mask.dim()), generator=run.values.generator)
        run.values.guess(out, (drawn * sizes).to(torch.int64))
    run.emit(_aten.nonzero.default, (mask,), {}, [out])
    return out


def _nonzero(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    out = _places(run, args[0])
    read_back(run, func._schema.name, _how_known(run, args[0]))
    return out


def _is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)


def _by_places(run: Dispatch, api: str, indices: Sequence[Any]) -> list[Tensor | None]:
    """Return indices with their masks replaced by places, each of which is waited for;
    indices of the host are copied."""
    out: list[Tensor | None] = []
    for index in indices:
        if not isinstance(index, Tensor):
            out.append(index)
        elif _is_mask(index) and on_device(index):
            places = _places(run, index)
            read_back(run, api, _how_known(run, index))
            out += [_column(run, places, at) for at in range(index.dim())]
        elif not on_device(index) and index.dim():
            if _is_mask(index):
                # Its places take the way by pinned memory, which nobody waits for.
                places = moved(run, index.nonzero(), waits=False)
                out += [_column(run, places, at) for at in range(index.dim())]
            else:
                out.append(moved(run, index, BY_LIST))
        else:
            out.append(index)
    return out


def _column(run: Dispatch, places: Tensor, at: int) -> Tensor:
    # A view that CUDA makes as well; it launches nothing.
    column: Tensor = run.run(_aten.select.int, (places, 1, at), {})
    return column


def _index(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    indices = _by_places(run, func._schema.name, args[1])
    return run.run(func, (args[0], indices, *args[2:]), kwargs)


def _index_put(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
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
        return run.run(fill, (target, mask, value.item()), {})
    indices = _by_places(run, func._schema.name, indices)
    if not on_device(value):
        value = moved(run, value)
    return run.run(func, (target, indices, value, *args[3:]), kwargs)


def _masked_select(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    source, mask = torch.broadcast_tensors(*map(torch.atleast_1d, args[:2]))
    (columns) = _by_places(run, func._schema.name, [mask])
    return run.run(_aten.index.Tensor, (source, columns), {})


def _sized(
    guess: Callable[[Tensor, Sequence[Any], Mapping[str, Any]], Any],
) -> Handler:
    """Return the handler of an operator that gives tensors of a size that depends on
    values: as they are known, else of the shapes and types that ``guess`` says."""

    def handle(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
        source: Tensor = args[0]
        values = run.values.shadow(source) if on_device(source) else source
        others = [run.values.shadow(a) if _here(a) else a for a in args[1:]]
        hosted = {k: run.values.shadow(v) if _here(v) else v for k, v in kwargs.items()}
        exact = values is not None
        exact &= not any(
            _here(a) and o is None for a, o in zip(args[1:], others, strict=True)
        )
        exact &= not any(_here(v) and hosted[k] is None for k, v in kwargs.items())
        if exact:
            made = func(values, *others, **hosted)
            results = [made] if isinstance(made, Tensor) else list(made)
            outs = [run.new(r.shape, r.dtype) for r in results]
            for out, result in zip(outs, results, strict=True):
                run.values.put(out, result, run.values.known(source))
        else:
            outs = [
                run.new(shape, dtype) for shape, dtype in guess(source, args, kwargs)
            ]
        run.emit(func, args, kwargs, outs)
        if kwargs.get("output_size") is None:
            read_back(run, func._schema.name, "known" if exact else "guessed")
        return outs[0] if len(func._schema.returns) == 1 else tuple(outs)

    return handle


def _here(value: Any) -> bool:
    return isinstance(value, Tensor) and on_device(value)


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
    "aten::_local_scalar_dense": _item,
    "aten::equal": _truth(False),
    "aten::allclose": _truth(True),
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
