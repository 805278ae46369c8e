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
    BudgetData,
    PatternLimits,
    RankLimits,
    Violation,
)
from torchtraceap.report_data import ReportData


class Budget(BudgetData):
    """What a trace may cost; ``read_budget`` makes one. None: no limit."""

    def check(self, report: ReportData) -> tuple[Violation, ...]:
        """Return the limits that a report breaks, in the order of `lines`.

        A limit that is undetermined, such as the busy share of a trace without device
        work or any time of a simulated one, is a violation that is not ``known``,
        unless ``unknown`` is "pass". The cost is that of ``report.rule_findings`` where
        a limit concerns findings, and little else.
        """
        from torchtraceap.gate.judge import judge

        return self._told(judge(self, report))

    def check_ranks(self, job: JobData) -> tuple[Violation, ...]:
        """Return the limits of ``[ranks]`` that the ranks of a job break, likewise in
        the order of `rank_lines`; each names a rank and what made it late."""
        from torchtraceap.gate.judge import judge_ranks

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
    file its table ``[budget]``, or else all of it.

    Args:
        budget: The file or the dict.
        rules: Names of rules of the user's own that it may limit.
        needs_limit: Refuse one without limits, which every trace would keep. False: it
            is held against a baseline too, and may just say what is ``unknown``.

    Raises:
        ConfigError: Something in it is invalid, or it limits nothing; the message
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
    names = [p.name for p in _core.patterns() if p.user_finding] + list(rules)
    patterns: dict[str, PatternLimits] = {}
    of_patterns = checked_table(table.get("patterns", {}), f"{origin}: patterns")
    for name, limits in of_patterns.items():
        where = f"{origin}: patterns.{name}"
        if name != EVERY and name not in names:
            raise ConfigError(
                f"{where}: no finding has this pattern; {instead_of(name, names)}"
            )
        patterns[name] = PatternLimits(**_values(PatternLimits, limits, where, "."))
    for name, own in patterns.items():
        both = own, patterns.get(EVERY, own)
        limited = [getattr(one, key) for one in both for key in PATTERN_LIMITS]
        if own.over_us is not None and not any(x is not None for x in limited):
            raise ConfigError(
                f"{origin}: patterns.{name}.over_us alone limits nothing; "
                "add max_count = 0, or another limit"
            )
    ranks = _values(RankLimits, table.get("ranks", {}), f"{origin}: ranks", ".")
    own_values = {k: v for k, v in table.items() if k not in ("patterns", "ranks")}
    values = _values(BudgetData, own_values, origin, ": ")
    return Budget(**values, patterns=patterns, ranks=RankLimits(**ranks))


def _values(made: type, table: object, where: str, mark: str) -> dict[str, Any]:
    """Return the fields of a class of limits that a table sets, checked."""
    known = {field.name: field.metadata for field in fields(made)}
    values = {}
    for key, value in checked_table(table, where).items():
        name = f"{where}{mark}{key}"
        if key not in known:
            raise ConfigError(f"{name}: unknown key; {instead_of(key, known)}")
        if wrong := _wrong(value, known[key]):
            raise ConfigError(f"{name} {wrong}")
        values[key] = tuple(value) if isinstance(value, list) else value
    return values


def _wrong(value: Any, allowed: Mapping[str, Any]) -> str:
    """Return what is wrong with a value; "" if it is allowed."""
    if "names" in allowed:
        listed = isinstance(value, list | tuple)
        if listed and all(isinstance(one, str) and one for one in value):
            return ""
        return f"must be a list of names, but is {value!r}"
    if words := allowed.get("words"):
        given = repr(value) if isinstance(value, str) else of_type(value)
        named = " or ".join(map(repr, words))
        return "" if value in words else f"must be {named}, but is {given}"
    if wrong := wrong_number(value, allowed["most"]):
        return wrong
    least = allowed["least"]
    return "" if value >= least else f"must be at least {least:g}, but is {value}"
