# SPDX-License-Identifier: BSD-3-Clause
"""budget_data.py: the limits of a budget, and what breaks one, as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from torchtraceap._core import Finding, Location
from torchtraceap.base.location import whole_place

#: In ``Budget.patterns``: what holds for every pattern, where it sets no other.
EVERY = "*"
VERDICTS = ("ok", "degraded", "unusable")  # Of the quality, best first.


def _number(most: float = math.inf, least: float = 0.0) -> Any:
    """Return a field for a limit that is a number; None, the default: no limit."""
    return field(default=None, metadata={"least": least, "most": most})


def _choice(*words: str, default: str | None = None) -> Any:
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True)
class PatternLimits:
    """What findings of one pattern may cost. None: anything."""

    max_count: float | None = _number()  #: Occurrences.
    max_wasted_us: float | None = _number()
    #: Of ``TraceFacts.device_time_us``, 0 to 1.
    max_share: float | None = _number(1.0)
    #: What cost less does not count, each on its own.
    over_us: float | None = _number()
    #: Places and operators that do not count.
    allow: tuple[str, ...] = field(default=(), metadata={"names": True})


@dataclass(frozen=True)
class RankLimits:
    """What the ranks of a job may cost each other. None: anything."""

    max_slowdown: float | None = _number(least=1.0)  #: ``JobFacts.slowdown``.
    max_late_us: float | None = _number()  #: Of a step, by one rank: its ``gain_us``.
    max_waited_share: float | None = _number(1.0)  #: Of the time of all ranks.
    max_missing: float | None = _number()  #: Ranks without a trace that could be read.


@dataclass(frozen=True)
class BudgetData:
    """What a trace may cost. None: no limit."""

    max_gap_us: float | None = _number()  #: Longest pause between work, of each device.
    min_busy: float | None = _number(1.0)  #: Busy share of each device, 0 to 1.
    max_step_us: float | None = _number()  #: Of the longest step.
    max_median_step_us: float | None = _number()
    max_kernels_per_step: float | None = _number()  #: Of the step that launches most.
    #: Of all findings together, 0 to 1.
    max_wasted_share: float | None = _number(1.0)
    #: Most that tensors of one device hold, in 10^9 bytes.
    peak_memory_gb: float | None = _number()
    #: By which memory of one device or the host grows in each step, in 10^6 bytes.
    max_memory_growth_mb: float | None = _number()
    min_quality: str | None = _choice(*VERDICTS)
    #: "pass": what is undetermined breaks no limit.
    unknown: str = _choice("fail", "pass", default="fail")
    patterns: Mapping[str, PatternLimits] = field(default_factory=dict)
    ranks: RankLimits = RankLimits()  #: Of a job; of no trace alone.

    def lines(self) -> Iterator[tuple[str, float | str]]:
        """Yield the name and the value of each limit."""
        for name in LIMITS:
            if (value := getattr(self, name)) is not None:
                yield name, value
        for pattern, limits in self.patterns.items():
            for name in PATTERN_LIMITS:
                if (value := getattr(limits, name)) is not None:
                    yield f"patterns.{pattern}.{name}", value

    def rank_lines(self) -> Iterator[tuple[str, float]]:
        """Yield the name and the value of each limit of a job."""
        for name in RANK_LIMITS:
            if (value := getattr(self.ranks, name)) is not None:
                yield f"ranks.{name}", value


#: The limits of a budget, of ranks and of a pattern, in the order of their fields.
LIMITS = tuple(
    f.name for f in fields(BudgetData) if f.name not in ("unknown", "patterns", "ranks")
)
RANK_LIMITS = tuple(f.name for f in fields(RankLimits))
PATTERN_LIMITS = ("max_count", "max_wasted_us", "max_share")
#: Those of both that limit times or shares of time, which a simulation only assumes.
TIME_LIMITS = (
    "max_gap_us",
    "min_busy",
    "max_step_us",
    "max_median_step_us",
    "max_wasted_share",
    "max_wasted_us",
    "max_share",
)

#: Why a limit is undetermined.
NO_DEVICE = "the trace has no device work"
NO_STEPS = "the trace has no steps; call prof.step() after each"
NO_MEMORY = (
    "the trace has no [memory] events; record it with profile_memory=True "
    "(torchtraceap.profile(memory=True))"
)
ONE_TRACE = "it is of one trace, and the budget limits the ranks of a job alone"
INCOMPLETE = "records of the device are missing from the trace"
SIMULATED = "the trace is simulated by a dry run: no time in it was measured"
BY_TIMES = (
    "the trace is simulated by a dry run: what rules find in it depends on its times"
)
UNLISTED = "the trace is simulated by a dry run, and does not list its waits"


@dataclass(frozen=True)
class Violation:
    """A limit that a trace breaks, or that is undetermined."""

    limit: str  #: As in the budget: ``min_busy``, ``patterns.sync_stall.max_count``.
    allowed: float | str  #: A text for ``min_quality``.
    found: float | str | None  #: None: no figure can be given.
    message: str  #: One line with the place and the figures, safe to print.
    known: bool = True  #: False: it is undetermined.
    findings: tuple[Finding, ...] = ()  #: All that count, costliest first.
    why: str = ""  #: It is undetermined; many limits may share one reason.
    rank: int | None = None  #: Where a job breaks it, by which rank.
    place: Location | None = None  #: And by what in its code.

    @property
    def finding(self) -> Finding | None:
        """The costliest that counts."""
        return self.findings[0] if self.findings else None

    @property
    def location(self) -> Location | None:
        """Where that is."""
        return self.finding.location if self.finding else self.place


def place_of(finding: Finding) -> str:
    """Return where a finding is, in one line that is safe to print."""
    return whole_place(finding.location, finding.operator, function=False)


def limit_text(limit: str, allowed: float | str) -> str:
    """Return a limit as a budget has it: ``min_busy = 0.6``."""
    value = repr(allowed) if isinstance(allowed, str) else f"{allowed:g}"
    return f"{limit} = {value}"


def broken(
    limit: str,
    allowed: float,
    found: float,
    text: str,
    findings: Sequence[Finding] = (),
) -> Violation:
    """Return what breaks a limit; ``text`` says how."""
    message = f"{text}, {limit_text(limit, allowed)}"
    return Violation(limit, allowed, found, message, findings=tuple(findings))


def undetermined(
    limit: str, allowed: float | str, why: str, found: float | None = None
) -> Violation:
    """Return the violation for a limit that is undetermined."""
    message = f"{limit_text(limit, allowed)} is undetermined: {why}"
    return Violation(limit, allowed, found, message, known=False, why=why)
