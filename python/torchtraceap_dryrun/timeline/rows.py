# SPDX-License-Identifier: BSD-3-Clause
"""rows.py: what is written of operators, and around them, in a simulated timeline.

Steps, modules and the optimizer are annotations of the main thread; autograd's work for
an operator is an annotation around its own operators, on the thread of the backward
pass. Each operator has the args that Kineto writes, as the text of JSON members.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torchtraceap import _core
from torchtraceap.base.safe_text import writable
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.record import Call, Op, Phase, Record, TensorInfo

_MAIN_TID, _BACKWARD_TID = 1, 2

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


def phases_of(record: Record) -> Iterator[Phase]:
    """Give the phase of each entry.

    A call has none of its own: it gets that of its wait, else that of the operators
    before and after it, if they agree, else "forward".
    """
    entries = record.entries
    of_waits = {sync.entry: sync.phase for sync in record.syncs}
    behind: list[Phase | None] = []
    follows: Phase | None = None
    for entry in reversed(entries):
        if isinstance(entry, Op):
            follows = entry.phase
        behind.append(follows)
    before: Phase | None = None
    for at, entry in enumerate(entries):
        follows = behind[-1 - at]
        if isinstance(entry, Op):
            before = entry.phase
            yield entry.phase
        elif at in of_waits:
            yield of_waits[at]
        elif follows is not None and before == follows:
            yield follows
        else:
            yield "forward"


def node_name(op: Op) -> str:
    """Name what autograd does for a forward operator, as its engine does.

    torch numbers the nodes of one operator's overloads; which has which number is not
    known, so there is none.
    """
    words = op.name.rpartition("::")[2].strip("_").split("_")
    node = "".join(word[:1].upper() + word[1:] for word in words)
    return f"autograd::engine::evaluate_function: {node}Backward"


class Backward:
    """The thread of the backward pass."""

    def __init__(self, program: _core.Program, record: Record) -> None:
        self._program, self._record = program, record
        self._thread: int | None = None  # Made when there is one.
        self._node: int | None = None  # The forward operator of the one that is open.

    @property
    def thread(self) -> int:
        """Its place among the threads of the program."""
        if self._thread is None:
            self._thread = self._program.add_thread(_BACKWARD_TID, "pt_autograd_0")
        return self._thread

    def enter_node(self, forward: int | None) -> None:
        """Open what autograd does for a forward operator; None: only close."""
        if forward == self._node:
            return
        if self._node is not None:
            self._program.close(self.thread)
        self._node = forward
        if forward is not None:
            made = self._record.entries[forward]
            assert isinstance(made, Op)
            values = {"Sequence number": forward, "Fwd thread id": 1}
            args = members(values | lines_args([made.line] if made.line else []))
            self._program.open(self.thread, node_name(made), args)


class Scopes:
    """The main thread, and what is around the entries of a record: its steps, the
    phases of each, and what these are made of."""

    def __init__(self, program: _core.Program, record: Record) -> None:
        self._program, self._record = program, record
        self._host = program.add_thread(_MAIN_TID, "python")
        self._backward = Backward(program, record)
        self._step: int | None = None
        self._in_step = False
        self._phase: Phase | None = None
        self._spans: list[str] = []  # That are open, the outermost first.

    @property
    def thread(self) -> int:
        """The thread that runs the phase."""
        return self._backward.thread if self._phase == "backward" else self._host

    def enter(self, entry: Op | Call, phase: Phase) -> None:
        """Begin the step and the phase of an entry, where they are others than before,
        and open what it is inside of."""
        if entry.step != self._step:
            self._enter_step(entry.step)
        self._enter_phase(phase)
        if isinstance(entry, Op):
            self._enter_parts(entry)

    def end(self) -> None:
        """Close all that is open."""
        self._enter_phase(None)
        if self._in_step:
            self._program.close(self._host)

    def _enter_step(self, step: int) -> None:
        self.end()
        self._step = step
        # What came after the last step that ended has none around it.
        self._in_step = step < self._record.steps
        if self._in_step:
            self._program.open_span(self._host, f"ProfilerStep#{step}")

    def _enter_phase(self, phase: Phase | None) -> None:
        if phase == self._phase:
            return
        self._enter_spans([])
        if self._phase == "backward":
            self._backward.enter_node(None)
            self._hand_over(self._backward.thread, self._host)
        self._phase = phase
        if phase == "backward":
            self._hand_over(self._host, self._backward.thread)

    def _enter_parts(self, op: Op) -> None:
        name = writable(op.module)
        if self._phase == "backward":
            self._backward.enter_node(op.forward)
        elif self._phase == "optimizer":
            # As torch names it, if the record has the optimizer's class.
            step = f"Optimizer.step#{name}.step" if name else "Optimizer.step"
            self._enter_spans([step])
        else:
            parts = name.split(".") if name else []
            self._enter_spans([".".join(parts[: n + 1]) for n in range(len(parts))])

    def _hand_over(self, giver: int, taker: int) -> None:
        """Let one thread go on when another has come so far."""
        signal = self._program.add_signal()
        self._program.signal(giver, signal)
        self._program.wait(taker, signal)

    def _enter_spans(self, wanted: list[str]) -> None:
        """Close and open annotations until these are open, each in the one before."""
        same = 0
        while self._spans[same : same + 1] == wanted[same : same + 1] != []:
            same += 1
        for _ in self._spans[same:]:
            self._program.close(self._host)
        for name in wanted[same:]:
            self._program.open_span(self._host, name)
        self._spans = wanted
