# SPDX-License-Identifier: BSD-3-Clause
"""trace_check.py: holds a trace, stored or recorded on the spot, against limits.

A thin face of budget.py, so that the same rules hold in tests, at the command line and
in an Analyzer. What comes out is noted in the test's log.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

from torchtraceap.base.arguments import checked_names, wrong_number
from torchtraceap.base.safe_text import printable
from torchtraceap.checking.dry_stage import suspended
from torchtraceap.checking.outcome import CheckLog, Unknown
from torchtraceap.checking.recording import Recording
from torchtraceap.checking.violations import mode_of, of_violations
from torchtraceap.report import Report

NAME = "trace_check"


class TraceCheck:
    """The checks of one trace. Each notes what it finds; all that fail are reported."""

    def __init__(
        self,
        log: CheckLog,
        unknown: Unknown | None,
        *,
        report: Report | None = None,
        recording: Recording | None = None,
        **options: Any,
    ) -> None:
        self._log = log
        self._unknown = unknown
        self._report = report
        self._recording = recording
        self._options = options
        self._open = ExitStack()

    # --- Limits --------------------------------------------------------------------

    def no(
        self,
        pattern: str,
        *,
        over_us: float | None = None,
        max_count: int | None = None,
        max_wasted_us: float | None = None,
        max_share: float | None = None,
        allow: Iterable[str] = (),
    ) -> None:
        """Check that the trace does not have a pattern.

        Args:
            pattern: Its name, as ``torchtraceap patterns`` lists them, or of a rule of
                your own; "*" for any.
            over_us: Occurrences that cost less are tolerated, each on its own.
            max_count: How many are tolerated. None: none, unless the next two say it.
            max_wasted_us: How much time they may waste together.
            max_share: The same as a share of the devices' time, 0 to 1.
            allow: Files, lines, functions, operators or sub-types that are tolerated,
                with wildcards: "metrics.py", "train.py:88", "item", "*/hooks/*".

        Raises ConfigError for a pattern that there is not, and options out of range.
        """
        __tracebackhide__ = True
        if max_count is None and max_wasted_us is None and max_share is None:
            max_count = 0
        limits = {
            "over_us": over_us,
            "max_count": max_count,
            "max_wasted_us": max_wasted_us,
            "max_share": max_share,
            "allow": list(checked_names("allow", allow)) or None,
        }
        given = {key: value for key, value in limits.items() if value is not None}
        self._check(f'no("{pattern}")', {"patterns": {pattern: given}})

    def budget(self, budget: str | os.PathLike[str] | Mapping[str, Any]) -> None:
        """Check a budget: a TOML file, or a dict of the same form."""
        __tracebackhide__ = True
        name = "..." if isinstance(budget, Mapping) else f'"{os.fspath(budget)}"'
        self._check(f"budget({name})", budget)

    def max_gap_us(self, limit: float) -> None:
        """Check the longest pause between work, of each device."""
        self._limit("max_gap_us", limit)

    def min_busy(self, limit: float) -> None:
        """Check the share of the time in which each device is busy, 0 to 1."""
        self._limit("min_busy", limit)

    def max_step_us(self, limit: float) -> None:
        """Check the longest step."""
        self._limit("max_step_us", limit)

    def max_kernels_per_step(self, limit: float) -> None:
        """Check the step that launches most."""
        self._limit("max_kernels_per_step", limit)

    def max_wasted_share(self, limit: float) -> None:
        """Check all findings together, as a share of the devices' time, 0 to 1."""
        self._limit("max_wasted_share", limit)

    def _limit(self, name: str, limit: float) -> None:
        __tracebackhide__ = True
        if wrong := wrong_number(limit):
            raise ValueError(f"{name}(...) {wrong}")
        self._check(f"{name}({limit:g})", {name: limit})

    def _check(
        self, what: str, limits: str | os.PathLike[str] | Mapping[str, Any]
    ) -> None:
        __tracebackhide__ = True
        from torchtraceap.gate.budget import read_budget

        report = self.report
        budget = read_budget(limits, rules=[one.rule for one in report.rules])
        # What cannot be told is asked for, so that it is said whatever comes of it.
        found = replace(budget, unknown="fail").check(report)
        own: Unknown | None = "pass" if budget.unknown == "pass" else None
        unknown = self._unknown or own or self._log.unknown or self._default
        check = printable(f"{NAME} {what}")
        mode = mode_of(report, self._recording)
        self._log.begun(self)
        self._log.add(of_violations(check, mode, found, report, unknown))

    # --- What is checked -----------------------------------------------------------

    @property
    def report(self) -> Report:
        """The report on the trace; of a block, once it is over."""
        __tracebackhide__ = True
        if self._report is None:
            raise RuntimeError(
                "there is no recording to check yet: record one with "
                "`with trace_check() as check:`, and check after the block"
            )
        return self._report

    @property
    def unused(self) -> str:
        """What is wrong if no check is made of it."""
        if self._recording:
            return 'nothing was checked: add check.no("..."), or another, to the block'
        return 'nothing was checked: add check.no("..."), or another'

    def __enter__(self) -> TraceCheck:
        __tracebackhide__ = True
        if self._recording is None:
            return self
        if self._report is not None:
            raise RuntimeError("this trace_check() recorded already: make another")
        self._log.watch(NAME, self)
        try:
            # What is recorded runs for real.
            self._open.enter_context(suspended())
            self._recording.start()
        except BaseException:
            self._open.close()
            self._log.unwatch()
            raise
        return self

    def step(self) -> None:
        """End a step of the code being recorded, as ``prof.step()`` does."""
        __tracebackhide__ = True
        if self._recording is None or self._report is not None:
            raise RuntimeError("step() ends a step of a block that is being recorded")
        self._recording.step()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        if self._recording is None:
            return
        self._log.unwatch()
        with self._open:
            if error is not None:
                self._log.begun(self)
                self._recording.abandon()
            else:
                self._report = self._recording.stop(**self._options)

    @property
    def _default(self) -> Unknown:
        """A machine without a GPU is no fault of the test, anything else may be."""
        wants_gpu = (
            self._recording is not None
            and not self._recording.on_gpu
            and self.report.quality.verdict != "unusable"
        )
        return "skip" if wants_gpu else "fail"
