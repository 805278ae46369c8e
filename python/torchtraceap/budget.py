# SPDX-License-Identifier: BSD-3-Clause
"""budget.py: what a trace may cost, read from TOML or a dict and held against reports.

::

    min_busy = 0.6

    [patterns.sync_stall]
    max_count = 0

docs/ci.md lists every key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from torchtraceap.errors import ConfigError

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.location import Location
    from torchtraceap.report import Report

#: In ``Budget.patterns``: what holds for every pattern, where it sets no other.
EVERY = "*"
VERDICTS = ("ok", "degraded", "unusable")  # Of the quality, best first.


@dataclass(frozen=True)
class PatternLimits:
    """What findings of one pattern may cost. None: anything."""

    max_count: float | None = None  #: Occurrences.
    max_wasted_us: float | None = None
    max_share: float | None = None  #: Of ``TraceFacts.device_time_us``, 0 to 1.
    over_us: float | None = None  #: What cost less does not count, each on its own.
    allow: tuple[str, ...] = ()  #: Places and operators that do not count.


@dataclass(frozen=True)
class Violation:
    """A limit that a trace breaks, or of which it cannot be told whether it does."""

    limit: str  #: As in the budget: ``min_busy``, ``patterns.sync_stall.max_count``.
    allowed: float | str  #: A text for ``min_quality``.
    found: float | str | None  #: None: no figure can be given.
    message: str  #: One line with the place and the figures, safe to print.
    finding: Finding | None = None  #: The costliest that counts.
    location: Location | None = None  #: Of that finding.
    known: bool = True  #: False: it cannot be told.
    findings: tuple[Finding, ...] = ()  #: All that count, costliest first.
    why: str = ""  #: It cannot be told; many limits may share one reason.


@dataclass(frozen=True)
class Budget:
    """What a trace may cost; ``read_budget`` makes one. None: no limit."""

    max_gap_us: float | None = None  #: Longest pause between work, of each device.
    min_busy: float | None = None  #: Busy share of each device, 0 to 1.
    max_step_us: float | None = None  #: Of the longest step.
    max_median_step_us: float | None = None
    max_kernels_per_step: float | None = None  #: Of the step that launches most.
    max_wasted_share: float | None = None  #: Of all findings together, 0 to 1.
    min_quality: str | None = None  #: One of VERDICTS.
    unknown: str = "fail"  #: Or "pass": what cannot be told breaks no limit.
    patterns: Mapping[str, PatternLimits] = field(default_factory=dict)

    def check(self, report: Report) -> tuple[Violation, ...]:
        """Return the limits that a report breaks, in the order of `lines`.

        What cannot be told, such as the busy share of a trace without device work, or
        any time of one that is simulated, is a violation that is not ``known``, unless
        ``unknown`` is "pass". The cost is that of ``report.rule_findings`` where a
        limit concerns findings, and little else.
        """
        from torchtraceap.gate.judge import judge

        found = judge(self, report)
        return tuple(v for v in found if v.known or self.unknown == "fail")

    def lines(self) -> Iterator[tuple[str, float | str]]:
        """Yield the name and the value of each limit."""
        for name in LIMITS:
            if (value := getattr(self, name)) is not None:
                yield name, value
        for pattern, limits in self.patterns.items():
            for name in PATTERN_LIMITS:
                if (value := getattr(limits, name)) is not None:
                    yield f"patterns.{pattern}.{name}", value


#: The limits of a budget and of a pattern, in the order of their fields.
LIMITS = tuple(f.name for f in fields(Budget) if f.name not in ("unknown", "patterns"))
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


def read_budget(
    budget: str | os.PathLike[str] | Mapping[str, Any],
    *,
    rules: Iterable[str] = (),
    needs_limit: bool = True,
) -> Budget:
    """Read a budget from a TOML file, or from a dict of the same form.

    Of ``pyproject.toml``, the section ``[tool.torchtraceap.budget]`` counts; of another
    file its table ``[budget]``, or all of it if it has none.

    Args:
        budget: The file or the dict.
        rules: Names of rules of the user's own that it may limit.
        needs_limit: Refuse one without limits, which every trace would keep. False: it
            is held against a baseline too, and may just say what is ``unknown``.

    Raises:
        ConfigError: Something in it makes no sense, or it limits nothing; the message
            says what and where.
        TypeError: ``budget`` is neither.
    """
    from torchtraceap.gate.budget_form import read_form

    made, origin = read_form(budget, rules)
    if needs_limit and not any(made.lines()):
        raise ConfigError(
            f"{origin} limits nothing, so that every trace would keep it; set a limit, "
            f"such as min_busy = 0.5 (there are: {', '.join(LIMITS)}), or one of "
            f"[patterns.NAME] ({', '.join(PATTERN_LIMITS)})"
        )
    return made
