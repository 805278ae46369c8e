# SPDX-License-Identifier: BSD-3-Clause
"""pace.py: a schedule of cycles that keeps what they cost within a share of the run."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque

from torch.profiler import ProfilerAction

# Unprofiled steps that profiled ones are compared with.
_COMPARED = 100


class Pace:
    """Begins a cycle after `wait` steps at the earliest, and not before all that was
    spent on profiling, with what one more cycle may take, is at most `share` of the
    time that the steps would have taken without it.

    A cycle costs what its steps take longer than the median of those around them, with
    the report. The first one is always made: nobody knows its cost before.
    """

    def __init__(
        self, wait: int, warmup: int, active: int, repeat: int, share: float
    ) -> None:
        self._wait, self._warmup, self._active = wait, warmup, active
        self._most = repeat  # cycles; 0: as long as there are steps
        self._share = share
        self._begins = wait  # the step, at the earliest
        self._answer = (-1, ProfilerAction.NONE)  # to the last step asked about
        self._cycles = 0  # that were begun
        self._plain_s: deque[float] = deque(maxlen=_COMPARED)  # each unprofiled step
        self._elapsed_s = self._profiled_s = 0.0
        self._profiled_steps = 0
        self._told_s = time.perf_counter()

    def __call__(self, step: int) -> ProfilerAction:
        """Returns what is done in a step; they are asked about one after the other."""
        if step != self._answer[0]:
            self._answer = (step, self._next(step))
        return self._answer[1]

    def tell(self, is_profiled: bool) -> None:
        """Tells that a step is over, and whether profiling took a part in it."""
        now_s = time.perf_counter()
        took_s, self._told_s = now_s - self._told_s, now_s
        self._elapsed_s += took_s
        if is_profiled:
            self._profiled_s += took_s
            self._profiled_steps += 1
        else:
            self._plain_s.append(took_s)

    @property
    def overhead(self) -> float:
        """What profiling took, as a share of what the steps would have taken."""
        spent_s = self._spent_s()
        useful_s = self._elapsed_s - spent_s
        return spent_s / useful_s if useful_s > 0 else 0.0

    def _next(self, step: int) -> ProfilerAction:
        if step == self._begins:
            self._begins += self._put_off()
        at = step - self._begins
        if at < 0 or (self._most and self._cycles >= self._most and at == 0):
            return ProfilerAction.NONE
        if at == 0:
            self._cycles += 1
        if at < self._warmup:
            return ProfilerAction.WARMUP
        if at < self._warmup + self._active - 1:
            return ProfilerAction.RECORD
        self._begins = step + 1 + self._wait
        return ProfilerAction.RECORD_AND_SAVE

    def _put_off(self) -> int:
        """Returns how many steps too early it is for another cycle, at the least."""
        if not self._cycles:
            return 0
        spent_s = self._spent_s()
        needed_s = spent_s * (1 + 1 / self._cycles) / self._share
        missing_s = needed_s - (self._elapsed_s - spent_s)
        return max(0, math.ceil(missing_s / self._usual_s()))

    def _spent_s(self) -> float:
        if not self._plain_s:
            return 0.0  # nothing to compare with
        return max(0.0, self._profiled_s - self._profiled_steps * self._usual_s())

    def _usual_s(self) -> float:
        return max(statistics.median(self._plain_s), 1e-9)
