# SPDX-License-Identifier: BSD-3-Clause
"""budget.py: what a trace may cost: limits, read from a file.

::

    min_busy = 0.6

    [patterns.sync_stall]
    max_count = 0

docs/ci.md lists every key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of, of_type, wrong_number
from torchtraceap.base.errors import ConfigError
from torchtraceap.data.config import checked_table, read_section
from torchtraceap.gate.budget_data import (
    EVERY,
    LIMITS,
    PATTERN_LIMITS,
    VERDICTS,
    BudgetData,
    PatternLimits,
    Violation,
)

if TYPE_CHECKING:
    from torchtraceap.report_data import ReportData


class Budget(BudgetData):
    """What a trace may cost; ``read_budget`` makes one. None: no limit."""

    def check(self, report: ReportData) -> tuple[Violation, ...]:
        """Return the limits that a report breaks, in the order of `lines`.

        What cannot be told, such as the busy share of a trace without device work, or
        any time of one that is simulated, is a violation that is not ``known``, unless
        ``unknown`` is "pass". The cost is that of ``report.rule_findings`` where a
        limit concerns findings, and little else.
        """
        from torchtraceap.gate.judge import judge

        found = judge(self, report)
        return tuple(v for v in found if v.known or self.unknown == "fail")


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

    made, origin = read_form(budget, rules)
    if needs_limit and not any(made.lines()):
        raise ConfigError(
            f"{origin} limits nothing, so that every trace would keep it; set a limit, "
            f"such as min_busy = 0.5 (there are: {', '.join(LIMITS)}), or one of "
            f"[patterns.NAME] ({', '.join(PATTERN_LIMITS)})"
        )
    return made


_SHARES = ("min_busy", "max_wasted_share", "max_share")
_CHOICES = {"min_quality": VERDICTS, "unknown": ("fail", "pass")}


def read_form(
    budget: str | os.PathLike[str] | Mapping[str, Any], rules: Iterable[str]
) -> tuple[Budget, str]:
    """Return a budget, and what messages call it.

    Raises ConfigError and TypeError as ``read_budget`` does.
    """
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
