# SPDX-License-Identifier: BSD-3-Clause
"""trace_ops.py: the operators of a recorded trace as a dry run would record them.

A dry run sees the outermost operator around a launch that the dispatcher does not
decompose. Its arguments are rebuilt from the profiler's recording
(Input Dims, Input type, Input Strides, Concrete Inputs), its results by running it on
meta tensors. Kineto's traces of 2021 and 2022 hold no numbers; see `_assumed`.
"""

from __future__ import annotations

import ast
import bisect
import copy
import dataclasses
import functools
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from torchtraceap_dryrun.estimate.gpus import GPUS, Gpu
from torchtraceap_dryrun.record import Copy, Op, TensorInfo

_GIVEN = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
TYPES = {
    "float": torch.float32, "double": torch.float64, "c10::BFloat16": torch.bfloat16,
    "c10::Half": torch.float16, "long int": torch.int64, "long": torch.int64,
    "int": torch.int32, "short int": torch.int16, "bool": torch.bool,
    "unsigned char": torch.uint8, "signed char": torch.int8,
}  # fmt: skip
# The numbers of c10::ScalarType.
SCALAR_TYPES = (
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
    torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
    torch.bool, None, None, None, torch.bfloat16,
)  # fmt: skip
MEMORY_FORMATS = (
    torch.contiguous_format,
    torch.preserve_format,
    torch.channels_last,
    torch.channels_last_3d,
)


def _overloads(name: str) -> list[Any]:
    space, _, base = name.partition("::")
    if space != "aten":
        return []
    packet = getattr(torch.ops.aten, base, None)
    names = packet.overloads() if packet else []
    return [getattr(packet, o) for o in names if "out" not in o]


def _is_taken_apart(f: Any) -> bool:
    try:
        return bool(f.has_kernel_for_dispatch_key("CompositeImplicitAutograd"))
    except RuntimeError:  # One of TorchScript alone, which has no kernels at all.
        return True


@functools.cache
def is_seen(name: str) -> bool:
    """Return whether a dry run sees an operator: the dispatcher does not part it."""
    if name in _OLD:
        return True
    return any(not _is_taken_apart(f) for f in _overloads(name))


def rebuilt(thread: list[dict[str, Any]], place: int) -> Op | None:
    """Return the operator at a place of a thread; None if too little is recorded."""
    event = thread[place]
    if "Input Dims" not in event["args"]:
        return None
    if event["name"] in _OLD and "Concrete Inputs" not in event["args"]:
        return _OLD[event["name"]](thread, place)
    given = {key: event["args"].get(key) for key in _GIVEN}
    return copy.copy(_from_text(event["name"], json.dumps(given)))


@functools.cache
def _from_text(name: str, text: str) -> Op | None:
    """Return an operator by what the profiler wrote of it; many are alike."""
    given = {key: value for key, value in json.loads(text).items() if value is not None}
    for f in _overloads(name):
        try:
            values = list(_arguments(f, given))
            fixed = sum(not a.kwarg_only for a in f._schema.arguments)
            named = {
                a.name: value
                for a, value in zip(f._schema.arguments, values, strict=True)
                if a.kwarg_only
            }
            outputs = _outputs(f, values[:fixed], named, "Concrete Inputs" in given)
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError,
                KeyError):  # fmt: skip
            continue
        overload = f._schema.overload_name
        return _op(f._schema.name, values[:fixed], outputs, overload, named)
    return None


def _op(
    name: str, args: list[Any], outputs: Any, overload: str = "",
    named: dict[str, Any] | None = None,
) -> Op:  # fmt: skip
    flat = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    infos = tuple(_info(t) for t in flat if isinstance(t, torch.Tensor))
    kwargs = {name: _info(value) for name, value in (named or {}).items()}
    return Op(name, overload, _info(args), kwargs, infos, 0, "forward", None, "")


