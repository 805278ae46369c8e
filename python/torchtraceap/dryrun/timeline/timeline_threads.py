# SPDX-License-Identifier: BSD-3-Clause
"""timeline_threads.py: the host's threads on a simulated timeline.

Each that a run followed is one, so that the others go on where it waits. One waits for
another where the record knows what came first, and begins nothing in a step before that
step. What else orders threads, as a queue that is full does, is not known.
"""

from __future__ import annotations

from torchtraceap import _core
from torchtraceap.dryrun.record import Call, Op, Phase, Record
from torchtraceap.dryrun.timeline.timeline_scopes import Backward, Scopes
from torchtraceap.safe_text import writable

# Their numbers in the trace: the other threads of the host are this one and on.
_MAIN_TID, _BACKWARD_TID, _OTHERS_TID = 1, 2, 3


class Threads:
    """Puts the entries of a record onto threads, one after the other; the first has
    annotations of the steps."""

    def __init__(self, program: _core.Program, record: Record) -> None:
        self._program, self._record = program, record
        self._backward = Backward(program, record, _BACKWARD_TID)
        self._main = program.add_thread(_MAIN_TID, "python")
        main = Scopes(program, self._main, self._backward)
        self._scopes = {0: main}  # By number of the record.
        self._step: int | None = None
        self._in_step = False
        #: Of the step: what the main thread gives as it begins, and who waited for it.
        self._begun: int | None = None
        self._waited: set[int] = set()
        #: What is waited for: its signal, once it was written.
        self._signals = dict.fromkeys((n for e in record.entries for n in e.after), -1)

    def enter(self, entry: Op | Call, phase: Phase) -> Scopes:
        """Begin the step and the phase of an entry, where they are others than before,
        and wait for what it comes after; return what is around it."""
        if entry.step != self._step:
            self._begin_step(entry.step)
        number = entry.thread
        if number not in self._scopes:
            host = self._program.add_thread(
                _OTHERS_TID + number - 1, writable(self._record.threads[number])
            )
            self._scopes[number] = Scopes(self._program, host, self._backward)
        scopes = self._scopes[number]
        scopes.enter(phase)
        if number and self._begun is not None and number not in self._waited:
            self._waited.add(number)
            self._program.wait(scopes.thread, self._begun)
        for before in entry.after:
            self._program.wait(scopes.thread, self._signals[before])
        return scopes

    def leave(self, at: int, scopes: Scopes) -> None:
        """Be told that the entry at a place was written: others may wait for it."""
        if at in self._signals:
            self._signals[at] = self._program.add_signal()
            self._program.signal(scopes.thread, self._signals[at])

    def end(self) -> None:
        """Close all that is open."""
        for scopes in self._scopes.values():
            scopes.enter(None)
        self._end_step()

    def _end_step(self) -> None:
        self._scopes[0].enter(None)
        if self._in_step:
            self._program.close(self._main)
        self._in_step = False

    def _begin_step(self, step: int) -> None:
        self._end_step()
        self._step = step
        # What came after the last step that ended has none around it.
        self._in_step = step < self._record.steps
        if self._in_step:
            self._program.open_span(self._main, f"ProfilerStep#{step}")
        self._waited.clear()
        if len(self._record.threads) > 1:
            self._begun = self._program.add_signal()
            self._program.signal(self._main, self._begun)
