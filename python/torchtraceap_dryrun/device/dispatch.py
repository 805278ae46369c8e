# SPDX-License-Identifier: BSD-3-Clause
"""dispatch.py: the mode that sees each operator, and runs it without a device.

A tensor lies on the device if it is "meta"; tensors of the host are real. Operators on
device tensors run on meta, which works out shapes, and where values are small also on
their shadows (values.py). What torch does with CUDA tensors at the border is done here:
copies, reading back, sizes that depend on values. Loads torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

from torch import Tensor
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap_dryrun.device.arguments import map_tensors, tensors_in
from torchtraceap_dryrun.device.copies import COPIES
from torchtraceap_dryrun.device.data_dependent import DATA_DEPENDENT
from torchtraceap_dryrun.device.guesses import run_on_host
from torchtraceap_dryrun.device.modes import without_function_modes
from torchtraceap_dryrun.device.refused_tensors import refuse_mixed, refuse_nested
from torchtraceap_dryrun.device.run import Handler, Run
from torchtraceap_dryrun.device.tensors import DEVICE, is_gpu, on_device
from torchtraceap_dryrun.private_names import private

_Key = private("torch._C.DispatchKey")
_IMPLICIT, _EXPLICIT = _Key.CompositeImplicitAutograd, _Key.CompositeExplicitAutograd

#: Operators that are more than a shape and values.
HANDLERS: Mapping[str, Handler] = {**COPIES, **DATA_DEPENDENT}


class Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Runs and records what is on the device."""

    supports_higher_order_operators = True

    def __init__(self, run: Run, functions: TorchFunctionMode) -> None:
        super().__init__()
        self.run = run
        self._functions = functions

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # torch.compile is bypassed, so nothing of it is here to be ignored.
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if self.run.paused:
            return func(*args, **kwargs)
        if schema is None:
            return self._higher_order(func, args, kwargs)
        # Function modes, which are on while backward runs, would otherwise answer the
        # questions that are asked here, and the kernels' own.
        with without_function_modes():
            tensors = list(tensors_in(itertools.chain(args, kwargs.values())))
            if self.run.users_meta.takes(func, tensors, kwargs):
                return func(*args, **kwargs)
            here = any(map(on_device, tensors)) or is_gpu(kwargs.get("device"))
            if not here:
                # Before the first guess that is read there is nothing to look for.
                given = tensors if self.run.values.guessed_on_host else ()
                return run_on_host(func, args, kwargs, given)
            if any(map(is_lazy, tensors)):
                args, kwargs = map_tensors((tuple(args), kwargs), _with_shape)
            refuse_nested(schema.name, types)
            if is_composite(func):
                with self:
                    return func.decompose(*args, **kwargs)
            if is_gpu(kwargs.get("device")):
                kwargs = {**kwargs, "device": DEVICE}
            handler = HANDLERS.get(schema.name)
            if handler is None:
                refuse_mixed(schema.name, tensors)
                handler = Run.run
            with self.run.other_modes.hidden():
                return handler(self.run, func, args, kwargs)

    def _higher_order(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that takes functions, as flex_attention, by those that it is
        made of: else its results would come from nowhere."""
        kernel = func.py_kernels.get(_EXPLICIT)
        if kernel is None:
            return func(*args, **kwargs)
        # It is in no mode here, and is Python: it asks tensors for their device.
        with self._functions, self:
            return kernel(*args, **kwargs)


def is_composite(func: Any) -> bool:
    """Tell whether an operator is only made of others, as arrive in inference_mode."""
    return _IMPLICIT in func.py_kernels or _is_built_so(func)


@cache
def _is_built_so(func: Any) -> bool:
    has_kernel = private("torch._C._dispatch_has_kernel_for_dispatch_key")
    name = func.name()
    return has_kernel(name, _IMPLICIT) and not has_kernel(name, "Meta")


def _with_shape(tensor: Tensor) -> Tensor:
    """Return a tensor whose shape may be asked for, as that of a lazy one may not."""
    return tensor.as_subclass(Tensor) if is_lazy(tensor) else tensor
