# SPDX-License-Identifier: BSD-3-Clause
"""dispatch.py: the mode that sees each operator, and runs it without a device.

A tensor lies on the device if it is "meta"; tensors of the host are real. Operators on
device tensors run on meta, which works out shapes, and where values are small also on
their shadows (values.py). What torch does with CUDA tensors at the border is done here:
copies, reading back, sizes that depend on values. Loads torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap_dryrun.device.composites import is_composite, kernel_of
from torchtraceap_dryrun.device.copies import COPIES
from torchtraceap_dryrun.device.devices import DEVICE, is_gpu, on_device
from torchtraceap_dryrun.device.following import Follower
from torchtraceap_dryrun.device.host_guesses import run_on_host
from torchtraceap_dryrun.device.host_numbers import HOST_NUMBERS
from torchtraceap_dryrun.device.lazy_modules import with_shape
from torchtraceap_dryrun.device.masks import MASKS
from torchtraceap_dryrun.device.memory import memory_of
from torchtraceap_dryrun.device.nested import map_tensors, tensors_in
from torchtraceap_dryrun.device.other_modes import OtherModes
from torchtraceap_dryrun.device.reading_back import READ_BACK
from torchtraceap_dryrun.device.refused_tensors import refuse_mixed, refuse_nested
from torchtraceap_dryrun.device.shape_cache import ShapeCache
from torchtraceap_dryrun.device.shapes import run_on_meta
from torchtraceap_dryrun.device.signatures import written_by
from torchtraceap_dryrun.device.sized_results import SIZED
from torchtraceap_dryrun.device.users_meta import UsersMeta
from torchtraceap_dryrun.device.values import Values
from torchtraceap_dryrun.record import Copy
from torchtraceap_dryrun.recorder import Recorder
from torchtraceap_dryrun.without_modes import without_function_modes

Handler = Callable[["Dispatch", Any, Sequence[Any], dict[str, Any]], Any]
#: Operators that are more than a shape and values.
HANDLERS: Mapping[str, Handler] = {
    **COPIES,
    **READ_BACK,
    **MASKS,
    **SIZED,
    **HOST_NUMBERS,
}


class Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Runs and records what is on the device."""

    supports_higher_order_operators = True

    def __init__(self, recorder: Recorder, values: Values) -> None:
        super().__init__()
        self.recorder = recorder
        self.values = values
        self.paused = False  # True: leaves everything as it is
        #: The mode that sees functions.
        self.functions: TorchFunctionMode | None = None
        self.other_modes = OtherModes()
        self.users_meta = UsersMeta()
        self._shapes = ShapeCache()
        self._follower = Follower(self.values, self.recorder.note)

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # torch.compile is bypassed, so nothing of it is here to be ignored.
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if self.paused:
            return func(*args, **kwargs)
        if schema is None:
            return self._higher_order(func, args, kwargs)
        # Function modes, which are on while backward runs, would otherwise answer the
        # questions that are asked here, and the kernels' own.
        with without_function_modes():
            tensors = list(tensors_in(itertools.chain(args, kwargs.values())))
            if self.users_meta.takes(func, tensors, kwargs):
                return func(*args, **kwargs)
            here = any(map(on_device, tensors)) or is_gpu(kwargs.get("device"))
            if not here:
                # Before the first guess that is read there is nothing to look for.
                given = tensors if self.values.guessed_on_host else ()
                return run_on_host(func, args, kwargs, given)
            if any(map(is_lazy, tensors)):
                args, kwargs = map_tensors((tuple(args), kwargs), with_shape)
            refuse_nested(schema.name, types)
            if is_composite(func):
                with self:
                    return func.decompose(*args, **kwargs)
            if is_gpu(kwargs.get("device")):
                kwargs = {**kwargs, "device": DEVICE}
            handler = HANDLERS.get(schema.name)
            if handler is None:
                refuse_mixed(schema.name, tensors)
                handler = Dispatch.run
            with self.other_modes.hidden():
                return handler(self, func, args, kwargs)

    def _higher_order(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that takes functions by those that it is made of: else its
        results would come from nowhere."""
        kernel = kernel_of(func)
        if kernel is None:
            return func(*args, **kwargs)
        # It is in no mode here, and is Python: it asks tensors for their device.
        with self.functions or nullcontext(), self:
            return kernel(*args, **kwargs)

    def run(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operator on the device's tensors, follow its values, record it and
        what the table says of it; return what it returns."""
        name = func._schema.name
        out = self._shapes_of(func, args, kwargs)
        outs = [t for t in tensors_in([out]) if on_device(t)]
        written = [
            t for t in tensors_in(written_by(func, args, kwargs)) if on_device(t)
        ]
        fresh = [t for t in outs if memory_of(t) is None]
        for tensor in itertools.chain(outs, written):
            self.recorder.live.allocate(tensor)
        self._follower.follow(func, args, kwargs, out, fresh, written)
        is_view = (
            bool(outs)
            and not fresh
            and (not written or torch.Tag.inplace_view in func.tags)
        )
        self.recorder.op(
            name,
            func._overloadname,
            args,
            kwargs,
            outs,
            is_view=is_view,
        )
        row = BY_OPERATOR.get(name)
        if row is not None and row.applies((args, kwargs)):
            self.recorder.sync(name, "table" if row.hidden else "seen")
        return out

    def _shapes_of(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if self.other_modes.there:  # They see each operator.
            with self.other_modes.shown():
                return run_on_meta(func, args, kwargs)
        key = self._shapes.key(func, args, kwargs)
        if key is None:
            return run_on_meta(func, args, kwargs)
        known, out = self._shapes.find(key, args)
        if not known:
            out = run_on_meta(func, args, kwargs)
            self._shapes.keep(key, func, args, out)
        return out

    def new(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Return a tensor on the device whose memory is counted."""
        tensor = torch.empty(tuple(shape), dtype=dtype, device=DEVICE)
        self.recorder.live.allocate(tensor)
        return tensor

    def emit(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        outs: Sequence[Tensor],
        copy: Copy | None = None,
    ) -> None:
        """Record an operator that a handler stands in for."""
        for tensor in outs:
            if on_device(tensor):
                self.recorder.live.allocate(tensor)
        name = func._schema.name
        self.recorder.op(name, func._overloadname, args, kwargs, outs, copy)
