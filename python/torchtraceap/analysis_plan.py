# SPDX-License-Identifier: BSD-3-Clause
"""analysis_plan.py: the options of an analysis, checked and made the core's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchtraceap import _core
from torchtraceap.base.arguments import checked_int, of_type
from torchtraceap.base.errors import TraceError
from torchtraceap.base.safe_text import printable
from torchtraceap.data.detector_choice import AUTO, OFF, DetectorChoice, checked_choice

if TYPE_CHECKING:
    from torchtraceap.data.config import Changes, Config
    from torchtraceap.data.rules import Rule
    from torchtraceap.report import Report

_LONGEST = 1900  # Of a message.
_MOST_EVENTS = 2**32 - 1  # what the core can count


@dataclass(frozen=True)
class AnalysisPlan:
    """Checked options, good for any number of analyses."""

    max_events: int | None = None
    rules: tuple[Rule, ...] = ()
    changes: Changes = field(default_factory=dict)
    detector: str = AUTO
    capture: str | None = None
    recover: bool = False  #: What is sound of damaged captures.

    def report(
        self, trace: _core.Trace, steps: tuple[int, int] | None = None
    ) -> Report:
        """Analyze a trace, of which only these steps, first and last, were asked for.
        Raises what a user's own rule does, as a RuleError."""
        from torchtraceap.report import Report

        captures, notes = self._captures(trace)
        core = _core.analyze(
            trace,
            max_events=self.max_events,
            settings=self._settings(),
            rules=self._rules(trace),
            steps=steps,
            captures=captures,
            notes=notes,
        )
        return Report(core, trace, self.changes, self.detector)

    def _captures(
        self, trace: _core.Trace
    ) -> tuple[list[_core.Capture], list[_core.Note]]:
        if self.capture is None:
            return [], []
        from torchtraceap.data.capture import rank_of, read_captures

        return read_captures(self.capture, rank_of(trace), self.recover)

    def _settings(self) -> _core.Settings:
        settings = _core.Settings()
        own = {rule.name for rule in self.rules}
        for pattern, changes in self.changes.items():
            if pattern in own:
                continue
            for name, value in changes.items():
                if name == "enabled":
                    settings.enable(pattern, bool(value))
                else:
                    settings.set(pattern, name, value)
        return settings

    def _rules(self, trace: _core.Trace) -> list[_core.OwnRule]:
        made = []
        for rule in self.rules:
            changes = self.changes.get(rule.name, {})
            if changes.get("enabled", True):
                from torchtraceap.data.rules import core_rule

                thresholds = {
                    name: changes.get(name, value)
                    for name, value in rule.thresholds.items()
                }
                made.append(core_rule(rule, thresholds, trace))
        return made


def of_torch(report: Report) -> Report:
    """Return a report; raise TraceError if another profiler wrote the trace."""
    for note in report.quality.warnings:
        if note.kind == "other_profiler":
            path, hint = report.trace.path, f"Record{note.detail.split('Record')[-1]}"
            text = printable(f"{path}: {note.detail}", _LONGEST)
            raise TraceError(text, path, note.kind, hint)
    return report


def plan_analysis(
    max_events: int | None = None,
    config: Config | None = None,
    rules: Iterable[Rule | str] = (),
    detector: DetectorChoice = AUTO,
    capture: str | os.PathLike[str] | None = None,
    recover: bool = False,
) -> AnalysisPlan:
    """Check the options of ``analyze``; ``recover`` is for captures. Weights named in
    ``detector`` are loaded, and torch with them, so that faults in them are reported
    here.

    Raises TypeError, ValueError or ConfigError with the fault.
    """
    if max_events is not None:
        checked_int("max_events", max_events, 1, _MOST_EVENTS)
    found: list[Rule] = []
    if rules != ():
        from torchtraceap.data.rules import find_rules

        found = find_rules(rules)
    changes: Changes = {}
    if config is not None:
        from torchtraceap.data.config import read_changes

        own: Mapping[str, Mapping[str, float]] = {r.name: r.thresholds for r in found}
        changes = read_changes(config, own)
    choice = checked_choice(detector)
    if os.fsdecode(detector) not in (AUTO, OFF):
        from torchtraceap.detection.model import load_named

        load_named(choice)
    if not (capture is None or isinstance(capture, str | os.PathLike)):
        raise TypeError(f"capture must be a folder, but is {of_type(capture)}")
    folder = None if capture is None else os.fsdecode(capture)
    return AnalysisPlan(max_events, tuple(found), changes, choice, folder, recover)
