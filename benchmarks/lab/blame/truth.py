# SPDX-License-Identifier: BSD-3-Clause
"""truth.py: what each fix gains, by simulating the program with it.

A gain is the difference of two simulated lengths. The saving of a fix in a stretch of
time follows from when the same work of the stream that computes starts and ends in
both: copies and collectives beside it may well be later, and cost nothing.

For launches that is the program with CUDA graphs: what lies between two things that no
graph can hold (waits, batches, memory from the driver, the other thread, other streams'
events, Python for itself) is launched at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.lab.blame.cases import COMMUNICATION, LAUNCHES, Sample
from benchmarks.lab.blame.communication import hidden
from benchmarks.lab.blame.instructions import (
    Call,
    Close,
    Host,
    Instruction,
    Mark,
    Open,
    Program,
    Work,
)
from benchmarks.lab.blame.scheduling import Schedule, schedule
from benchmarks.lab.blame.script import COMPUTE
from benchmarks.lab.blame.writing import program_of

_LEAST = 5  # Launches that a graph is worth.
_REPLAY_US = 25.0  # `graph.replay()` with what Python does around it.
_NODE_US = 0.02
_LOADS_US = 1000.0  # A launch of so much loads its kernel, graph or not.
_CLOSER = 0.7  # Gaps between kernels of a graph, of those between launches.


def captured(program: Program) -> Program:
    """Return the program with graphs for launches."""
    threads = {tid: _captured(code, program) for tid, code in program.threads.items()}
    return replace(program, threads=threads)


def _captured(code: list[Instruction], program: Program) -> list[Instruction]:
    out: list[Instruction] = []
    run: list[Instruction] = []
    marks = 0
    for it in code:
        if isinstance(it, Mark):
            marks += 1 if it.opens else -1
        scope = isinstance(it, Open | Close)
        free = isinstance(it, Host) or (
            isinstance(it, Call)
            and it.us < _LOADS_US
            and it.waits is None
            and not it.records
            and not it.gates
        )
        if scope or (free and not marks):
            run.append(it)
            continue
        out += _graph(run, program)
        run = []
        out.append(it)
    return out + _graph(run, program)


def _graph(run: list[Instruction], program: Program) -> list[Instruction]:
    works = [work for it in run if isinstance(it, Call) for work in it.works]
    if len(works) < _LEAST:
        return run
    rng = random.Random(str(works[0].key))
    us = (_REPLAY_US + _NODE_US * len(works)) * rng.lognormvariate(0, 0.1)
    inner = tuple(_node(work, us) for work in works)
    scopes = [it for it in run if isinstance(it, Open | Close)]
    return [Call("cudaGraphLaunch", us, inner), *scopes]


def _node(work: Work, us: float) -> Work:
    return replace(work, latency=us + work.latency, gap=work.gap * _CLOSER)


@dataclass
class Fix:
    """A program without a fault, beside that with it."""

    gain: float
    before: np.ndarray  #: Moments of the same work, in order, with the fault
    after: np.ndarray  #: and without it.

    def saved(self, begin: float, end: float) -> float:
        """Return the time that the fix saves between two moments."""
        here = np.interp([begin, end], self.before, self.after)
        return float((end - begin) - (here[1] - here[0]))


@dataclass
class Truth:
    """A program as it ran, and what its fixes gain."""

    program: Program
    ran: Schedule
    fixes: dict[str, Fix]  #: Also of launching and of communication, fault or not.
    together: float  #: Gain of all faults' fixes at once.


def truth_of(it: Sample) -> Truth:
    """Simulate a program with its faults, without each, and without all."""
    scripted = {fault: s for fault, s in it.faults.items() if fault != LAUNCHES}
    program = program_of(it.case, scripted)
    ran = schedule(program)
    fixes = {LAUNCHES: _fix(ran, schedule(captured(program)))}
    if it.case.family.distributed:
        # As if it were all hidden; if exposed on purpose, as its fix hides it.
        fixes[COMMUNICATION] = _fix(ran, schedule(hidden(program)))
    for fault in scripted:
        fixes[fault] = _fix(
            ran, schedule(program_of(it.case, _without(scripted, fault)))
        )
    left = scripted
    for fault in scripted:
        left = _without(left, fault)
    best = program_of(it.case, left)
    if LAUNCHES in it.faults:
        best = captured(best)
    return Truth(program, ran, fixes, ran.span - schedule(best).span)


def _without(faults: dict[str, float], fault: str) -> dict[str, float]:
    left = {name: strength for name, strength in faults.items() if name != fault}
    return left | {f"{fault}~": faults[fault]}


def _fix(ran: Schedule, fixed: Schedule) -> Fix:
    other = {w.key: times for w, *times in fixed.device if w.stream == COMPUTE}
    pairs = [(0.0, 0.0), (ran.span, fixed.span)]
    for work, begin, end in ran.device:
        there = other.get(work.key) if work.stream == COMPUTE else None
        if there:
            pairs += [(begin, there[0]), (end, there[1])]
    moments = np.array(sorted(pairs))
    after = np.maximum.accumulate(moments[:, 1])
    return Fix(ran.span - fixed.span, moments[:, 0], after)
