# SPDX-License-Identifier: BSD-3-Clause
"""scheduling.py: runs a program on a machine, event by event.

Threads go on in order of their clocks. As work starts in the order of its launches on
each stream, its times are known as soon as its call is made: after its stream's last
work, the events that its stream waits for, and the latency of the launch. A waiting
thread continues at the end of the awaited work. Shares no code with torchtraceap.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from benchmarks.lab.blame.instructions import (
    Await,
    Call,
    Host,
    Instruction,
    Program,
    Signal,
    Stream,
    Take,
    Work,
)

_AFTER_EVENT = 2.0  # us from an event to the work that a stream held back for it.
_AFTER_START = 1.0  # us from a start in a full queue to the return of the launch.


@dataclass
class Schedule:
    """When all of a program happened, in microseconds."""

    #: Of each thread, begin and end of each instruction, beside the program's.
    host: dict[int, list[tuple[float, float]]]
    device: list[tuple[Work, float, float]]

    @property
    def span(self) -> float:
        """The time from the first to the last moment."""
        ends = [times[-1][1] for times in self.host.values() if times]
        ends += [end for _, _, end in self.device]
        begins = [times[0][0] for times in self.host.values() if times]
        return max(ends) - min(begins)


@dataclass
class _Loader:
    """The workers make batches in turn, a fixed number ahead of the one taken."""

    program: Program
    ready: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)

    def ready_at(self, number: int) -> float:
        workers = self.program.workers
        ahead = workers.prefetch * workers.number
        while len(self.ready) <= number:
            i = len(self.ready)
            if i < ahead:
                asked = 0.0 if workers.behind else -1e9
            else:
                asked = self.taken[i - ahead]
            free = self.ready[i - workers.number] if i >= workers.number else asked
            begin = max(asked, free)
            if workers.behind and i < workers.number:
                # In mid-work when recording begins: each worker at its own point.
                begin -= workers.batch_us[i] * (1 - (i + 1) / workers.number)
            self.ready.append(begin + workers.batch_us[i])
        return self.ready[number]


class _Machine:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.queue = program.gpu.queue
        self.tail: dict[Stream, float] = defaultdict(float)
        self.gate: dict[Stream, float] = defaultdict(float)
        self.starts: dict[Stream, list[float]] = defaultdict(list)
        self.events: dict[str, float] = {}
        self.tokens: dict[str, float] = {}
        self.device: list[tuple[Work, float, float]] = []
        self.loader = _Loader(program)

    def step(self, it: Instruction, clock: float) -> float | None:
        """Return the clock after an instruction, or None if it has to wait."""
        if isinstance(it, Host):
            return clock + it.us
        if isinstance(it, Call):
            return self.call(it, clock)
        if isinstance(it, Signal):
            self.tokens[it.token] = clock
        elif isinstance(it, Await):
            told = self.tokens.get(it.token)
            return None if told is None else max(clock, told + it.us)
        elif isinstance(it, Take):
            ready = self.loader.ready_at(it.number)
            self.loader.taken.append(max(clock, ready))
            return max(clock, ready) + it.us
        return clock

    def call(self, it: Call, begin: float) -> float:
        end = begin + it.us
        own = 0.0
        for work in it.works:
            end = max(end, self._room(work.stream))
            own = self._run(work, begin)
        if it.records:
            self.events[it.records] = self.tail[it.on]
        if it.gates:
            self.gate[it.on] = max(self.gate[it.on], self.events[it.gates])
        if it.waits is not None:
            target = self._waited_for(it.waits, own)
            if target > begin:
                end = max(end, target + it.wakes)
        return end + it.after

    def _room(self, stream: Stream) -> float:
        """When a place in the launch queue of a stream is free."""
        starts = self.starts[stream]
        if not self.queue or len(starts) < self.queue:
            return 0.0
        return starts[-self.queue] + _AFTER_START

    def _run(self, work: Work, called: float) -> float:
        stream = work.stream
        start = called + work.latency
        if self.starts[stream]:
            start = max(start, self.tail[stream] + work.gap)
        if self.gate[stream]:
            start = max(start, self.gate.pop(stream) + _AFTER_EVENT)
        self.starts[stream].append(start)
        self.tail[stream] = start + work.us
        self.device.append((work, start, start + work.us))
        return start + work.us

    def _waited_for(self, waits: Any, own: float) -> float:
        if waits == "work":
            return own
        if waits[0] == "device":
            of = [end for s, end in self.tail.items() if s[0] == waits[1]]
            return max(of, default=0.0)
        if waits[0] == "event":
            return self.events[waits[1]]
        return self.tail[waits]


def schedule(program: Program) -> Schedule:
    """Run a program.

    Raises:
        RuntimeError: Its threads wait for each other for ever.
    """
    machine = _Machine(program)
    clocks = {tid: program.start_us.get(tid, 0.0) for tid in program.threads}
    at = dict.fromkeys(program.threads, 0)
    times: dict[int, list[tuple[float, float]]] = {tid: [] for tid in program.threads}
    stuck: set[int] = set()
    left = set(program.threads)
    while left:
        ready = sorted(left - stuck, key=lambda tid: (clocks[tid], tid))
        if not ready:
            raise RuntimeError("threads wait for each other")
        tid = ready[0]
        until = clocks[ready[1]] if len(ready) > 1 else float("inf")
        code, own = program.threads[tid], times[tid]
        while at[tid] < len(code) and clocks[tid] <= until:
            it = code[at[tid]]
            after = machine.step(it, clocks[tid])
            if after is None:
                stuck.add(tid)
                break
            own.append((clocks[tid], after))
            clocks[tid] = after
            at[tid] += 1
            if isinstance(it, Signal) and stuck:
                stuck.clear()
                break
        if at[tid] == len(code):
            left.discard(tid)
    return Schedule(times, machine.device)
