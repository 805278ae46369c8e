# SPDX-License-Identifier: BSD-3-Clause
"""recorder.py: torch's profiler on a schedule, without harm to other profilers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.profiler import ProfilerAction, profile

from torchtraceap.profiling import slot

_BEFORE_RECORDING = (ProfilerAction.NONE, ProfilerAction.WARMUP)
# Before 2.13 torch warns that it forgets the last cycle in the first cycle, too.
_SAYS_IT_AT_FIRST = torch.__version__ < (2, 13)


class CycleRecorder:
    """Records by a schedule, from `start` to `stop`.

    `on_ready` is called with torch's profiler after each cycle, and with one that
    `stop` cut short. It is called with `is_stopping` True then.
    """

    def __init__(
        self,
        schedule: Callable[[int], Any],
        options: Mapping[str, Any],
        on_ready: Callable[[Any], object],
    ) -> None:
        self.profiler: Any = profile(
            schedule=schedule, on_trace_ready=self._ready, **options
        )
        self.steps_over = 0  # Of the present cycle.
        self.is_stopping = False
        self._on_ready = on_ready

    def start(self) -> None:
        with _unsaid():
            self.profiler.__enter__()
        slot.mark()

    def step(self) -> None:
        """Goes on to the next step. Raises TakenAwayError, and what torch raises."""
        self._check()
        if self.profiler.current_action not in _BEFORE_RECORDING:
            self.steps_over += 1
        with self._mended():
            self.profiler.step()
        slot.mark()

    def stop(self) -> None:
        """Ends. Raises TakenAwayError, and what torch raises."""
        self.is_stopping = True
        self._check()
        with self._mended():
            self.profiler.__exit__(None, None, None)

    def abandon(self) -> None:
        """Lets go of a profiler that must not be touched any more."""
        if slot.is_taken_away():
            slot.leave(self.profiler)
        self.profiler.on_trace_ready = None

    def _ready(self, prof: Any) -> None:
        self._on_ready(prof)
        self.steps_over = 0

    def _check(self) -> None:
        if slot.is_taken_away():
            raise slot.TakenAwayError
        if slot.is_stale():
            self.profiler.on_trace_ready = None
            slot.stop(self.profiler)
            raise slot.TakenAwayError

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """Warms up again if another profiler came and went: torch would crash."""
        action = self.profiler.current_action
        mends = action == ProfilerAction.WARMUP and slot.is_disturbed()
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
