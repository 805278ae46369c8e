# SPDX-License-Identifier: BSD-3-Clause
"""trace_check.py: holds a trace, stored or recorded on the spot, against limits.

A thin layer over the gate's budgets, so that the same rules hold in tests, on the
command line and in an Analyzer. Outcomes are noted in the test's log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any

from torchtraceap._core import Finding
from torchtraceap.analysis import analyze_one
from torchtraceap.base.arguments import checked_names
from torchtraceap.base.location import NAME_WIDTH, whole_place
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import counted, time_text
from torchtraceap.checking.device import suspended
from torchtraceap.checking.outcome import (
    CheckLog,
    Outcome,
    Status,
    Unknown,
    checked_unknown,
)
from torchtraceap.checking.recording import Recording
from torchtraceap.data.source import Source
from torchtraceap.gate.budget import read_budget
from torchtraceap.gate.budget_data import Violation
from torchtraceap.report import Report
from torchtraceap.views.finding_text import wasted_text

NAME = "trace_check"
_DOUBT = {
    "unusable": "The trace is unusable",
    "degraded": "The trace is degraded, so what was found may be wrong or not all",
}


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
            max_count: How many are tolerated. None: zero, unless one of the next two
                is given.
            max_wasted_us: How much time they may waste together.
            max_share: The same as a share of the devices' time, 0 to 1.
            allow: Files, lines, functions, operators or sub-types that are tolerated,
                with wildcards: "metrics.py", "train.py:88", "item", "*/hooks/*".

        Raises ConfigError for an unknown pattern, and options out of range.
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

    def peak_memory_gb(self, limit: float) -> None:
        """Check what tensors of each device hold at most, in 10^9 bytes."""
        self._limit("peak_memory_gb", limit)

    def max_memory_growth_mb(self, limit: float) -> None:
        """Check memory that grows in each step, by its growth in 10^6 bytes."""
        self._limit("max_memory_growth_mb", limit)

    def _limit(self, name: str, limit: float) -> None:
        __tracebackhide__ = True
        self._check(f"{name}({limit})", {name: limit})

    def _check(
        self, what: str, limits: str | os.PathLike[str] | Mapping[str, Any]
    ) -> None:
        __tracebackhide__ = True
        report = self.report
        budget = read_budget(limits, rules=[one.rule for one in report.rules])
        # "fail" reports undetermined limits, so that they are noted in any case.
        found = replace(budget, unknown="fail").check(report)
        of_budget: Unknown | None = "pass" if budget.unknown == "pass" else None
        unknown = self._unknown or of_budget or self._log.unknown or self._default
        self._log.begun(self)
        self._log.outcomes.append(
            _outcome_of(what, found, report, self._recording, unknown)
        )

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
        """Skip for a machine without a GPU, which the test cannot help; else fail."""
        lacks_gpu = self._recording is not None and not self._recording.on_gpu
        is_usable = self.report.quality.verdict != "unusable"
        return "skip" if lacks_gpu and is_usable else "fail"


class TraceChecks:
    """What the fixture is: call it for a trace, or without one for a block of code."""

    def __init__(self, log: CheckLog, need_torch: Callable[[], None]) -> None:
        self._log = log
        self._need_torch = need_torch

    def __call__(
        self,
        source: Source | Report | None = None,
        *,
        unknown: Unknown | None = None,
        warmup: int = 0,
        stacks: bool = True,
        **options: Any,
    ) -> TraceCheck:
        """Return the checks of a trace.

        Args:
            source: A path, bytes, a Trace or a profiler, which is analyzed, or a
                Report. None: the ``with`` block is recorded.
            unknown: The test's outcome if a check cannot be made: "fail", "skip" or
                "pass". None: it fails; but it is skipped if the reason is that code was
                recorded without a GPU.
            warmup: For a block: calls of ``step()`` before it is recorded.
            stacks: For a block: record Python's stacks, which lines come from.
            **options: For ``torchtraceap.analyze``: ``config``, ``rules``, ``steps``...
        """
        __tracebackhide__ = True
        unknown = checked_unknown(unknown)
        if source is None:
            self._need_torch()
            recording = Recording(NAME, warmup=warmup, stacks=stacks)
            check = TraceCheck(self._log, unknown, recording=recording, **options)
        elif warmup or not stacks:
            raise TypeError("warmup and stacks are for a block, not for a stored trace")
        else:
            if not isinstance(source, Report):
                source = analyze_one(source, NAME, **options)
            elif options:
                raise TypeError(f"{', '.join(options)}: the Report is made already")
            check = TraceCheck(self._log, unknown, report=source)
        unused = 'nothing was checked: add check.no("..."), or another'
        unused += ", to the block" if source is None else ""
        self._log.announce(check, Outcome(NAME, "", "failed", unused))
        return check


def _mode_of(report: Report, recording: Recording | None) -> str:
    """Say, in a few words, what is checked: a stored trace or a recording."""
    verdict = report.quality.verdict
    degraded = "" if verdict == "ok" else f", {verdict}"
    if recording is None:
        return f"trace {printable(os.path.basename(report.trace.path))}{degraded}"
    where = "on the GPU" if recording.on_gpu else "without a GPU"
    return f"recorded {where}{degraded}"


def _outcome_of(
    what: str,
    violations: Sequence[Violation],
    report: Report,
    recording: Recording | None,
    unknown: Unknown,
) -> Outcome:
    """Put what one check of a report came to into these words."""
    broken = [one for one in violations if one.known]
    untold = [one for one in violations if not one.known]
    status: Status = "passed"
    headline = "nothing found"
    if first := broken or untold:
        status = "failed" if broken else "unknown"
        headline = first[0].message
        if more := len(first) - 1:
            headline += f"; and {counted(more, 'more limit')}"
    findings = list({id(f): f for one in broken for f in one.findings}.values())
    return Outcome(
        printable(f"{NAME} {what}"),
        _mode_of(report, recording),
        status,
        headline,
        places=tuple(_place(finding) for finding in findings),
        details=tuple(_details([*broken, *untold], findings)),
        notes=tuple(_notes(findings, report, recording)),
        evidence=tuple(_evidence(findings, report)),
        count=sum(finding.count for finding in findings),
        wasted_us=sum(f.wasted_us for f in findings) if findings else None,
        unknown=unknown,
    )


def _place(finding: Finding) -> str:
    place = whole_place(finding.location, finding.operator)
    return f"{place}  {finding.kind}  ×{finding.count}, {wasted_text(finding)}"


def _details(
    violations: Sequence[Violation], findings: Sequence[Finding]
) -> Iterator[str]:
    yield from (one.message for one in violations[1:])
    explained = set()
    for finding in findings:
        yield f"  {_place(finding)}"
        yield f"      {printable(finding.message)}"
        if finding.advice not in explained:
            explained.add(finding.advice)
            yield f"      instead: {printable(finding.advice)}"


def _notes(
    findings: Sequence[Finding], report: Report, recording: Recording | None
) -> Iterator[str]:
    if doubt := _DOUBT.get(report.quality.verdict):
        reasons = " ".join(printable(note.detail) for note in report.quality.reasons)
        yield f"{doubt}: {reasons}"
    if recording and not recording.on_gpu:
        yield (
            "Recorded without a GPU: the times are those of the CPU's own work, and "
            "what a GPU would wait for may differ."
        )
    if findings and not any(finding.location for finding in findings):
        yield "No lines: the trace has no Python frames (with_stack=True)."


def _evidence(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    for finding in findings:
        yield f"Evidence of {_place(finding)}:"
        for event in finding.events:
            start = time_text(event.start_us - report.trace.start_us)
            name = printable(event.name, 2 * NAME_WIDTH)
            yield f"  +{start}, {time_text(event.duration_us)}: {name}"
        yield f"  see {finding.docs}"
