# SPDX-License-Identifier: BSD-3-Clause
"""wait_findings.py: findings of the waits that a simulated trace lists.

The rule sync_stall finds those that cost idle time, which hangs on the host time that
was assumed. That the host waits does not: what the rule does not find is a finding too,
without any time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.findings import Finding, finding_id
from torchtraceap.location import Location
from torchtraceap.recorded_waits import PATTERN, RecordedWait, read_recorded
from torchtraceap.units import counted, time_text

if TYPE_CHECKING:
    from torchtraceap import _core
    from torchtraceap.facts import TraceFacts

_Place = tuple[str, int | None] | None


@dataclass(frozen=True)
class Recorded:
    """What the list of waits makes of a report's findings."""

    #: Waits at whose lines the rule found nothing; those of set-up last.
    findings: tuple[Finding, ...] = ()
    #: How often the host waits, by id of a finding of `PATTERN`; None: no list.
    counts: dict[str, int] | None = None


def recorded_findings(
    trace: _core.Trace,
    facts: TraceFacts,
    found: Sequence[Finding],
    steps: Collection[int],
    is_part: bool,
) -> Recorded:
    """Make findings of waits, and tell how often the host waits at those of the rule.

    Args:
        trace: What lists the waits in its mark.
        facts: What the trace is.
        found: The findings of the core.
        steps: The numbers of its steps.
        is_part: Less than the whole trace was loaded: only what is in the steps counts,
            if there are any.
    """
    waits = read_recorded(trace) if facts.simulated is not None else None
    if waits is None:
        return Recorded()
    numbers = sorted(set(steps)) if is_part and steps else None
    taken = {finding.id for finding in found}
    stalls: dict[_Place, Finding] = {}
    for finding in found:
        if finding.pattern == PATTERN:
            stalls.setdefault(_place(finding.location), finding)
    counts: dict[str, int] = {}
    made = []
    for wait in sorted(waits, key=lambda wait: wait.first_only):
        times, in_steps = wait.within(numbers)
        if not times:
            continue
        stall = stalls.get(_place(wait.location))
        if stall is None:
            often = _often(wait, times, in_steps, len(steps) > 1)
            if is_part and numbers is None:
                often += " (of the whole run)"
            stall = _finding(wait, times, often, facts, taken)
            made.append(stall)
        counts[stall.id] = counts.get(stall.id, 0) + times
    return Recorded(tuple(made), counts)


def _place(location: Location | None) -> _Place:
    return None if location is None else (location.file, location.recorded_line)


def _finding(
    wait: RecordedWait,
    times: int,
    often: str,
    facts: TraceFacts,
    taken: set[str],
) -> Finding:
    where = wait.location
    place = (where.file, where.line, where.function) if where else None
    return Finding(
        id=finding_id(PATTERN, (wait.subtype, place, "" if place else wait.api), taken),
        pattern=PATTERN,
        subtype=wait.subtype,
        side="cpu",
        severity="low",
        count=times,
        basis="simulated",
        location=where,
        operator=wait.api,
        message=_message(wait, often, facts),
        advice=wait.advice,
        windows=(),
        events=(),
        origin="dry-run",
    )


def _often(wait: RecordedWait, times: int, steps: int, several: bool) -> str:
    text = counted(times, "time")
    if wait.first_only and several:
        return text + ", in the first step only"
    if several or times > 1:
        text += f", {times / steps:.3g} a step"
    return text


def _message(wait: RecordedWait, often: str, facts: TraceFacts) -> str:
    why = f": {wait.why}" if wait.why else ""
    guessed = " (a guessed value)" if wait.guessed else ""
    assumed = facts.simulated and facts.simulated.host_us_per_op
    host = "the host time that is assumed"
    if assumed:
        host = f"{time_text(assumed)} of host time assumed for an operator"
    return (
        f"the host waits for the GPU here {often}{why}{guessed}; on this simulated "
        f"timeline, with {host}, that costs no idle time"
    )
