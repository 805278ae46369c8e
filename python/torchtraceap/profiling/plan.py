# SPDX-License-Identifier: BSD-3-Clause
"""plan.py: which steps are recorded, and the messages if there were too few."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torchtraceap.base.arguments import checked_int

_MOST = 2**31

STEP = "step()"  # What makes a step in a loop of the user's own.


@dataclass(frozen=True)
class Plan:
    """Cycles of steps that pass unrecorded, warm up, and are recorded."""

    wait: int
    warmup: int
    active: int
    repeat: int  #: How many cycles; 0: as long as there are steps.
    every: int | None = None  # Steps between begins of cycles; None: wait and a cycle.

    def __post_init__(self) -> None:
        for name in ("wait", "warmup", "repeat"):
            checked_int(name, getattr(self, name), 0, _MOST)
        checked_int("active", self.active, 1, _MOST)
        if self.every is None:
            return
        checked_int("every", self.every, 1, _MOST)
        if self.every < self._length:
            raise ValueError(
                f"every must be at least {self._length}, the steps of a cycle "
                f"(warmup={self.warmup}, active={self.active}), but is {self.every}"
            )

    def schedule(self) -> Callable[[int], Any]:
        """Returns a schedule for torch's profiler."""
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

    @property
    def _length(self) -> int:
        """How many steps a cycle has."""
        return self.warmup + self.active

    def unreached(self, call: str, calls: int) -> str:
        """Says that nothing was recorded; ``call`` is the name of what makes a step."""
        text = f"{self.shortage(call, calls)}. Nothing was recorded. "
        if call == STEP and not calls:
            return text + (
                "Call prof.step() after each step, or record the whole block with "
                "wait=0, warmup=0."
            )
        return text + "Make more steps, or lower wait and warmup."

    def shortage(self, call: str, calls: int) -> str:
        """Says how many steps came, and how many it needs."""
        times = {1: "once"}.get(calls, f"{calls} times")
        came = f"was called {times}" if calls else "was never called"
        first, last = self.wait + self.warmup + 1, self.wait + self._length
        whole = f" and {last} for a whole cycle" if last > first else ""
        return (
            f"{call} {came}, but the schedule (wait={self.wait}, "
            f"warmup={self.warmup}, active={self.active}) needs {first} for a first "
            f"recorded step{whole}"
        )
