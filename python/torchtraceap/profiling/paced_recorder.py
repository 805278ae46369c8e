# SPDX-License-Identifier: BSD-3-Clause
"""paced_recorder.py: records cycles when a Pace says so, and tells it their cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch.profiler import ProfilerAction

from torchtraceap.profiling import turn
from torchtraceap.profiling.notices import warn
from torchtraceap.profiling.pace import Pace
from torchtraceap.profiling.plan import Plan
from torchtraceap.profiling.recorder import CycleRecorder


class PacedRecorder(CycleRecorder):
    """Between cycles torch's profiler is not touched, and it is nobody's turn: other
    profilers may run. If one still does, the cycle that would begin is left out.

    `taker` is whose turn it is in a cycle, and before the start.
    """

    def __init__(
        self,
        pace: Pace,
        plan: Plan,
        taker: object,
        options: Mapping[str, Any],
        on_ready: Callable[[Any], object],
    ) -> None:
        cycle = plan.cycle()

        def action(step: int) -> Any:
            begin = pace.begin
            return cycle(step - begin) if step >= begin else ProfilerAction.NONE

        super().__init__(action, options, on_ready, wants_reserve=False)
        self._pace = pace
        self._taker = taker
        self._is_resting = False
        self._analyzing = 0.0  # Seconds, of the present cycle.

    def start(self) -> None:
        super().start()
        self._rest_between()

    def step(self) -> None:
        if self._is_resting:
            if not self._pace.passes() or not self._takes_turn():
                self.profiler.step_num += 1  # as its own step() would
                return
            self._is_resting = False
        began = self._pace.clock()
        super().step()
        self._rest_between()
        if self._is_resting:
            self._tell_cost(began)

    def stop(self) -> None:
        if self._is_resting:
            self.is_stopping = True
            self.profiler.__exit__(None, None, None)
            return
        began = self._pace.clock()
        super().stop()
        self._tell_cost(began)

    def abandon(self) -> None:
        if not self._is_resting:  # or nothing of it runs
            super().abandon()

    def _ready(self, prof: Any) -> None:
        began = self._pace.clock()
        super()._ready(prof)
        self._analyzing = self._pace.clock() - began

    def _takes_turn(self) -> bool:
        try:
            turn.take(self._taker)
        except RuntimeError as error:
            self._pace.skip()
            warn(f"the cycle of this step is left out: {error}")
            return False
        return True

    def _rest_between(self) -> None:
        """Lets go of all, if no cycle goes on."""
        prof = self.profiler
        if prof.current_action != ProfilerAction.NONE:
            return
        if prof.step_rec_fn:  # or the step's mark stays open until the next cycle
            prof.step_rec_fn.__exit__(None, None, None)
            prof.step_rec_fn = None
        turn.give_back(self._taker)
        self._is_resting = True

    def _tell_cost(self, began: float) -> None:
        """Tells what the cycle cost, in which the last call began then."""
        pace, analyzing = self._pace, self._analyzing
        collecting = max(0.0, pace.clock() - began - analyzing)
        pace.is_over(self.profiler.step_num - pace.begin, collecting, analyzing)
        self._analyzing = 0.0
