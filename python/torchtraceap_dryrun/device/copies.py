# SPDX-License-Identifier: BSD-3-Clause
"""copies.py: what crosses the border between host and device, and who waits for it.

As PyTorch's Copy.cu has it: a copy waits for its stream unless it is non_blocking; one
to pageable memory of the host returns when it is done in any case (CUDA's "API
synchronization behavior"); one from pageable memory is staged. Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from torchtraceap.waits.table import TO_DEVICE, TO_HOST
from torchtraceap_dryrun.device.devices import DEVICE, on_device
from torchtraceap_dryrun.device.pinned import is_pinned, mark_pinned
from torchtraceap_dryrun.device.refused_tensors import no_sparse
from torchtraceap_dryrun.record import Copy

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.dispatch import Dispatch, Handler


def _to_copy(
    run: Dispatch, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
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
    run: Dispatch, func: Any, out: Tensor, source: Tensor, waits: bool, api: str
) -> None:
    """Record that ``source``, of the host, was copied to ``out``, and if that waits, by
    which API; follow its values."""
    # The host converts if it waits anyway, else the device does.
    size = (out if waits else source).numel() * (out if waits else source).itemsize
    pinned = is_pinned(source)
    run.emit(func, (source,), {}, [out], Copy("h2d", size, pinned, waits))
    run.values.put(out, source.detach().expand(out.shape), run.values.known(source))
    if waits and size:
        run.recorder.sync(api, "seen")


def moved(
    run: Dispatch, tensor: Tensor, api: str = TO_DEVICE, waits: bool = True
) -> Tensor:
    """Return a tensor of the host on the device, where an operator copies it itself:
    from pageable memory if it waits, else from pinned."""
    out = run.new(tensor.shape, tensor.dtype)
    if not waits:
        mark_pinned(tensor)
    copy_to_device(run, torch.ops.aten._to_copy.default, out, tensor, waits, api)
    return out


def _note_to_host(
    run: Dispatch,
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


def _copy(run: Dispatch, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
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


COPIES: Mapping[str, Handler] = {"aten::_to_copy": _to_copy, "aten::copy_": _copy}
