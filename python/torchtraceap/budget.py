# SPDX-License-Identifier: BSD-3-Clause
"""budget.py: what a trace may cost, read from TOML or a dict and held against reports.

::

    min_busy = 0.6

    [patterns.sync_stall]
    max_count = 0

docs/budgets.md lists every key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.arguments import instead_of, of_type, wrong_number
from torchtraceap.config import checked_table, read_section
from torchtraceap.errors import ConfigError

if TYPE_CHECKING:
    from torchtraceap.findings import Finding, Location
    from torchtraceap.report import Report

#: In ``Budget.patterns``: what holds for every pattern, where it sets no other.
EVERY = "*"
VERDICTS = ("ok", "degraded", "unusable")  # Of the quality, best first.


@dataclass(frozen=True)
class PatternLimits:
    """What findings of one pattern may cost. None: anything."""

    max_count: float | None = None  # Occurrences.
    max_wasted_us: float | None = None
    max_share: float | None = None  # Of ``TraceFacts.device_time_us``, 0 to 1.
    over_us: float | None = None  # What cost less does not count, each on its own.
    allow: tuple[str, ...] = ()  # Places and operators that do not count.


@dataclass(frozen=True)
class Violation:
    """A limit that a trace breaks, or of which it cannot be told whether it does."""

    limit: str  # As in the budget: ``min_busy``, ``patterns.sync_stall.max_count``.
    allowed: float | str  # A text for ``min_quality``.
    found: float | str | None  # None: no figure can be given.
    message: str  # One line with the place and the figures, safe to print.
    finding: Finding | None = None  # The costliest that counts.
    location: Location | None = None  # Of that finding.
    known: bool = True  # False: it cannot be told.
    findings: tuple[Finding, ...] = ()  # All that count, costliest first.
    why: str = ""  # It cannot be told; many limits may share one reason.


@dataclass(frozen=True)
class Budget:
    """What a trace may cost; ``read_budget`` makes one. None: no limit."""

    max_gap_us: float | None = None  # Longest pause between work, of each device.
    min_busy: float | None = None  # Busy share of each device, 0 to 1.
    max_step_us: float | None = None  # Of the longest step.
    max_median_step_us: float | None = None
    max_kernels_per_step: float | None = None  # Of the step that launches most.
    max_wasted_share: float | None = None  # Of all findings together, 0 to 1.
    min_quality: str | None = None  # One of VERDICTS.
    unknown: str = "fail"  # Or "pass": what cannot be told breaks no limit.
    patterns: Mapping[str, PatternLimits] = field(default_factory=dict)

    def check(self, report: Report) -> tuple[Violation, ...]:
        """Return the limits that a report breaks, in the order of `lines`.

        What cannot be told, such as the busy share of a trace without device work, is
        a violation that is not ``known``, unless ``unknown`` is "pass". The cost is
        that of ``report.findings`` where a limit concerns findings, and little else.
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
_SHARES = ("min_busy", "max_wasted_share", "max_share")
_CHOICES = {"min_quality": VERDICTS, "unknown": ("fail", "pass")}


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
    made, origin = _read(budget, rules)
    if needs_limit and not any(made.lines()):
        raise ConfigError(
            f"{origin} limits nothing, so that every trace would keep it; set a limit, "
            f"such as min_busy = 0.5 (there are: {', '.join(LIMITS)}), or one of "
            f"[patterns.NAME] ({', '.join(PATTERN_LIMITS)})"
        )
    return made


def _read(
    budget: str | os.PathLike[str] | Mapping[str, Any], rules: Iterable[str]
) -> tuple[Budget, str]:
    """Return a budget, and what messages call it."""
    if isinstance(budget, Mapping):
        return _budget(budget, "budget", rules), "budget"
    if not isinstance(budget, str | os.PathLike):
        raise TypeError(f"budget must be a path or a dict, but is {of_type(budget)}")
    path = Path(os.fsdecode(budget))
    section = read_section(path)
    if path.name == "pyproject.toml" and "budget" not in checked_table(section, ""):
        raise ConfigError(f"{path} has no section [tool.torchtraceap.budget]")
    if isinstance(section, Mapping) and "budget" in section:
        section = section["budget"]
    return _budget(section, str(path), rules), str(path)


def _budget(section: object, origin: str, rules: Iterable[str]) -> Budget:
    found = dict(checked_table(section, origin))
    table = checked_table(found.pop("patterns", {}), f"{origin}: patterns")
    values = {
        key: _value(f"{origin}: {key}", key, value, (*LIMITS, *_CHOICES, "patterns"))
        for key, value in found.items()
    }
    names = [p.name for p in _core.patterns() if p.user_finding] + list(rules)
    patterns = {}
    for name, limits in table.items():
        where = f"{origin}: patterns.{name}"
        if name != EVERY and name not in names:
            raise ConfigError(
                f"{where}: no finding has this pattern; {instead_of(name, names)}"
            )
        patterns[name] = _pattern_limits(checked_table(limits, where), where)
    made = Budget(**values, patterns=patterns)
    for name, limits in patterns.items():
        every = patterns.get(EVERY, limits)
        if limits.over_us is not None and not any(
            getattr(one, key) is not None
            for one in (limits, every)
            for key in PATTERN_LIMITS
        ):
            raise ConfigError(
                f"{origin}: patterns.{name}.over_us alone limits nothing; "
                "add max_count = 0, or another limit"
            )
    return made


def _pattern_limits(table: Mapping[str, Any], where: str) -> PatternLimits:
    known = tuple(f.name for f in fields(PatternLimits))
    values: dict[str, Any] = {
        key: _allowed(f"{where}.{key}", value)
        if key == "allow"
        else _value(f"{where}.{key}", key, value, known)
        for key, value in table.items()
    }
    return PatternLimits(**values)


def _value(where: str, key: str, value: object, known: tuple[str, ...]) -> Any:
    if key not in known:
        raise ConfigError(f"{where}: unknown key; {instead_of(key, known)}")
    if choices := _CHOICES.get(key):
        if value not in choices:
            said = repr(value) if isinstance(value, str) else of_type(value)
            named = " or ".join(map(repr, choices))
            raise ConfigError(f"{where} must be {named}, but is {said}")
    elif wrong := wrong_number(value, 1.0 if key in _SHARES else None):
        raise ConfigError(f"{where} {wrong}")
    return value


def _allowed(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(
        isinstance(one, str) and one for one in value
    ):
        raise ConfigError(f"{where} must be a list of names, but is {value!r}")
    return tuple(value)
