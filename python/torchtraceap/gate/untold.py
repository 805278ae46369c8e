# SPDX-License-Identifier: BSD-3-Clause
"""untold.py: limits of which a trace does not tell whether it keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.budget import TIME_LIMITS, Violation
from torchtraceap.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.budget import Budget
    from torchtraceap.report import Report

NO_DEVICE = "the trace has no device work"
NO_STEPS = "the trace has no steps; call prof.step() after each"
INCOMPLETE = "records of the device are missing from the trace"
SIMULATED = "the trace is simulated by a dry run: no time in it was measured"


def untold(
    limit: str, allowed: float | str, why: str, found: float | None = None
) -> Violation:
    """Return what stands for a limit of which nothing can be said."""
    value = repr(allowed) if isinstance(allowed, str) else f"{allowed:g}"
    message = f"{limit} = {value} cannot be told: {why}"
    return Violation(limit, allowed, found, message, known=False, why=why)


def times_untold(budget: Budget, found: Sequence[Violation]) -> Iterator[Violation]:
    """Yield what breaks limits of a simulated trace: of times, nothing can be told,
    kept or not, for none was measured."""
    for name, allowed in budget.lines():
        own = [violation for violation in found if violation.limit == name]
        if name.rpartition(".")[2] in TIME_LIMITS:
            said = own[0].found if own else None
            figure = None if isinstance(said, str) else said
            yield untold(name, allowed, SIMULATED, figure)
        else:
            yield from own


def reasons(report: Report) -> str:
    """Return why the quality of a trace is what it is."""
    return " ".join(printable(note.detail) for note in report.quality.reasons)
