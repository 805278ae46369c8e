# SPDX-License-Identifier: BSD-3-Clause
"""session.py: a profiled stretch of a program, which reports by itself."""

from __future__ import annotations

import atexit
import os
import textwrap
import threading
from typing import TYPE_CHECKING, Any

from torchtraceap.gate.budget_data import Violation
from torchtraceap.profiling import slot
from torchtraceap.profiling.analyzer import Analyzer
from torchtraceap.profiling.notices import reason, show, warn
from torchtraceap.profiling.plan import STEP, Plan
from torchtraceap.report import Report

if TYPE_CHECKING:
    from torchtraceap.profiling.recorder import CycleRecorder  # It loads torch.


class Session:
    """What ``torchtraceap.profile`` returns: use it in a ``with`` block, or call
    `start` and `stop`; call `step` after each step.

    Attributes:
        torch_profiler: The ``torch.profiler.profile`` behind it, None before the
            start. Its methods and attributes are this object's too:
            ``prof.export_chrome_trace(...)``, ``prof.key_averages()``.
    """

    def __init__(self, plan: Plan, analyzer: Analyzer, options: dict[str, Any]) -> None:
        self._plan = plan
        self._analyzer = analyzer
        self._options = options
        self.step_call = STEP  # What makes a step, for messages.
        self._recorder: CycleRecorder | None = None  # while it runs
        self._owner: tuple[int, threading.Thread | None] = (0, None)
        self._steps = 0
        self._cycles = 0  # that were delivered
        self._is_cut = False  # the last of them, by the end of the block
        self._was_elsewhere = False
        self.torch_profiler: Any = None

    @property
    def reports(self) -> list[Report]:
        """The reports so far, the latest last: one for each recorded cycle."""
        return self._analyzer.reports

    @property
    def report(self) -> Report | None:
        """The latest report; None before the first cycle is over."""
        return self._analyzer.report

    @property
    def violations(self) -> list[Violation]:
        """What was over budget, of all cycles."""
        return self._analyzer.violations

    @property
    def is_running(self) -> bool:
        """Whether something is being recorded or still will be."""
        return self._recorder is not None

    def __enter__(self) -> Session:
        self.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def __getattr__(self, name: str) -> Any:
        prof = self.__dict__.get("torch_profiler")
        if prof is None or name.startswith("__"):
            when = "" if prof else " before its start"
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{when}"
            )
        return getattr(prof, name)

    def start(self) -> None:
        """Begins. After its end it can begin again; reports are kept.

        Raises RuntimeError if another profiler is running in this process.
        """
        # One whose thread is over ends as it is asked whether it is at home.
        if self.is_running and self._is_at_home():
            raise RuntimeError("this profile is running already: it cannot be nested")
        slot.take(self)
        try:
            self._begin()
        except BaseException:
            slot.give_back(self)
            raise

    def step(self) -> None:
        """Tells that a step is over. Raises RuntimeError before the start only."""
        if self._recorder is None:
            if self.torch_profiler is None:
                raise RuntimeError("step() was called before the profile was started")
            slot.stop_what_was_left()
            return  # all cycles are over
        if not self._is_at_home():
            return
        self._steps += 1
        try:
            self._recorder.step()
        except Exception as error:
            self._recorder.abandon()
            self._end()
            warn(f"profiling ended: {reason(error)}")
        else:
            if self._cycles and self._cycles == self._plan.cycles:
                self._close()

    def stop(self) -> None:
        """Ends, and reports what was not reported yet. Never raises."""
        if not self.is_running or not self._is_at_home():
            return
        if not self._close():
            return
        if not self._cycles:
            warn(self._plan.unreached(self.step_call, self._steps))
        elif self._is_cut and self._cycles == 1 and self._analyzer.prints:
            shortage = self._plan.shortage(self.step_call, self._steps)
            show(textwrap.fill(f"The cycle is incomplete: {shortage}.", 88))

    def _begin(self) -> None:
        from torchtraceap.profiling.recorder import CycleRecorder

        recorder = CycleRecorder(self._plan.schedule(), self._options, self._ready)
        recorder.start()
        self._recorder = recorder
        self.torch_profiler = recorder.profiler
        self._owner = (os.getpid(), threading.current_thread())
        self._steps = self._cycles = 0
        self._is_cut = False
        atexit.register(self.stop)

    def _ready(self, prof: Any) -> None:
        """Stands before the analyzer as the profiler's handler."""
        recorder = self._recorder
        assert recorder is not None
        report = self._analyzer.read(prof)
        is_empty = report is None or not report.operators
        has_ended = recorder.is_stopping and self._steps and not recorder.steps_over
        if has_ended and is_empty:
            return  # the block ended as this cycle began
        self._cycles += 1
        self._is_cut = recorder.is_stopping
        self._analyzer.deliver(report, prof)

    def _close(self) -> bool:
        """Ends; False, with a warning, if that failed."""
        recorder = self._recorder
        assert recorder is not None
        try:
            recorder.stop()
            return True
        except Exception as error:
            recorder.abandon()
            warn(f"profiling ended: {reason(error)}")
            return False
        finally:
            self._end()

    def _end(self) -> None:
        if self._recorder is not None:
            self._recorder = None
            atexit.unregister(self.stop)
            slot.give_back(self)

    def _drop(self) -> None:
        """Ends without the thread that started it, which is over."""
        if self._recorder is not None:
            self._recorder.abandon()
            slot.give_up(self)
            self._end()
            warn(
                "profiling ended: the thread that started it is over, and what it "
                "recorded is lost. Call stop() there."
            )

    def _is_at_home(self) -> bool:
        """Tells whether this is the process and thread that started it."""
        pid, thread = self._owner
        if pid != os.getpid():
            return False  # a fork has a copy of the session, but no profiler
        if thread is not threading.current_thread():
            if thread is not None and not thread.is_alive():
                self._drop()
            elif not self._was_elsewhere:
                self._was_elsewhere = True
                warn(
                    "only the thread that started a profile can step and stop it; "
                    "this call is ignored"
                )
            return False
        return True
