# SPDX-License-Identifier: BSD-3-Clause
"""plan.py: which steps are recorded, and the messages if there were too few."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchtraceap.base.arguments import checked_int, of_type

_MOST = 2**31
# A schedule of a user's own is asked about this many steps.
_ASKED = 10_000

STEP = "step()"  # What makes a step in a loop of the user's own.


@dataclass(frozen=True)
class Plan:
    """Cycles of steps that pass unrecorded, warm up, and are recorded."""

    wait: int
    warmup: int
    active: int
    repeat: int  # 0: as long as there are steps
    own: Callable[[int], Any] | None = None  # instead of all that
    every: int | None = None  # Steps between begins of cycles; None: wait and a cycle.

    def __post_init__(self) -> None:
        for name in ("wait", "warmup", "repeat"):
            checked_int(name, getattr(self, name), 0, _MOST)
        checked_int("active", self.active, 1, _MOST)
        if self.every is not None:
            self._check_every(self.every)
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
        if self.own is not None:
            return self.own
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of warmup=0, which the user asked for
            cycle: Callable[[int], Any] = torch.profiler.schedule(
                wait=0, warmup=self.warmup, active=self.active, repeat=1
            )
        every = self.every or self.wait + self._length

        def action(step: int) -> Any:
            number, at = divmod(step - self.wait, every)
            if number < 0 or 0 < self.repeat <= number:
                return torch.profiler.ProfilerAction.NONE
            return cycle(at)

        return action

    def _check_every(self, every: int) -> None:
        checked_int("every", every, 1, _MOST)
        if self.own is not None:
            raise ValueError(
                "schedule and every both say which steps are recorded: give one"
            )
        if every < self._length:
            raise ValueError(
                f"every must be at least {self._length}, the steps of a cycle "
                f"(warmup={self.warmup}, active={self.active}), but is {every}"
            )

    @property
    def _length(self) -> int:
        """How many steps a cycle has."""
        return self.warmup + self.active

    @property
    def cycles(self) -> int:
        """The number of cycles; 0: unknown."""
        return 0 if self.own else self.repeat

    def _needed(self) -> tuple[int, int] | None:
        """Returns how many steps the first recorded one and a whole cycle need.

        None if a schedule of the user's own does not record.
        """
        from torch.profiler import ProfilerAction

        schedule, first = self.schedule(), 0
        for step in range(_ASKED if self.own else self.wait + self._length):
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

    def unreached(self, call: str, calls: int) -> str:
        """Says that nothing was recorded; ``call`` is the name of what makes a step."""
        text = f"{self.shortage(call, calls)}. Nothing was recorded."
        if call == STEP and not calls:
            text += " Call prof.step() after each step"
            if self.own is None:
                text += ", or record the whole block with wait=0, warmup=0"
            return f"{text}."
        if self.own is None:
            text += " Make more steps, or lower wait and warmup."
        return text

    def shortage(self, call: str, calls: int) -> str:
        """Says how many steps came, and how many it needs."""
        times = {1: "once"}.get(calls, f"{calls} times")
        came = f"was called {times}" if calls else "was never called"
        needed = self._needed()
        if needed is None:
            need = "does not record in the first 10,000 steps"
        else:
            need = f"needs {needed[0]} for a first recorded step"
            if needed[1] > needed[0]:
                need += f" and {needed[1]} for a whole cycle"
        return f"{call} {came}, but {self} {need}"
