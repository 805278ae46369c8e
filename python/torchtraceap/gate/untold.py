# SPDX-License-Identifier: BSD-3-Clause
"""untold.py: limits of which a trace does not tell whether it keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.budget import EVERY, TIME_LIMITS, Violation
from torchtraceap.recorded_waits import PATTERN as WAITS
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.budget import Budget
    from torchtraceap.report import Report

NO_DEVICE = "the trace has no device work"
NO_STEPS = "the trace has no steps; call prof.step() after each"
INCOMPLETE = "records of the device are missing from the trace"
SIMULATED = "the trace is simulated by a dry run: no time in it was measured"
BY_TIMES = (
    "the trace is simulated by a dry run: what rules find in it hangs on its times"
)
UNLISTED = "the trace is simulated by a dry run, and does not list its waits"


def untold(
    limit: str, allowed: float | str, why: str, found: float | None = None
) -> Violation:
    """Return what stands for a limit of which nothing can be said."""
    value = repr(allowed) if isinstance(allowed, str) else f"{allowed:g}"
    message = f"{limit} = {value} cannot be told: {why}"
    return Violation(limit, allowed, found, message, known=False, why=why)


def times_untold(
    budget: Budget, report: Report, found: Sequence[Violation]
) -> Iterator[Violation]:
    """Yield what breaks limits of a simulated trace. Of times nothing can be told, kept
    or not, for none was measured; nor of counts of what rules find by such times. Of
    counts of waits it can: the trace lists each."""
    for name, allowed in budget.lines():
        own = [violation for violation in found if violation.limit == name]
        figure = own[0].found if own else None
        section, _, key = name.removeprefix("patterns.").rpartition(".")
        if key in TIME_LIMITS:
            said = None if isinstance(figure, str) else figure
            yield untold(name, allowed, SIMULATED, said)
        elif key != "max_count":
            yield from own
        elif section == EVERY:
            of_waits = [v for v in own if v.finding and v.finding.pattern == WAITS]
            if of_waits and _tells_waits(budget, report):
                yield from of_waits
            yield untold(name, allowed, BY_TIMES)
        elif section == WAITS and _tells_waits(budget, report):
            yield from own
        else:
            why = BY_TIMES if section != WAITS else UNLISTED
            if section == WAITS and report._wait_counts is not None:
                why = f"{SIMULATED}, and over_us is a limit of times"
            yield untold(name, allowed, why)


def _tells_waits(budget: Budget, report: Report) -> bool:
    limits = [budget.patterns.get(name) for name in (WAITS, EVERY)]
    over_us = any(limit and limit.over_us is not None for limit in limits)
    return report._wait_counts is not None and not over_us


def reasons(report: Report) -> str:
    """Return why the quality of a trace is what it is."""
    return " ".join(printable(note.detail) for note in report.quality.reasons)
