# SPDX-License-Identifier: BSD-3-Clause
"""truth.py: what each fix gains, by simulating the program with it.

A gain is the difference of two simulated lengths. What a fix saves in a stretch of time
follows from when the same work of the stream that computes starts and ends in both:
copies and collectives beside it may well be later, and cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.lab.blame.capturing import captured
from benchmarks.lab.blame.cases import COMMUNICATION, LAUNCHES, Sample
from benchmarks.lab.blame.communication import hidden
from benchmarks.lab.blame.instructions import Program
from benchmarks.lab.blame.scheduling import Schedule, schedule
from benchmarks.lab.blame.script import COMPUTE
from benchmarks.lab.blame.writing import program_of


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
