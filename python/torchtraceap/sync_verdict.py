# SPDX-License-Identifier: BSD-3-Clause
"""sync_verdict.py: are these waits for the GPU too much? Needs no torch, no pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torchtraceap.events import Event
from torchtraceap.findings import Finding
from torchtraceap.report import Report
from torchtraceap.source_lines import Line, display_path, resolve

#: The pattern that this check is about, as in the core's table.
PATTERN = "sync_stall"
#: Shorter waits than this are hard to tell from the cost of any launch.
OVER_US = 50.0


@dataclass(frozen=True)
class Stall:
    """Operators of one kind that wait, or would, at one line."""

    line: Line | None
    operator: str  # "" if no operator was recorded around it
    count: int
    wasted_us: float | None  # device idle time it cost; None where that is unknown
    what: str
    advice: str
    names: tuple[str, ...] = ()  # what else `allow` may call the operator


@dataclass(frozen=True)
class Observation:
    """What one run showed, what it could show, and what it could not."""

    stalls: tuple[Stall, ...]
    scope: str
    problem: str = ""  # Why nothing can be said at all; "" if something can.


@dataclass(frozen=True)
class Verdict:
    ok: bool
    stalls: tuple[Stall, ...]  # Those neither allowed nor too short, costliest first.
    message: str


def decide(
    observation: Observation,
    *,
    over_us: float = OVER_US,
    max_count: int = 0,
    allow: Sequence[str] = (),
) -> Verdict:
    """Judges an observation by a budget. See sync_check.py for the options."""
    if observation.problem:
        return Verdict(False, (), f"{observation.problem}\n{observation.scope}")
    counted = [
        stall
        for stall in observation.stalls
        if not _too_short(stall, over_us) and not _allowed(stall, allow)
    ]
    counted.sort(key=lambda stall: (-(stall.wasted_us or 0.0), -stall.count))
    total = sum(stall.count for stall in counted)
    left_out = sum(stall.count for stall in observation.stalls) - total
    lines = [f"{_headline(counted)} (max_count={max_count})"]
    explained: set[str] = set()
    for stall in counted:
        lines.append(_describe(stall))
        if stall.what not in explained:
            explained.add(stall.what)
            lines += [f"      {stall.what}", f"      instead: {stall.advice}"]
    if left_out:
        lines.append(f"  and {left_out} that are allowed or shorter than over_us")
    lines.append(observation.scope)
    return Verdict(total <= max_count, tuple(counted), "\n".join(lines))


def from_report(
    report: Report, line_of: Callable[[Finding, Event], Line | None] | None = None
) -> tuple[Stall, ...]:
    """Reads the waits that cost device time out of a report.

    `line_of` tells the line of an event, where more is known than the trace says.
    A finding then falls apart into its lines, each with its share of the time.
    """
    stalls = []
    for finding in report.findings:
        if finding.pattern != PATTERN:
            continue
        counts: Counter[Line | None] = Counter()
        if line_of is not None:
            counts.update(line_of(finding, event) for event in finding.events)
        # A finding names only its costliest events.
        counts[None] += finding.count - counts.total()
        stalls += [
            Stall(
                line=line or _where_it_begins(finding),
                operator=finding.operator,
                count=count,
                wasted_us=finding.wasted_us * count / finding.count,
                what=finding.message,
                advice=finding.advice,
                names=(finding.subtype,),
            )
            for line, count in counts.items()
            if count > 0
        ]
    return tuple(stalls)


def _where_it_begins(finding: Finding) -> Line | None:
    place = finding.location
    if place is None:
        return None
    return Line(resolve(place.file), place.line, place.function, exact=False)


def _too_short(stall: Stall, over_us: float) -> bool:
    return stall.wasted_us is not None and stall.wasted_us / stall.count < over_us


def _allowed(stall: Stall, allow: Sequence[str]) -> bool:
    names = [stall.operator, stall.operator.removeprefix("aten::"), *stall.names]
    if stall.line is not None:
        file = stall.line.file
        for path in (file, display_path(file), file.rpartition("/")[2]):
            names += [path, f"{path}:{stall.line.line}"]
    return any(
        name and fnmatchcase(name, pattern) for name in names for pattern in allow
    )


def _describe(stall: Stall) -> str:
    place = str(stall.line) if stall.line else "(no Python line was recorded)"
    cost = "" if stall.wasted_us is None else f", {stall.wasted_us:,.0f} µs idle"
    operator = f"  {stall.operator}" if stall.operator else ""
    return f"  {place}{operator}  ×{stall.count}{cost}"


def _headline(stalls: Sequence[Stall]) -> str:
    """Comes first, as pytest's own summary shows nothing else."""
    if not stalls:
        return "nothing waits for the GPU"
    first = stalls[0]
    what = first.operator or "something"
    more = f" and {len(stalls) - 1} more" if len(stalls) > 1 else ""
    verb = "wait" if more else "waits"
    return f"{first.line or 'no line known'}: {what}{more} {verb} for the GPU"
