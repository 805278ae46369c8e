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
from typing import Any

from torchtraceap import _core
from torchtraceap.base.arguments import instead_of, of_type, wrong_number
from torchtraceap.base.errors import ConfigError
from torchtraceap.data.config import checked_table, read_section
from torchtraceap.data.job import JobData
from torchtraceap.gate.budget_data import (
    EVERY,
    LIMITS,
    PATTERN_LIMITS,
    RANK_LIMITS,
    VERDICTS,
    BudgetData,
    PatternLimits,
    RankLimits,
    Violation,
)
from torchtraceap.report_data import ReportData

_SHARES = ("min_busy", "max_wasted_share", "max_share", "max_waited_share")
_CHOICES = {"min_quality": VERDICTS, "unknown": ("fail", "pass")}
_OF_PATTERN = tuple(f.name for f in fields(PatternLimits))


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

        return self._told(judge(self, report))

    def check_ranks(self, job: JobData) -> tuple[Violation, ...]:
        """Return the limits of ``[ranks]`` that the ranks of a job break, likewise in
        the order of `rank_lines`; each names a rank and what made it late."""
        from torchtraceap.gate.judge_ranks import judge_ranks

        return self._told(judge_ranks(self, job))

    def _told(self, found: Iterable[Violation]) -> tuple[Violation, ...]:
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
    if isinstance(budget, Mapping):
        section, origin = budget, "budget"
    elif isinstance(budget, str | os.PathLike):
        path = Path(os.fsdecode(budget))
        section, origin = _section(path), str(path)
    else:
        raise TypeError(f"budget must be a path or a dict, but is {of_type(budget)}")
    made = _budget(checked_table(section, origin), origin, rules)
    if needs_limit and not any(made.lines()) and not any(made.rank_lines()):
        raise ConfigError(
            f"{origin} limits nothing, so that every trace would keep it; set a limit, "
            f"such as min_busy = 0.5 (there are: {', '.join(LIMITS)}), or one of "
            f"[patterns.NAME] ({', '.join(PATTERN_LIMITS)}) or [ranks] "
            f"({', '.join(RANK_LIMITS)})"
        )
    return made


def _section(path: Path) -> Any:
    section = read_section(path)
    if path.name == "pyproject.toml" and "budget" not in checked_table(section, ""):
        raise ConfigError(f"{path} has no section [tool.torchtraceap.budget]")
    if isinstance(section, Mapping) and "budget" in section:
        return section["budget"]
    return section


def _budget(table: Mapping[str, Any], origin: str, rules: Iterable[str]) -> Budget:
    known = (*LIMITS, *_CHOICES, "patterns", "ranks")
    values = {
        key: _value(f"{origin}: {key}", key, value, known)
        for key, value in table.items()
        if key not in ("patterns", "ranks")
    }
    of_ranks = checked_table(table.get("ranks", {}), f"{origin}: ranks")
    values["ranks"] = RankLimits(
        **{
            key: _value(f"{origin}: ranks.{key}", key, value, RANK_LIMITS)
            for key, value in of_ranks.items()
        }
    )
    names = [p.name for p in _core.patterns() if p.user_finding] + list(rules)
    patterns: dict[str, PatternLimits] = {}
    of_patterns = checked_table(table.get("patterns", {}), f"{origin}: patterns")
    for name, limits in of_patterns.items():
        where = f"{origin}: patterns.{name}"
        if name != EVERY and name not in names:
            raise ConfigError(
                f"{where}: no finding has this pattern; {instead_of(name, names)}"
            )
        patterns[name] = PatternLimits(
            **{
                key: _value(f"{where}.{key}", key, value, _OF_PATTERN)
                for key, value in checked_table(limits, where).items()
            }
        )
    for name, own in patterns.items():
        both = own, patterns.get(EVERY, own)
        limited = [getattr(one, key) for one in both for key in PATTERN_LIMITS]
        if own.over_us is not None and not any(x is not None for x in limited):
            raise ConfigError(
                f"{origin}: patterns.{name}.over_us alone limits nothing; "
                "add max_count = 0, or another limit"
            )
    return Budget(**values, patterns=patterns)


def _value(where: str, key: str, value: object, known: tuple[str, ...]) -> Any:
    if key not in known:
        raise ConfigError(f"{where}: unknown key; {instead_of(key, known)}")
    if key == "allow":
        if not isinstance(value, list | tuple) or not all(
            isinstance(one, str) and one for one in value
        ):
            raise ConfigError(f"{where} must be a list of names, but is {value!r}")
        return tuple(value)
    if choices := _CHOICES.get(key):
        if value not in choices:
            said = repr(value) if isinstance(value, str) else of_type(value)
            named = " or ".join(map(repr, choices))
            raise ConfigError(f"{where} must be {named}, but is {said}")
    elif wrong := wrong_number(value, 1.0 if key in _SHARES else None):
        raise ConfigError(f"{where} {wrong}")
    elif key == "max_slowdown" and isinstance(value, int | float) and value < 1:
        said = "is the length of a step over that of even ranks: 1 or more"
        raise ConfigError(f"{where} {said}, but is {value}")
    return value
