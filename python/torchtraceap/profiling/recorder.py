# SPDX-License-Identifier: BSD-3-Clause
"""recorder.py: torch's profiler by a schedule, so that nobody is harmed by another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerAction, profile

from torchtraceap.profiling import live, turn

# What would have the first step in it, too.
_OF_ALL_CYCLES = {"execution_trace_observer", "acc_events"}
_BEFORE_RECORDING = (ProfilerAction.NONE, ProfilerAction.WARMUP)
# Before 2.13 torch says of the first cycle, too, that it forgets the last one.
_SAYS_IT_AT_FIRST = torch.__version__ < (2, 13)


class CycleRecorder:
    """Records by a schedule, from `start` to `stop`.

    `on_ready` is called with torch's profiler after each cycle, and with one that
    `stop` cut short. It is called with `is_stopping` True then.

    If the schedule waits in the first step, that can be recorded all the same, and kept
    in reserve: it is what is left if the schedule never gets to record.
    """

    def __init__(
        self,
        schedule: Callable[[int], Any],
        options: Mapping[str, Any],
        on_ready: Callable[[Any], object],
        wants_reserve: bool,
    ) -> None:
        self._in_reserve = (
            wants_reserve
            and schedule(0) == ProfilerAction.NONE
            and not any(options.get(name) for name in _OF_ALL_CYCLES)
        )
        self._reserve: Any = None  # What the autograd profiler recorded in it.

        def action(step: int) -> Any:
            return schedule(step) if step else ProfilerAction.RECORD_AND_SAVE

        self.profiler: Any = profile(
            schedule=action if self._in_reserve else schedule,
            on_trace_ready=self._ready,
            **options,
        )
        self.steps_over = 0  # Of the present cycle.
        self.is_stopping = False
        self._on_ready = on_ready
        self.is_reserve_lost = False  # Another profiler ended it.

    def start(self) -> None:
        marks = self.profiler.record_steps
        if self._in_reserve:  # It may be the whole block, which is no step.
            self.profiler.record_steps = False
        with _unsaid():
            self.profiler.__enter__()
        self.profiler.record_steps = marks
        turn.mark()

    def step(self) -> None:
        """Goes on to the next step. Raises TakenAwayError, and what torch raises."""
        self._check()
        is_recorded = self.profiler.current_action not in _BEFORE_RECORDING
        if is_recorded and not self._in_reserve:
            self.steps_over += 1
            self._reserve = None
        with self._mended():
            self.profiler.step()
        turn.mark()

    def stop(self) -> None:
        """Ends. Raises TakenAwayError, and what torch raises."""
        self.is_stopping = True
        self._check()
        with self._mended():
            self.profiler.__exit__(None, None, None)

    def take_reserve(self) -> bool:
        """Lets the profiler, which has stopped, hold what was kept in reserve; False
        if there is nothing."""
        if self._reserve is None:
            return False
        self.profiler.profiler, self._reserve = self._reserve, None
        return True

    def abandon(self) -> None:
        """Lets go of a profiler that must not be touched any more."""
        if turn.is_taken_away():
            turn.leave(self.profiler)
        self._reserve = None
        self.profiler.on_trace_ready = None

    def _ready(self, prof: Any) -> None:
        if self._in_reserve:
            self._in_reserve = False
            if live.is_lost(prof):
                self.is_reserve_lost = True
            if not self.is_reserve_lost:
                self._reserve = prof.profiler
            return
        self._on_ready(prof)
        self.steps_over = 0

    def _check(self) -> None:
        if turn.is_taken_away():
            raise turn.TakenAwayError
        if not turn.is_stale():
            return
        if self._in_reserve:
            self.is_reserve_lost = True
            turn.mend(self.profiler)
        else:
            self.profiler.on_trace_ready = None
            turn.stop(self.profiler)
            raise turn.TakenAwayError

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """Warms up anew if another profiler came and went: torch would crash."""
        action = self.profiler.current_action
        mends = action == ProfilerAction.WARMUP and turn.is_disturbed()
        may_begin = action in (ProfilerAction.NONE, ProfilerAction.RECORD_AND_SAVE)
        says_it = self.profiler.profiler is not None or _SAYS_IT_AT_FIRST
        if not says_it or not (mends or may_begin):
            yield
            return
        with _unsaid():
            if mends:
                self.profiler.prepare_trace()
            yield


@contextmanager
def _unsaid() -> Iterator[None]:
    """Leave out what torch says once, as a new cycle forgets the last one; here that
    is meant."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning: Profiler clears events")
        yield
