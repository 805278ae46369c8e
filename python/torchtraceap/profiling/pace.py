# SPDX-License-Identifier: BSD-3-Clause
"""pace.py: when cycles of a long run begin, so that they cost no more than they may."""

from __future__ import annotations

import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from torchtraceap.profiling.plan import Plan

# Steps without the profiler whose median is what a step takes, and how many of them
# come after the cycle that is compared with it.
_TIMED = 32
_AFTER = 16
# The next cycle is expected to cost what the dearest of the last ones did.
_EXPECTED_OF = 3
_KEPT = 100


@dataclass(frozen=True)
class CycleCost:
    """What one cycle cost, in seconds beyond what its steps take without it.

    Attributes:
        step: The number of its first step, which warms up.
        recording: The profiler's start, its steps being slower, and the first step
            after it, in which a rank waits for those that analyze longer.
        collecting: The profiler's stop. On a GPU it waits for work that is queued,
            which is counted too.
        analyzing: The analysis, files, callbacks and handlers.
    """

    step: int
    recording: float
    collecting: float
    analyzing: float

    @property
    def seconds(self) -> float:
        """The whole."""
        return self.recording + self.collecting + self.analyzing

    def __str__(self) -> str:
        return (
            f"{self.seconds:.3g} s (recording {self.recording:.3g}, collecting "
            f"{self.collecting:.3g}, analyzing {self.analyzing:.3g})"
        )


@dataclass(frozen=True)
class Overhead:
    """What the cycles of ``profile(every=...)`` have cost so far.

    Attributes:
        budget: The share of the run's time that they may cost.
        run_seconds: How long the run lasts, from the start of the profile.
        seconds: What all cycles cost of that.
        cycles: What each cost, of the last 100.
        every: How many steps lie between the beginnings of cycles now.
    """

    budget: float
    run_seconds: float
    seconds: float
    cycles: tuple[CycleCost, ...]
    every: int

    @property
    def share(self) -> float:
        """What part of the run's time all cycles cost."""
        return self.seconds / self.run_seconds if self.run_seconds else 0.0

    def __str__(self) -> str:
        text = (
            f"Profiling cost {_percent(self.share)} of {self.run_seconds:.3g} s "
            f"(budget {_percent(self.budget)}), with a cycle every {self.every:,} "
            "steps now."
        )
        if self.share > self.budget:
            text += (
                f" It takes a run of {self.seconds / self.budget:.3g} s to have cost "
                "no more than the budget."
            )
        return text


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


class Pace:
    """Tells with which steps cycles begin.

    Multiples of ``plan.every``, counted from ``plan.wait``, are where one may begin.
    While a cycle costs more than its share of so many steps, only every 2nd, 4th, 8th
    ... of them is: the ranks of a job decide by clocks of their own, without talking,
    and where one of them leaves out more, what it records is still among what the
    others do. And none begins that would, at the expected cost, bring the cost of all
    above the budget.

    `tell` is called with a sentence when the distance changes; `clock` gives seconds.
    """

    def __init__(
        self,
        plan: Plan,
        tell: Callable[[str], object],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.clock = clock
        self.begin = plan.wait  # the first step of this cycle, or of the next
        self._plan = plan
        self._tell = tell
        self._step = 0
        self._due = plan.wait  # the step before which there is nothing to decide
        self._every = plan.every
        self._plain: deque[float] = deque(maxlen=_TIMED)
        self._costs: deque[CycleCost] = deque(maxlen=_KEPT)
        self._spent = 0.0
        self._open: _Unsettled | None = None
        self._started = self._last = clock()
        self._stopped: float | None = None

    def passes(self) -> bool:
        """Notes that a step without the profiler is over; True if the next one begins
        a cycle. Then comes `is_over`, or `skip`."""
        self._step += 1
        now = self.clock()
        self._plain.append(now - self._last)
        self._last = now
        return self._step >= self._due and self._is_time(now)

    def skip(self) -> None:
        """Leaves out the cycle that could begin now."""
        self._due += self._every

    def is_over(self, steps: int, collecting: float, analyzing: float) -> None:
        """Notes that a cycle is over, after so many steps of it.

        The two parts that its end took are in seconds.
        """
        begun, self._last = self._last, self.clock()
        self._step += steps
        self._open = _Unsettled(
            self._step, steps, self._last - begun, collecting, analyzing
        )
        room = self._plan.every - self._plan.length
        self._due = self._step + min(_AFTER + 1, room)

    def stop(self) -> None:
        """The run is over."""
        self._stopped = self.clock()

    @property
    def overhead(self) -> Overhead:
        """What all cost so far; of a cycle just over, what can be told by now."""
        costs = list(self._costs)
        spent = self._spent
        if self._open is not None:
            costs.append(self._cost(self._open))
            spent += costs[-1].seconds
        end = self.clock() if self._stopped is None else self._stopped
        return Overhead(
            self._plan.overhead,
            end - self._started,
            spent,
            tuple(costs),
            self._every,
        )

    def _is_time(self, now: float) -> bool:
        if self._open is not None:
            self._settle(self._cost(self._open))
            if self._step < self._due:
                return False
        expected = self._expected()
        allowed = self._plan.overhead * (now - self._started + expected)
        if self._spent + expected > allowed:
            self.skip()
            return False
        self.begin = self._step
        return True

    def _settle(self, cost: CycleCost) -> None:
        self._open = None
        self._costs.append(cost)
        self._spent += cost.seconds
        before, self._every = self._every, self._distance()
        self._due = self._step + (self._plan.wait - self._step) % self._every
        if self._every != before:
            self._tell(
                f"Profiling a cycle cost {cost}, and may cost "
                f"{_percent(self._plan.overhead)} of the run's time: from now on there "
                f"is one every {self._every:,} steps, not {before:,}."
            )

    def _distance(self) -> int:
        """Returns how many steps pay for a cycle: `every` by a power of two."""
        expected, plain_s = self._expected(), self._plain_s()
        every = self._plan.every
        while expected > self._plan.overhead * (every * plain_s + expected):
            every *= 2
        return every

    def _expected(self) -> float:
        return max((c.seconds for c in list(self._costs)[-_EXPECTED_OF:]), default=0.0)

    def _plain_s(self) -> float:
        """Returns what a step takes; never 0, of which none would be enough."""
        return max(1e-9, statistics.median(self._plain)) if self._plain else 1e-9

    def _cost(self, over: _Unsettled) -> CycleCost:
        after = self._step - over.end
        steps, seconds = over.steps, over.seconds
        if 0 < after <= len(self._plain):
            steps, seconds = steps + 1, seconds + self._plain[-after]
        slower = seconds - steps * self._plain_s() - over.collecting - over.analyzing
        return CycleCost(
            over.end - over.steps, max(0.0, slower), over.collecting, over.analyzing
        )


@dataclass(frozen=True)
class _Unsettled:
    """A cycle whose cost is not known yet: steps after it tell what a step takes."""

    end: int  # the number of the first step after it
    steps: int
    seconds: float  # all of it
    collecting: float
    analyzing: float
