# SPDX-License-Identifier: BSD-3-Clause
"""plan.py: which steps are recorded, and what is said when too few came."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchtraceap.base.arguments import checked_int, of_type, wrong_number

_MOST = 2**31
# A schedule of a user's own is asked about this many steps.
_ASKED = 10_000
_LEAST_SHARE = 1e-6


STEP = "step()"  # What makes a step in a loop of the user's own.
NO_STEPS = (
    "step() was not called, so the whole block was analyzed, with what only a start "
    "does. Call prof.step() after each step to leave that out."
)


@dataclass(frozen=True)
class Plan:
    """Cycles of steps that pass unrecorded, warm up, and are recorded."""

    wait: int
    warmup: int
    active: int
    repeat: int  # 0: as long as there are steps
    own: Callable[[int], Any] | None = None  # instead of all that
    every: int = 0  # A cycle begins every so many steps; 0: as the last one is over.
    overhead: float = 1.0  # The share of the run's time that those may cost.

    def __post_init__(self) -> None:
        for name in ("wait", "warmup", "repeat"):
            checked_int(name, getattr(self, name), 0, _MOST)
        checked_int("active", self.active, 1, _MOST)
        if self.every:
            self._check_every()
        if self.own is None:
            return
        if not callable(self.own):
            raise TypeError(
                "schedule must be callable, as torch.profiler.schedule(...) returns it"
            )
        from torch.profiler import ProfilerAction

        if not isinstance(action := self.own(0), ProfilerAction):
            raise TypeError(
                "schedule must return a torch.profiler.ProfilerAction for each step, "
                f"but for step 0 it returns one {of_type(action)}"
            )

    def schedule(self) -> Callable[[int], Any]:
        """Returns a schedule for torch's profiler."""
        return self.own or self._made(self.wait, self.repeat)

    def cycle(self) -> Callable[[int], Any]:
        """Returns the schedule of one cycle alone, without what it waits for."""
        return self._made(0, 1)

    def _made(self, wait: int, repeat: int) -> Callable[[int], Any]:
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of warmup=0, which the user asked for
            made: Callable[[int], Any] = torch.profiler.schedule(
                wait=wait, warmup=self.warmup, active=self.active, repeat=repeat
            )
        return made

    def _check_every(self) -> None:
        if self.own is not None:
            raise ValueError(
                "schedule and every both say which steps are recorded: give one"
            )
        least = self.length + 2
        if self.every < least:
            raise ValueError(
                f"every must be at least {least}, two more than warmup and active, as "
                "a cycle is compared with steps between cycles, but is "
                f"{self.every}"
            )
        wrong = wrong_number(self.overhead, 1)
        if not wrong and self.overhead < _LEAST_SHARE:
            wrong = f"must be at least {_LEAST_SHARE:g}, but is {self.overhead:g}"
        if wrong:
            raise ValueError(f"overhead {wrong}: 0.01 is 1 % of the run's time")

    @property
    def length(self) -> int:
        """How many steps a cycle has."""
        return self.warmup + self.active

    @property
    def cycles(self) -> int:
        """How many cycles there are; 0: nobody knows."""
        return 0 if self.own else self.repeat

    def _needed(self) -> tuple[int, int] | None:
        """Returns how many steps the first recorded one and a whole cycle need.

        None if a schedule of the user's own does not record.
        """
        from torch.profiler import ProfilerAction

        schedule, first = self.schedule(), 0
        for step in range(
            _ASKED if self.own else self.wait + self.warmup + self.active
        ):
            action = schedule(step)
            if action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
                first = first or step + 1
            if action == ProfilerAction.RECORD_AND_SAVE:
                return first, step + 1
        return None

    def __str__(self) -> str:
        if self.own is not None:
            return "the schedule"
        return (
            f"the schedule (wait={self.wait}, warmup={self.warmup}, "
            f"active={self.active})"
        )

    def unreached(self, call: str, calls: int, has_reserve: bool) -> str:
        """Says that it never got to record; ``call`` is what makes a step."""
        text = self.shortage(call, calls)
        if has_reserve:
            text += ". Analyzed is the first step alone, with what only a start does."
        else:
            text += ". Nothing was recorded."
        if self.own is None:
            text += " Make more steps, or lower wait and warmup."
        return text

    def shortage(self, call: str, calls: int) -> str:
        """Says how many steps came, and how many it needs."""
        times = {0: "never", 1: "once"}.get(calls, f"{calls} times")
        needed = self._needed()
        if needed is None:
            need = "does not record in the first 10,000 steps"
        else:
            need = f"needs {needed[0]} for a first recorded step"
            if needed[1] > needed[0]:
                need += f" and {needed[1]} for a whole cycle"
        return f"{call} was called {times}, but {self} {need}"