def _info(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return TensorInfo(tuple(value.shape), kind, value.stride(), "cuda")
    return tuple(map(_info, value)) if isinstance(value, (list, tuple)) else value


def _tensor(dims: list[int], kind: str, strides: list[int] | None) -> torch.Tensor:
    dtype = TYPES[kind]
    if strides is None or len(strides) != len(dims):
        return torch.empty(dims, dtype=dtype, device="meta")
    return torch.empty_strided(dims, strides, dtype=dtype, device="meta")


def _arguments(f: Any, args: dict[str, Any]) -> Iterator[Any]:
    """Give the arguments of an overload, or raise if these are not of it."""
    wanted = f._schema.arguments
    dims, kinds = args["Input Dims"], args["Input type"]
    strides = args.get("Input Strides") or [None] * len(dims)
    values = args.get("Concrete Inputs")
    if len(wanted) != len(dims):
        raise ValueError("another overload")
    for i, a in enumerate(wanted):
        kind, text = kinds[i], values[i] if values else None
        is_tensor = "Tensor" in str(a.type)
        if is_tensor and kind == "TensorList":
            yield [_tensor(d, _list_type(kinds), s)
                   for d, s in zip(dims[i], strides[i] or [None] * len(dims[i]),
                                   strict=True)]  # fmt: skip
        elif is_tensor and kind in TYPES:
            yield _tensor(dims[i], kind, strides[i])
        elif is_tensor:
            if "Optional" not in str(a.type) or kind not in ("", "None", "GenericList"):
                raise ValueError("another overload")
            yield None
        elif kind in TYPES and dims[i]:
            raise ValueError("another overload")
        elif text not in (None, ""):
            yield _number(text, a)
        elif a.has_default_value():
            yield a.default_value
        elif "Optional" in str(a.type) and a.name != "dim":
            yield None
        elif str(a.type) in ("number", "float", "int", "Scalar"):
            yield 1
        elif str(a.type) == "bool":
            yield False
        else:
            yield _assumed(f._schema.name, a.name, dims)


def _list_type(kinds: list[str]) -> str:
    # A list of tensors has no types of its own in any trace; the model's will do.
    return next((kind for kind in kinds if kind in TYPES), "c10::BFloat16")


def _number(text: str, a: Any) -> Any:
    if a.name == "dtype":
        return SCALAR_TYPES[int(text)]
    if a.name == "memory_format":
        return MEMORY_FORMATS[int(text)]
    if a.name in ("layout", "device"):
        return None
    return ast.literal_eval(text)


def _assumed(name: str, what: str, dims: list[list[int]]) -> Any:
    """Return a number that a trace of 2021 or 2022 does not hold.

    Sizes that decide nothing of the work, or that follow from the shapes.
    """
    if what == "normalized_shape":
        return [dims[0][-1]]
    if what == "dim" and name == "aten::mean":
        return [-1, -2]
    if what == "dim":
        return [0]
    if what == "output_mask":
        return [True, True, True]
    raise ValueError(f"{what} of {name} is not in the trace")


def _outputs(f: Any, args: list[Any], named: dict[str, Any], numbers: bool) -> Any:
    name = f._schema.name
    if not numbers and "nll_loss" in name:
        return args[0] if "backward" in name else torch.empty((), device="meta")
    if f._schema.arguments[0].alias_info is not None and name.endswith("_"):
        return args[0]
    if name == "aten::index":
        raise ValueError("the index is not in the trace")
    return f(*args, **named)


def _conv_result(thread: list[dict[str, Any]], place: int) -> torch.Tensor:
    """Return the result by what the next operator takes; strides are not recorded."""
    x, w = thread[place]["args"]["Input Dims"][:2]
    for later in thread[place + 1 : place + 40]:
        first = (later["args"].get("Input Dims") or [[]])[0]
        if "conv" not in later["name"] and first[:2] == [x[0], w[0]]:
            return torch.empty(first, device="meta")
    raise ValueError("no operator after the convolution takes its result")


def _stride(x: list[int], y: list[int]) -> list[int]:
    return [max(1, round(a / b)) for a, b in zip(x[2:], y[2:], strict=True)]


def _old_convolution(thread: list[dict[str, Any]], place: int) -> Op | None:
    """aten::convolution without numbers: the strides by the sizes of the images."""
    dims = thread[place]["args"]["Input Dims"]
    y = _conv_result(thread, place)
    x, w = (torch.empty(d, device="meta") for d in dims[:2])
    args = [x, w, None, _stride(dims[0], list(y.shape)), [0, 0], [1, 1], False]
    return _op("aten::convolution", args, y)


def _old_backward(thread: list[dict[str, Any]], place: int) -> Op | None:
    """cudnn_convolution_backward(x, grad, weight, ...) as convolution_backward."""
    dims = thread[place]["args"]["Input Dims"]
    x, y, w = (torch.empty(d, device="meta") for d in dims[:3])
    first = x.shape[1] == 3  # An image needs no gradient.
    args = [y, x, w, None, _stride(dims[0], dims[1]), [0, 0], [1, 1], False, [0, 0], 1,
            [not first, True, False]]  # fmt: skip
    return _op("aten::convolution_backward", args, (x, w))


_OLD = {
    "aten::convolution": _old_convolution,
    "aten::cudnn_convolution_backward": _old_backward,
}


_DEEPEST = 60  # Operators before a launch among which those around it are.
# By a part of the device's name.
DEVICES = {
    "H100 80GB": GPUS["H100 SXM"],
    "V100": GPUS["V100"],
    "A100-PG509": GPUS["A100 40GB"],
}


@dataclasses.dataclass
class Traced:
    """An operator of a trace, and what it ran on the device."""

    op: Op
    kernels: list[dict[str, Any]]  #: Kernels and copies, without memsets.

    @property
    def us(self) -> float:
        """What they took, in µs."""
        return float(sum(k["dur"] for k in self.kernels))


@dataclasses.dataclass
class TracedProgram:
    """A trace."""

    gpu: Gpu
    operators: list[Traced]
    #: Kernels and copies whose launch is in the trace, each with the names of the
    #: operators around it as "owners".
    launched: list[dict[str, Any]]

    @property
    def unknown(self) -> int:
        """How many kernels are of operators that could not be rebuilt."""
        known = sum(is_kernel(e) for traced in self.operators for e in traced.kernels)
        return sum(map(is_kernel, self.launched)) - known

    @property
    def uses_tf32(self) -> bool:
        """Whether products of float32 ran on tensor cores, by their kernels' names."""
        return any("s1688" in e["name"] for e in self.launched)


def is_kernel(event: dict[str, Any]) -> bool:
    """Return whether an event of the device is a kernel."""
    return str(event["cat"]).lower() == "kernel"


def read(path: Path) -> TracedProgram:
    """Read the operators of a trace that ran anything on the device."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    events = [e for e in data["traceEvents"] if e.get("ph") == "X"]
    device = data["deviceProperties"][0]["name"]
    gpu = next(g for part, g in DEVICES.items() if part in device)
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for e in events:
        by_kind[str(e.get("cat")).lower()].append(e)
    calls = {
        e["args"].get("correlation"): e
        for kind in ("cuda_runtime", "cuda_driver", "runtime")
        for e in by_kind[kind]
    }
    threads: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for e in by_kind["cpu_op"] + by_kind["operator"]:
        threads[str(e["tid"])].append(e)
    for found in threads.values():
        found.sort(key=lambda e: (e["ts"], -e["dur"]))
    parts: dict[int, list[dict[str, Any]]] = defaultdict(list)
    owners: dict[int, tuple[list[dict[str, Any]], int]] = {}
    launched = []
    work = [e for kind in ("kernel", "gpu_memcpy", "memcpy") for e in by_kind[kind]]
    for e in sorted(work, key=lambda e: e["ts"]):
        call = calls.get(e["args"].get("correlation"))
        if call is None:  # Launched before the trace.
            continue
        launched.append(e)
        thread = threads.get(str(call["tid"]), [])
        around = _around(thread, call["ts"])
        e["owners"] = [thread[i]["name"] for i in around]
        place = next((i for i in reversed(around) if is_seen(thread[i]["name"])), None)
        if place is not None:
            owners[id(thread[place])] = thread, place
            parts[id(thread[place])].append(e)
    operators = []
    for key, (thread, place) in owners.items():
        op = rebuilt(thread, place)
        if op is not None:
            op.copy = _border(parts[key])
            operators.append(Traced(op, parts[key]))
    return TracedProgram(gpu, operators, launched)


def _border(kernels: list[dict[str, Any]]) -> Copy | None:
    """Return the copy over the device's border that is among what an operator ran."""
    for e in kernels:
        for mark, direction in (("HtoD", "h2d"), ("DtoH", "d2h")):
            if mark in e["name"]:
                size = int(e["args"].get("bytes", 0))
                return Copy(direction, size, "Pinned" in e["name"], True)
    return None


def _around(thread: list[dict[str, Any]], moment: float) -> list[int]:
    """Return the places of the operators around a moment, innermost first."""
    place = bisect.bisect_right(thread, moment, key=lambda e: e["ts"]) - 1
    return [
        i
        for i in range(place, max(place - _DEEPEST, -1), -1)
        if thread[i]["ts"] + thread[i]["dur"] >= moment
    ]
