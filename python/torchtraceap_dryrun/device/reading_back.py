# SPDX-License-Identifier: BSD-3-Clause
"""reading_back.py: operators that give Python a value, for which the host waits.

Loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from torchtraceap_dryrun.device.devices import on_device
from torchtraceap_dryrun.record import Copy, Value

if TYPE_CHECKING:
    from torchtraceap_dryrun.device.dispatch import Dispatch, Handler


def read_back(run: Dispatch, api: str, value: Value, nbytes: int = 8) -> None:
    """Record that the host read what was just worked out: a copy, and a wait."""
    op = run.recorder.record.entries[-1]
    op.copy = Copy("d2h", nbytes, pinned=False, blocking=True)  # type: ignore[union-attr]
    run.recorder.sync(api, "seen", value)


def how_known(run: Dispatch, *arguments: Any) -> Value:
    """Tell whether the values of arguments are known."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    return "known" if all(map(run.values.known, tensors)) else "guessed"


def _item(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    tensor: Tensor = args[0]
    values, known = run.values.read(tensor)
    run.emit(func, args, {}, [])
    read_back(run, func._schema.name, "known" if known else "guessed", tensor.itemsize)
    return values.item()


def _truth(default: bool) -> Handler:
    """Return the handler of an operator that gives a Python bool of two tensors."""

    def handle(run: Dispatch, func: Any, args: Sequence[Any], kwargs: Any) -> bool:
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


READ_BACK: Mapping[str, Handler] = {
    "aten::_local_scalar_dense": _item,
    "aten::equal": _truth(False),
    "aten::allclose": _truth(True),
}
