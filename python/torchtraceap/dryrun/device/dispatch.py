# SPDX-License-Identifier: BSD-3-Clause
"""dispatch.py: the mode that sees each operator, and runs it without a device.

A tensor lies on the device if it is "meta"; tensors of the host are real. Operators on
device tensors run on meta, which works out shapes, and where values are small also on
their shadows (values.py). What torch does with CUDA tensors at the border is done here:
copies, reading back, sizes that depend on values. Loads torch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from torchtraceap.dryrun.device import guesses
from torchtraceap.dryrun.device.attention_values import ATTENTION, attention_values
from torchtraceap.dryrun.device.devices import DEVICE, is_gpu, on_device
from torchtraceap.dryrun.device.rnn_values import RECURRENT, rnn_values
from torchtraceap.dryrun.device.shape_cache import ShapeCache
from torchtraceap.dryrun.device.shapes import run_on_meta
from torchtraceap.dryrun.device.values import Values, memory_of
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.record import Copy
from torchtraceap.dryrun.recorder import Recorder
from torchtraceap.dryrun.waits.sync_ops import BY_OPERATOR

_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
_NoFunctionModes = private("torch._C.DisableTorchFunction")
# Operators that do not read what they write.
_OVERWRITES = {
    "aten::zero_",
    "aten::fill_",
    "aten::copy_",
    "aten::normal_",
    "aten::uniform_",
    "aten::random_",
    "aten::bernoulli_",
    "aten::exponential_",
}
# They take tensors of the host beside those of the device, as CUDA's do.
_MIXED = {
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_pack_padded_sequence",
    "aten::_pad_packed_sequence",
    "aten::_cudnn_rnn",
    "aten::_cudnn_rnn_backward",
    "aten::_local_scalar_dense",
    "aten::set_",
}

_FUSED = ATTENTION | RECURRENT


@dataclass(frozen=True)
class Signature:
    """Which arguments an operator writes to, by its schema."""

    written: tuple[int, ...]
    written_names: tuple[str, ...]


@cache
def _signature(func: Any) -> Signature:
    places, names = [], []
    for at, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            names.append(argument.name)
            if not argument.kwarg_only:
                places.append(at)
    return Signature(tuple(places), tuple(names))


@cache
def _is_composite(func: Any) -> bool:
    """Tell whether an operator is only made of others, as arrive in inference_mode."""
    has_kernel = private("torch._C._dispatch_has_kernel_for_dispatch_key")
    name = func.name()
    return has_kernel(name, _COMPOSITE) and not has_kernel(name, "Meta")


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among arguments, also in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def map_tensors(values: Any, change: Callable[[Tensor], Any]) -> Any:
    """Return arguments with their tensors changed."""
    if isinstance(values, Tensor):
        return change(values)
    if isinstance(values, list | tuple):
        return type(values)(map_tensors(value, change) for value in values)
    if isinstance(values, dict):
        return {key: map_tensors(value, change) for key, value in values.items()}
    return values


Handler = Callable[["Dispatch", Any, Sequence[Any], dict[str, Any]], Any]


class Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Runs and records what is on the device."""

    supports_higher_order_operators = True

    def __init__(self, recorder: Recorder, values: Values) -> None:
        super().__init__()
        self.recorder = recorder
        self.values = values
        self.paused = False  # True: leaves everything as it is
        self._shapes = ShapeCache()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        # torch.compile is bypassed, so nothing of it is here to be ignored.
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema is None or self.paused:  # None: a higher-order operator
            return func(*args, **kwargs)
        # Function modes, which are on while backward runs, would otherwise answer the
        # questions that are asked here, and the kernels' own.
        with _NoFunctionModes():
            tensors = list(tensors_in(itertools.chain(args, kwargs.values())))
            here = any(map(on_device, tensors)) or is_gpu(kwargs.get("device"))
            if not here:
                return func(*args, **kwargs)
            if _COMPOSITE in func.py_kernels or _is_composite(func):
                with self:
                    return func.decompose(*args, **kwargs)
            if is_gpu(kwargs.get("device")):
                kwargs = {**kwargs, "device": DEVICE}
            handler = handlers().get(schema.name)
            if handler is not None:
                return handler(self, func, args, kwargs)
            self._refuse_mixed(schema.name, tensors)
            return self.run(func, args, kwargs)

    def run(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operator on the device's tensors, follow its values, record it and
        what the table says of it; return what it returns."""
        name = func._schema.name
        out = self._shapes_of(func, args, kwargs)
        outs = [t for t in tensors_in([out]) if on_device(t)]
        written = self._written(func, args, kwargs)
        fresh = [t for t in outs if memory_of(t) is None]
        for tensor in itertools.chain(outs, written, tensors_in(args)):
            if on_device(tensor):
                self.recorder.allocate(tensor)
        self._follow(func, args, kwargs, out, fresh, written)
        is_view = not fresh and (not written or torch.Tag.inplace_view in func.tags)
        self.recorder.op(name, func._overloadname, args, kwargs, outs, is_view=is_view)
        row = BY_OPERATOR.get(name)
        if row is not None and row.applies((args, kwargs)):
            self.recorder.sync(name, "table" if row.hidden else "seen")
        return out

    def _shapes_of(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
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
        self.recorder.allocate(tensor)
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
        for tensor in itertools.chain(outs, tensors_in(args)):
            if on_device(tensor):
                self.recorder.allocate(tensor)
        name = func._schema.name
        self.recorder.op(name, func._overloadname, args, kwargs, outs, copy)

    def _written(
        self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> list[Tensor]:
        signature = _signature(func)
        if not signature.written_names:
            return []
        values = [args[at] for at in signature.written if at < len(args)]
        values += [kwargs[n] for n in signature.written_names if n in kwargs]
        return [t for t in tensors_in(values) if on_device(t)]

    # --- Values ----------------------------------------------------------------------

    def _follow(
        self,
        func: Any,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        out: Any,
        fresh: list[Tensor],
        written: list[Tensor],
    ) -> None:
        """Work out, or guess, what the operator wrote."""
        values = self.values
        wanted = [t for t in fresh if values.wants(t)]
        wanted_in_place = [t for t in written if values.wants(t)]
        if not wanted and not wanted_in_place:
            for tensor in written:
                values.doubt(tensor)
            return
        name = func._schema.name
        blind = name in _OVERWRITES or "out" in kwargs
        for tensor in wanted_in_place:
            if values.shadow(tensor) is None and (blind or not fresh):
                values.guess(tensor)
        results = None
        if name not in guesses.CHECKS or values.known(args[0]):
            results = self._on_shadows(func, args, kwargs, out)
        if results is None:
            for tensor in wanted:
                hint = guesses.hint(name, args, tensor, values.generator)
                values.guess(tensor, hint)
            for tensor in written:
                values.doubt(tensor)
            return
        ids = {id(t) for t in written} if blind else set()
        inputs = tensors_in(itertools.chain(args, kwargs.values()))
        # Fused kernels are tagged as random for their dropout; with it they have no
        # results here.
        random = torch.Tag.nondeterministic_seeded in func.tags and name not in _FUSED
        known = not random and all(
            values.known(t)
            for t in inputs
            if on_device(t) and t.numel() and id(t) not in ids
        )
        if fresh:
            made = tensors_in([out])
            for tensor, value in zip(made, tensors_in([results]), strict=True):
                if not on_device(tensor) or not any(tensor is one for one in wanted):
                    continue
                if tensor.shape == value.shape:
                    values.put(tensor, value, known)
                else:  # What the CPU leaves out: statistics of a batch_norm in eval.
                    values.guess(tensor)
        for tensor in written:
            memory = memory_of(tensor)
            if memory is not None and memory.shadow is not None:
                whole = tensor.numel() * tensor.itemsize == memory.nbytes
                memory.known = known and (memory.known or (blind and whole))

    def _on_shadows(
        self, func: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any
    ) -> Any:
        """Return what an operator gives on the CPU; None if that cannot be said."""
        missing = False

        def shadow(tensor: Tensor) -> Tensor:
            nonlocal missing
            if not on_device(tensor):
                return tensor
            found = self.values.shadow(tensor)
            missing = missing or found is None
            return tensor if found is None else found

        host_args = map_tensors(tuple(args), shadow)
        host_kwargs = map_tensors(kwargs, shadow)
        if missing:
            return None
        if "device" in host_kwargs:
            host_kwargs["device"] = torch.device("cpu")
        try:
            call = func, host_args, host_kwargs
            result = attention_values(*call, out)
            if result is None:
                result = rnn_values(*call, out)
            if result is None:
                result = self.values.run(*call)
        except Exception:
            # No kernel for the CPU, or a guess that made no sense.
            return None
        return () if result is None else result

    def _refuse_mixed(self, name: str, tensors: list[Tensor]) -> None:
        if name in _MIXED:
            return
        hosts = [t for t in tensors if t.device.type == "cpu" and t.dim() > 0]
        if hosts and len(hosts) < len(tensors):
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two "
                f"devices, cuda:0 and cpu! ({name}, in a dry run as on a GPU)"
            )


@cache
def handlers() -> dict[str, Handler]:
    """Return the operators that are more than a shape and values."""
    from torchtraceap.dryrun.device.copies import COPIES
    from torchtraceap.dryrun.device.data_dependent import DATA_DEPENDENT
    from torchtraceap.dryrun.device.host_numbers import HOST_NUMBERS

    return {**COPIES, **DATA_DEPENDENT, **HOST_NUMBERS}
