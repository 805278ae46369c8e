# SPDX-License-Identifier: BSD-3-Clause
"""analyzer.py: a handler of profilers that analyzes, writes, checks and tells."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.arguments import checked_int, of_type
from torchtraceap.base.safe_text import printable
from torchtraceap.data.config import Config
from torchtraceap.data.detector_choice import AUTO, DetectorChoice
from torchtraceap.data.rules import Rule
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.budget_data import Violation
from torchtraceap.profiling import cycle_files, live
from torchtraceap.profiling.cycle_files import CycleFiles
from torchtraceap.profiling.notices import guarded, reason, show, warn
from torchtraceap.report import Report

Handler = Callable[[Any], object]

_MOST = 2**31


class Analyzer:
    """An ``on_trace_ready`` handler that analyzes every recorded cycle::

        handler = torchtraceap.Analyzer("reports", formats=["json", "trace"])
        with torch.profiler.profile(schedule=..., on_trace_ready=handler) as prof:
            ...
        handler.reports[-1].findings

    It works wherever a handler does: ``torch.profiler``, Accelerate's
    ``ProfileKwargs``, Lightning's ``PyTorchProfiler``. An error in it, in callbacks or
    in other handlers becomes a RuntimeWarning and never ends the run.

    Args:
        folder: Folder for files; created if missing. None: no files. Their names hold
            the rank if there are several, and the step. An existing file is left alone:
            the new one gets a number.
        formats: The files to write: names of the program's options, such as
            ``"json"``, and ``"trace"`` for the profiler's own trace. None: ``"json"``
            and ``"html"``.
        budget: The limits of each cycle: a path, a mapping or a Budget (docs/ci.md).
            Excesses give a warning and are kept in `violations`.
        verbosity: 0 prints nothing, 1 the first screen of each cycle, 2 the whole
            report, with windows and tables. With several ranks, only the first prints.
        callbacks: A function or several, called with each report.
        then: Other handlers, one or several, called with the profiler afterwards:
            ``tensorboard_trace_handler(...)`` or one of your own.
        keep: How many reports to keep in `reports`; each holds its trace in memory.
        name: Prefix of the file names.
        max_events, config, rules, detector: As for ``analyze``.

    Attributes:
        reports: Those of the last cycles, the latest last.
        violations: All excesses over the budget, from all cycles.

    Raises:
        ValueError, TypeError: An option is invalid.
        OSError: ``folder`` cannot be made.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        formats: Iterable[str] | None = None,
        budget: str | os.PathLike[str] | Mapping[str, Any] | Budget | None = None,
        verbosity: int = 1,
        callbacks: Callable[[Report], object]
        | Iterable[Callable[[Report], object]] = (),
        then: Handler | Iterable[Handler] = (),
        keep: int = 10,
        name: str = "report",
        max_events: int | None = None,
        config: Config | None = None,
        rules: Iterable[Rule | str] = (),
        detector: DetectorChoice = AUTO,
    ) -> None:
        self._plan = plan_analysis(max_events, config, rules, detector)
        self._verbosity = checked_int("verbosity", verbosity, 0, 2)
        self._callbacks = _functions("callbacks", callbacks)
        self._then = _functions("then", then)
        self._keep = checked_int("keep", keep, 0, _MOST)
        if budget is not None and not isinstance(budget, Budget):
            names = [rule.name for rule in self._plan.rules]
            budget = read_budget(budget, rules=names)
        self._budget = budget
        self._files = CycleFiles(folder, formats, name)
        self.reports: list[Report] = []
        self.violations: list[Violation] = []

    @property
    def report(self) -> Report | None:
        """The report of the last cycle that was analyzed, None without one."""
        return self.reports[-1] if self.reports else None

    def __call__(self, prof: Any) -> None:
        """Analyzes what `prof` recorded last. Never raises."""
        self.deliver(self.read(prof), prof)

    def read(self, prof: Any) -> Report | None:
        """Returns the report on what `prof` recorded last, None if there is none."""
        try:
            report = self._plan.report(live.load(prof))
            report.name_trace(_what(report))
        except Exception as error:
            warn(f"this cycle was not analyzed: {reason(error)}")
            return None
        return report

    def deliver(self, report: Report | None, prof: Any) -> None:
        """Writes, checks, keeps and tells a report, then lets other handlers run."""
        if not _is_sound(prof):
            return  # and no handler may export it
        written = self._files.write(report, prof)
        if report is not None:
            self.reports.append(report)
            del self.reports[: max(0, len(self.reports) - self._keep)]
            broken = self._check(report)
            if self.prints:
                guarded(
                    "the report was not printed",
                    partial(self._show, report, written, broken),
                )
            for callback in self._callbacks:
                guarded(f"the callback {_name(callback)}", partial(callback, report))
        for handler in self._then:
            guarded(f"the handler {_name(handler)}", partial(handler, prof))

    @property
    def prints(self) -> bool:
        """Whether this process prints at all."""
        return self._verbosity > 0 and not cycle_files.rank()

    def _check(self, report: Report) -> Sequence[Violation]:
        broken: list[Violation] = []
        if budget := self._budget:
            guarded(
                "the budget was not checked",
                lambda: broken.extend(budget.check(report)),
            )
        for violation in broken:
            warn(f"{_standing(violation)}: {violation.message}")
        self.violations.extend(broken)
        return broken

    def _show(
        self, report: Report, written: list[str], broken: Sequence[Violation]
    ) -> None:
        all_of_it = self._verbosity > 1
        parts = [report.summary(windows=True) if all_of_it else str(report)]
        if all_of_it and (tables := report.tables()):
            parts.append(tables)
        if broken:
            lines = [f"{_standing(one).capitalize()}: {one.message}" for one in broken]
            parts.append("\n".join(lines))
        if written:
            parts.append("\n".join(f"Written: {printable(path)}" for path in written))
        show("\n\n".join(parts) + "\n")


def _is_sound(prof: Any) -> bool:
    """Tells whether handlers may have `prof`: exporting a lost one would crash."""
    try:
        return not live.is_lost(prof)
    except AttributeError:
        return True  # it is none of torch's, so it is the handlers' matter


def _standing(violation: Violation) -> str:
    return "over budget" if violation.known else "budget undetermined"


def _what(report: Report) -> str:
    """Returns a name for a trace without a path."""
    numbers = {step.number for step in report.steps}
    if len(numbers) < 2:
        return f"<profiler: step {min(numbers)}>" if numbers else "<profiler>"
    return f"<profiler: steps {min(numbers)} to {max(numbers)}>"


def _functions(
    name: str, given: Callable[..., object] | Iterable[Callable[..., object]]
) -> tuple[Callable[..., object], ...]:
    if callable(given):
        return (given,)
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name} must be a function or several, but is {of_type(given)}"
        )
    functions = tuple(given)
    for function in functions:
        if not callable(function):
            raise TypeError(f"{name} must be functions, one is {of_type(function)}")
    return functions


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))
