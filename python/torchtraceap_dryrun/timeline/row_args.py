# SPDX-License-Identifier: BSD-3-Clause
"""row_args.py: what Kineto writes beside an operator, as the text of JSON members."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.record import Op, TensorInfo

# As C++ names the types, which is what "Input type" holds.
_TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def members(values: Mapping[str, Any]) -> str:
    """Return the members of a JSON object, without its braces."""
    return json.dumps(values)[1:-1]


def operator_args(op: Op, more: Mapping[str, Any] | None = None) -> str:
    """Return shapes, types, plain values, module and lines of an operator.

    Inputs that were given by name are left out, for their place is not known.
    """
    values: dict[str, Any] = {
        "Input Dims": [_dims(value) for value in op.args],
        "Input Strides": [_strides(value) for value in op.args],
        "Input type": [_type(value) for value in op.args],
        "Concrete Inputs": [_plain(value) for value in op.args],
    }
    if op.module:
        values["Module Hierarchy"] = op.module
    return members(values | lines_args(_lines(op)) | dict(more or {}))


def lines_args(lines: Iterable[Line]) -> dict[str, str]:
    """Return the stack, innermost first, so that the line of an event is exact. A file
    whose name would break the list is left out."""
    frames = [f"{at.file}({at.line}): {at.function}" for at in lines]
    stack = ";".join(f for f in frames if not (";" in f or "\n" in f))
    return {"Call stack": stack} if stack else {}


def _lines(op: Op) -> Sequence[Line]:
    if op.line is None or op.line in op.stack[:1]:
        return op.stack
    return op.line, *op.stack  # The forward operator's, then who called backward().


def _is_list(value: Any) -> bool:
    return isinstance(value, tuple) and any(isinstance(x, TensorInfo) for x in value)


def _dims(value: Any) -> list[Any]:
    if isinstance(value, TensorInfo):
        return list(value.shape)
    return [_dims(one) for one in value] if _is_list(value) else []


def _strides(value: Any) -> list[Any]:
    if isinstance(value, TensorInfo):
        return list(value.stride)
    return [_strides(one) for one in value] if _is_list(value) else []


def _type(value: Any) -> str:
    if isinstance(value, TensorInfo):
        return _TYPES.get(value.dtype, f"c10::{value.dtype.capitalize()}")
    if _is_list(value):
        return "TensorList"
    if isinstance(value, tuple):
        return "ScalarList"
    return "Scalar" if isinstance(value, int | float | complex) else ""


def _plain(value: Any) -> str:
    if isinstance(value, tuple) and not _is_list(value):
        return f"[{', '.join(map(str, value))}]"
    return str(value) if isinstance(value, int | float | complex) else ""
