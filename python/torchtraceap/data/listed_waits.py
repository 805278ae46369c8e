# SPDX-License-Identifier: BSD-3-Clause
"""listed_waits.py: the waits that a dry run wrote down, and the findings made of them.

The list is foreign text: what does not fit is left out.

The rule sync_stall finds those that cost idle time, which hangs on the host time that
was assumed. That the host waits does not: what the rule does not find is a finding too,
without any time.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.base.location import Location
from torchtraceap.base.safe_text import printable, writable
from torchtraceap.base.units import counted, time_text
from torchtraceap.data.findings import Finding, finding_id
from torchtraceap.waits.table import KINDS

if TYPE_CHECKING:
    from torchtraceap import _core
    from torchtraceap.data.facts import TraceFacts

PATTERN = "sync_stall"
_SUBTYPES = [kind.name for kind in KINDS]
_MOST_WAITS, _MOST_RUNS = 2_000, 10_000
_MOST_COUNT = 10**12  # Of a step's number, and of waits in it.
_PATH_WIDTH, _NAME_WIDTH, _TEXT_WIDTH = 4_096, 256, 400


@dataclass(frozen=True)
class RecordedWait:
    """A line at which the host waits, by one API."""

    location: Location | None
    api: str
    subtype: str
    steps: tuple[tuple[int, int, int], ...]  # First, last, and waits in each.
    guessed: bool
    why: str
    advice: str

    @property
    def first_only(self) -> bool:
        """It waits in no step after the first, which setting up is part of."""
        return all(last == 0 for _, last, _ in self.steps)

    def within(self, numbers: Sequence[int] | None) -> tuple[int, int]:
        """Return how often it waits, and in how many steps; of these, which are in
        order, if not of all."""
        times = steps = 0
        for first, last, each in self.steps:
            many = last - first + 1
            if numbers is not None:
                many = bisect_right(numbers, last) - bisect_left(numbers, first)
            times, steps = times + many * each, steps + many
        return times, steps


def read_recorded(trace: _core.Trace) -> tuple[RecordedWait, ...] | None:
    """Return the waits that a simulated trace lists; None if it lists none at all.

    Nor does one that was changed since, as a what-if is: its waits are others.
    """
    try:
        mark = json.loads(trace.metadata["torchtraceap"])
    except (KeyError, ValueError, RecursionError):
        return None
    if not isinstance(mark, dict) or "what_if" in mark:
        return None
    assumed = mark.get("dry_run")
    listed = assumed.get("waits") if isinstance(assumed, dict) else None
    if mark.get("simulated") is not True or not isinstance(listed, list):
        return None
    read = (_wait(form) for form in listed[:_MOST_WAITS])
    return tuple(wait for wait in read if wait is not None)


def _wait(form: Any) -> RecordedWait | None:
    if not isinstance(form, dict) or form.get("subtype") not in _SUBTYPES:
        return None
    api, runs = _text(form.get("api"), _NAME_WIDTH), form.get("steps")
    if not api or not isinstance(runs, list) or not 0 < len(runs) <= _MOST_RUNS:
        return None
    steps = tuple(_run(run) for run in runs)
    if None in steps:
        return None
    return RecordedWait(
        location=_location(form),
        api=api,
        subtype=form["subtype"],
        steps=tuple(run for run in steps if run is not None),
        guessed=form.get("value") == "guessed",
        why=_text(form.get("why"), _TEXT_WIDTH),
        advice=_text(form.get("advice"), _TEXT_WIDTH) or _core_advice(),
    )


def _run(run: Any) -> tuple[int, int, int] | None:
    if not isinstance(run, list) or len(run) != 3:
        return None
    if any(type(part) is not int or not 0 <= part <= _MOST_COUNT for part in run):
        return None
    first, last, each = run
    return (first, last, each) if first <= last and each else None


def _location(form: dict[str, Any]) -> Location | None:
    file, line, function = (form.get(key) for key in ("file", "line", "function"))
    if type(line) is not int or not 0 < line < 1 << 31:
        return None
    if not isinstance(file, str) or not 0 < len(file) <= _PATH_WIDTH:
        return None
    name = function if isinstance(function, str) else ""
    return Location(writable(file), line, writable(name[:_NAME_WIDTH]), True)


def _text(value: Any, width: int) -> str:
    return printable(value[: 2 * width], width) if isinstance(value, str) else ""


def _core_advice() -> str:
    return next(p.advice for p in _core.patterns() if p.name == PATTERN)


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
