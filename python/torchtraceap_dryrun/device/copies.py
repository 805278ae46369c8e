# SPDX-License-Identifier: BSD-3-Clause
"""copies.py: what crosses the border between host and device, and who waits for it.

As PyTorch's Copy.cu has it: a copy waits for its stream unless it is non_blocking; one
to pageable memory of the host returns when it is done in any case (CUDA's "API
synchronization behavior"); one from pageable memory is staged. Operators that give
Python a value copy it back. Most take a 0-dim tensor of the host as a number; some copy
it to the device, or read one of the device back. Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchtraceap.waits.table import TO_DEVICE, TO_HOST
from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.device.refused_tensors import no_sparse
from torchtraceap_dryrun.device.run import Handler, Run
from torchtraceap_dryrun.device.tensors import DEVICE, is_pinned, mark_pinned, on_device
from torchtraceap_dryrun.record import Copy, Value


def read_back(run: Run, api: str, value: Value, nbytes: int = 8) -> None:
    """Record that the host read what was just worked out: a copy, and a wait."""
    op = run.recorder.record.entries[-1]
    op.copy = Copy("d2h", nbytes, pinned=False, blocking=True)  # type: ignore[union-attr]
    run.recorder.sync(api, "seen", value)


def how_known(run: Run, *arguments: Any) -> Value:
    """Tell whether the values of arguments are known."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    return "known" if all(map(run.values.known, tensors)) else "guessed"


def _item(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    tensor: Tensor = args[0]
    values, known = run.values.read(tensor)
    run.emit(func, args, {}, [])
    read_back(run, func._schema.name, "known" if known else "guessed", tensor.itemsize)
    return values.item()


def _truth(default: bool) -> Handler:
    """Return the handler of an operator that gives a Python bool of two tensors."""

    def handle(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> bool:
        if func._schema.name == "aten::equal" and _same(*args[:2]):
            return True  # as CUDA's, which looks at no value then
        shadows = [run.values.shadow(t) if on_device(t) else t for t in args[:2]]
        answer = default
        if all(s is not None for s in shadows):
            answer = bool(func(*shadows, *args[2:], **kwargs))
        elif func._schema.name == "aten::equal" and args[0].shape != args[1].shape:
            answer = False
        run.emit(func, args, kwargs, [])
        read_back(run, func._schema.name, how_known(run, *args[:2]), 1)
        return answer

    return handle


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(
        one.untyped_storage()._cdata == other.untyped_storage()._cdata
        and one.storage_offset() == other.storage_offset()
        and one.stride() == other.stride()
        and one.shape == other.shape
        and one.dtype == other.dtype
    )


def _to_copy(run: Run, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    source: Tensor = args[0]
    target = kwargs.get("device")
    to_device = target is None or target.type == "meta"
    if on_device(source) and to_device:
        return run.run(func, args, kwargs)
    if source.layout != torch.strided:
        raise no_sparse()
    kwargs = {k: v for k, v in kwargs.items() if k not in ("pin_memory", "device")}
    waits = not kwargs.pop("non_blocking", False)
    if to_device:
        with run.other_modes.shown():
            out = func(source, **kwargs, device=DEVICE)
        copy_to_device(run, func, out, source, waits, TO_DEVICE)
        return out
    values, known = run.values.read(source)
    out = func(values, **kwargs)
    if not waits:
        mark_pinned(out)  # torch takes pinned memory for it by itself
    _note_to_host(run, func, (source,), out, waits, known)
    return out


def copy_to_device(
    run: Run, func: Any, out: Tensor, source: Tensor, waits: bool, api: str
) -> None:
    """Record that ``source``, of the host, was copied to ``out``, and if that waits, by
    which API; follow its values."""
    # The host converts if it waits anyway, else the device does.
    sent = out if waits else source
    size = sent.numel() * sent.itemsize
    pinned = is_pinned(source)
    run.emit(func, (source,), {}, [out], Copy("h2d", size, pinned, waits))
    run.values.put(out, source.detach().expand(out.shape), run.values.known(source))
    if waits and size:
        run.recorder.sync(api, "seen")


def to_device(
    run: Run, tensor: Tensor, api: str = TO_DEVICE, waits: bool = True
) -> Tensor:
    """Return a tensor of the host on the device, where torch copies it itself: from
    pageable memory if it waits, else from pinned."""
    with without_function_modes():
        out = run.new(tensor.shape, tensor.dtype)
        if not waits:
            mark_pinned(tensor)
        copy_to_device(run, torch.ops.aten._to_copy.default, out, tensor, waits, api)
        return out


def _note_to_host(
    run: Run,
    func: Any,
    args: Sequence[Any],
    out: Tensor,
    waits: bool,
    known: bool,
) -> None:
    run.values.on_host(out, known)
    pinned = is_pinned(out)
    # As above: what waits is converted on the host, when it has come.
    size = out.numel() * (args[-1] if waits else out).itemsize
    waits = waits or not pinned
    run.emit(func, args, {}, [out], Copy("d2h", size, pinned, waits))
    if waits and size:
        run.recorder.sync(TO_HOST, "seen", "known" if known else "guessed")


def _copy(run: Run, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    target, source = args[0], args[1]
    waits = not (args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
    if on_device(target) and on_device(source):
        return run.run(func, args, kwargs)
    if on_device(target):
        torch.broadcast_shapes(target.shape, source.shape)
        run.recorder.live.allocate(target)
        copy_to_device(run, func, target, source, waits, TO_DEVICE)
        return target
    values, known = run.values.read(source)
    target.copy_(values)
    _note_to_host(run, func, (target, source), target, waits, known)
    return target


def _where(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Values of the host are copied first, as where_self_out has it."""

    def moved(arg: Any) -> Any:
        is_number = isinstance(arg, Tensor) and arg.dim() == 0 and not on_device(arg)
        return to_device(run, arg) if is_number else arg

    return run.run(func, list(map(moved, args)), kwargs)


def _fill(run: Run, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """A value of the host is a number; the table says that one of the device waits."""
    *rest, value = args
    if not isinstance(value, Tensor) or on_device(value):
        return run.run(func, args, kwargs)
    packet = getattr(torch.ops.aten, func._schema.name.removeprefix("aten::"))
    scalar = func._overloadname.replace("Tensor", "Scalar")
    return filled(run, getattr(packet, scalar), rest, value)


def filled(run: Run, func: Any, args: Sequence[Any], value: Tensor) -> Any:
    """Run an operator that takes a value of the host as a number."""
    out = run.run(func, (*args, value.item()), {})
    if not run.values.known(value):
        run.values.doubt(out)
    return out


COPIES: Mapping[str, Handler] = {
    "aten::_to_copy": _to_copy,
    "aten::copy_": _copy,
    "aten::_local_scalar_dense": _item,
    "aten::equal": _truth(False),
    "aten::allclose": _truth(True),
    "aten::where": _where,
    "aten::masked_fill": _fill,
    "aten::masked_fill_": _fill,
    "aten::index_fill": _fill,
    "aten::index_fill_": _fill,
}
