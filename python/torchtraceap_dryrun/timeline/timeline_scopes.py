# SPDX-License-Identifier: BSD-3-Clause
"""timeline_scopes.py: what is around the operators of a simulated timeline.

Steps, modules and the optimizer are annotations of the main thread; what autograd does
for an operator is one around its own, on the thread of the backward pass.
"""

from __future__ import annotations

from torchtraceap import _core
from torchtraceap.base.safe_text import writable
from torchtraceap_dryrun.record import Call, Op, Phase, Record
from torchtraceap_dryrun.timeline.phases import node_name
from torchtraceap_dryrun.timeline.row_args import lines_args, members

_MAIN_TID, _BACKWARD_TID = 1, 2


class Backward:
    """The thread of the backward pass.

    Args:
        program: What is written.
        record: What of.
        tid: The thread's number in the trace.
    """

    def __init__(self, program: _core.Program, record: Record, tid: int) -> None:
        self._program, self._record, self._tid = program, record, tid
        self._thread: int | None = None  # Made when there is one.
        self._node: int | None = None  # The forward operator of the one that is open.

    @property
    def thread(self) -> int:
        """Its place among the threads of the program."""
        if self._thread is None:
            self._thread = self._program.add_thread(self._tid, "pt_autograd_0")
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
    phases of each, and what these are made of.

    Args:
        program: What is written.
        record: What of.
    """

    def __init__(self, program: _core.Program, record: Record) -> None:
        self._program, self._record = program, record
        self._host = program.add_thread(_MAIN_TID, "python")
        self._backward = Backward(program, record, _BACKWARD_TID)
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
