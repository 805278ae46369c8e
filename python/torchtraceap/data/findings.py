# SPDX-License-Identifier: BSD-3-Clause
"""findings.py: anti-patterns at places of the user's code, with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.base.location import Location, read_location
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.events import Event, read_events
from torchtraceap.data.found_lines import FoundLines
from torchtraceap.data.from_core import from_core, identity

#: The pattern of waits for the device, which a dry run lists.
WAITS = "sync_stall"
#: The pattern of what the learned detector points at and no rule explains.
UNEXPLAINED = "unexplained"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One anti-pattern at one place, with what it cost."""

    id: str  #: The same for the same pattern at the same place of another trace.
    pattern: str
    subtype: str  #: "" if the pattern has none.
    side: str  #: "cpu" or "gpu": whose code has to change.
    severity: str  #: "low", "medium" (3 % of the span and more), "high" (10 %).
    count: int
    #: Of ``sync_stall``, in a trace that lists the waits of a dry run: how often the
    #: host waits here, whatever that costs. None in other traces.
    waits: int | None = None
    wasted_us: float = 0.0  #: Idle and excess time; no microsecond is in two findings.
    #: "measured"; of a simulated trace "simulated"; "estimate": mostly an upper bound,
    #: what faster work could save; "model": no time is claimed.
    basis: str
    idle_us: float = 0.0  #: The part of `wasted_us` in which the device was idle.
    #: What the replay takes off the trace without what it alone claims (a fix may do
    #: less or more), and what of that is counted on: 3/4 or 0. None: the replay is not
    #: to be believed; ``Report.recovery`` says why.
    recoverable_us: float | None = None
    recoverable_low_us: float | None = None
    recoverable_fraction: float | None = None  #: recoverable_us as a share of the span.
    edit: str = ""  #: What the replay does in place of a fix: see docs/replay.md.
    #: Patterns of other findings whose fixes save a quarter of the same idle time and
    #: more, the most first: gains of findings that share are not to be added up.
    shares_gain_with: tuple[str, ...] = ()
    location: Location | None  #: None: no Python frames, or several places.
    #: Deepest operator above the evidence, of a line the one with over half; or "".
    operator: str
    message: str
    advice: str
    windows: tuple[int, ...]  #: Indices into ``Report.windows``.
    events: tuple[Event, ...]  #: Costliest first, at most eight.
    #: The processes whose time it is, or that feed the devices, as far as known.
    processes: tuple[int | str, ...] = ()
    #: "rule": found in a recording; "dry-run": by the same rules in a simulated trace;
    #: "model": windows that the learned detector flags and no rule explains. That is
    #: no proof, and ``events`` are what it looked at most.
    origin: str = "rule"
    #: Deepest function below `location` that holds four fifths of the time and more.
    deepest: Location | None = None

    @property
    def docs(self) -> str:
        """The page that explains the pattern, in torchtraceap's repository."""
        if self.pattern == UNEXPLAINED:
            return "docs/detector.md"
        return f"docs/patterns/{self.pattern}.md"

    @property
    def kind(self) -> str:
        """The pattern, with its sub-type if it has one: ``sync_stall (event)``."""
        if self.pattern == UNEXPLAINED:
            return "unexplained, look here"
        return f"{self.pattern} ({self.subtype})" if self.subtype else self.pattern


def read_findings(
    core: Sequence[_core.Finding], report: _core.Report, trace: _core.Trace
) -> tuple[Finding, ...]:
    """Convert the core's findings, in its order."""
    origin = report.origin
    sure = "simulated" if origin == "dry-run" else "measured"
    lines = FoundLines(report.trace.path)
    span_ns = report.trace.end_ns - report.trace.begin_ns
    findings = []
    for f in core:
        low_us = high_us = share = None
        if f.gain is not None:
            low_us, high_us = us_from_ns(f.gain.low_ns), us_from_ns(f.gain.high_ns)
            share = min(1.0, f.gain.high_ns / span_ns) if span_ns > 0 else 0.0
        findings.append(
            from_core(
                Finding,
                f,
                basis="estimate" if f.estimate else sure,
                recoverable_us=high_us,
                recoverable_low_us=low_us,
                recoverable_fraction=share,
                location=read_location(f.location, lines.line_of(f)),
                events=read_events(trace, f.events),
                processes=tuple(identity(trace, pid) for pid in f.pids),
                origin=origin,
                deepest=read_location(f.deepest),
            )
        )
    return tuple(findings)
