# SPDX-License-Identifier: BSD-3-Clause
"""timeline_scopes.py: threads of a simulated timeline, and what is around operators.

Steps, modules and the optimizer are annotations of the main thread; what autograd does
for an operator is one around its own, on the thread of the backward pass.
"""

from __future__ import annotations

from torchtraceap import _core
from torchtraceap.dryrun.record import Op, Phase, Record
from torchtraceap.dryrun.timeline.phases import node_name
from torchtraceap.dryrun.timeline.row_args import lines_args, members
from torchtraceap.safe_text import writable


class Scopes:
    """Opens and closes what surrounds the entries of a record, one after the other."""

    def __init__(self, program: _core.Program, record: Record) -> None:
        self._program = program
        self._record = record
        self._main = program.add_thread(1, "python")
        self._backward: int | None = None  # Made when there is one.
        self._phase: Phase | None = None
        self._step: int | None = None
        self._in_step = False
        self._spans: list[str] = []  # That are open, the outermost first.
        self._node: int | None = None  # The forward operator of the one that is open.

    @property
    def thread(self) -> int:
        """The thread that runs the phase."""
        if self._phase == "backward" and self._backward is not None:
            return self._backward
        return self._main

    def enter(self, step: int, phase: Phase) -> None:
        """Begin a step and a phase, where they are others than before."""
        if step != self._step:
            self.end()
            self._step = step
            # What came after the last step that ended has none around it.
            self._in_step = step < self._record.steps
            if self._in_step:
                self._program.open_span(self._main, f"ProfilerStep#{step}")
        self._enter_phase(phase)

    def end(self) -> None:
        """Close all that is open."""
        self._enter_phase(None)
        if self._in_step:
            self._program.close(self._main)
        self._in_step = False

    def around(self, op: Op) -> None:
        """Open what an operator of the phase is inside of."""
        name = writable(op.module)
        if self._phase == "backward":
            self._enter_node(op.forward)
        elif self._phase == "optimizer":
            # As torch names it, if the record has the optimizer's class.
            step = f"Optimizer.step#{name}.step" if name else "Optimizer.step"
            self._enter_spans([step])
        else:
            parts = name.split(".") if name else []
            self._enter_spans([".".join(parts[: n + 1]) for n in range(len(parts))])

    def _enter_phase(self, phase: Phase | None) -> None:
        if phase == self._phase:
            return
        program, main = self._program, self._main
        self._enter_spans([])
        if self._phase == "backward":
            self._enter_node(None)
            self._hand_over(self.thread, main)
        self._phase = phase
        if phase == "backward":
            if self._backward is None:
                self._backward = program.add_thread(2, "pt_autograd_0")
            self._hand_over(main, self._backward)

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
            self._program.close(self._main)
        for name in wanted[same:]:
            self._program.open_span(self._main, name)
        self._spans = wanted

    def _enter_node(self, forward: int | None) -> None:
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
