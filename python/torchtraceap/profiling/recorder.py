# SPDX-License-Identifier: BSD-3-Clause
"""recorder.py: torch's profiler and its reserve, so that neither harms anybody.

The reserve is a second profiler. It records the first step while the first profiler
waits, and is what is left if that one never gets to record.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch.profiler import ProfilerAction, profile

from torchtraceap.profiling import live, turn

# What the reserve cannot share with the first profiler.
_NOT_SHARED = {"execution_trace_observer", "acc_events"}
_BEFORE_RECORDING = (ProfilerAction.NONE, ProfilerAction.WARMUP)


class Recorder:
    """Records by a schedule, from `start` to `stop`. Loads torch.

    `on_ready` is called with torch's profiler after each cycle, and with one that
    `stop` cut short. It is called with `is_stopping` True then.

    Attributes:
        profiler: Torch's.
        reserve: Another one, which has recorded the first step; None if there is none
            or something better has come.
        steps_over: How many steps of the present cycle are over.
    """

    def __init__(
        self,
        schedule: Callable[[int], Any],
        options: Mapping[str, Any],
        on_ready: Callable[[Any], object],
        wants_reserve: bool,
    ) -> None:
        self.profiler: Any = profile(
            schedule=schedule, on_trace_ready=self._ready, **options
        )
        self.reserve: Any = None
        self.steps_over = 0
        self.is_stopping = False
        self._on_ready = on_ready
        self._reserve_runs = False
        if wants_reserve and self.profiler.current_action == ProfilerAction.NONE:
            shared = {k: v for k, v in options.items() if k not in _NOT_SHARED}
            self.reserve = profile(**shared)

    def start(self) -> None:
        self.profiler.__enter__()
        if self.reserve is not None:
            self.reserve.__enter__()
            self._reserve_runs = True
        turn.mark()

    def step(self) -> None:
        """Goes on to the next step. Raises TakenAwayError, and what torch raises."""
        self._check()
        if self.profiler.current_action not in _BEFORE_RECORDING:
            self.steps_over += 1
            self._drop_reserve()
        with self._mended():
            self.profiler.step()
        turn.mark()

    def stop(self) -> None:
        """Ends. Raises TakenAwayError, and what torch raises."""
        self.is_stopping = True
        self._check()
        with self._mended():
            self.profiler.__exit__(None, None, None)

    def abandon(self) -> None:
        """Lets go of profilers that must not be touched any more."""
        if turn.is_taken_away() and self._reserve_runs:
            turn.leave(self.reserve)
            self.reserve = None
        elif turn.is_taken_away():
            turn.leave(self.profiler)
        self._drop_reserve()
        self.profiler.on_trace_ready = None

    def _drop_reserve(self) -> None:
        if self.reserve is not None:
            # A profiler is part of a cycle of references; this frees its events now.
            self.reserve.profiler = None
            self.reserve = None

    def _ready(self, prof: Any) -> None:
        self._on_ready(prof)
        self.steps_over = 0

    def _check(self) -> None:
        if turn.is_taken_away():
            raise turn.TakenAwayError
        if self._reserve_runs:
            self._reserve_runs = False
            is_lost = turn.is_stale()
            turn.stop(self.reserve)
            if is_lost or live.is_lost(self.reserve):
                self._drop_reserve()
            turn.mark()
        elif turn.is_stale():
            self.profiler.on_trace_ready = None
            turn.stop(self.profiler)
            raise turn.TakenAwayError

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """Warms up anew if another profiler came and went: torch would crash."""
        action = self.profiler.current_action
        mends = action == ProfilerAction.WARMUP and turn.is_disturbed()
        may_begin = action in (ProfilerAction.NONE, ProfilerAction.RECORD_AND_SAVE)
        if self.profiler.profiler is None or not (mends or may_begin):
            yield
            return
        with warnings.catch_warnings():
            # Said once, as a new cycle forgets the last one; here that is meant.
            warnings.filterwarnings("ignore", "Warning: Profiler clears events")
            if mends:
                self.profiler.prepare_trace()
            yield
