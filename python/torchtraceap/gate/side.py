# SPDX-License-Identifier: BSD-3-Clause
"""side.py: what a comparison needs of a report, or of one in its JSON form, and what
changed between two."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from torchtraceap._core import (
    Balance,
    CallTree,
    Finding,
    Quality,
    Step,
    TraceFacts,
)
from torchtraceap.base.errors import ConfigError
from torchtraceap.report_data import ReportData
from torchtraceap.views.json_form import MOST, SCHEMA_VERSION

_HEAD = 400  # Bytes of a report's JSON in which it says what it is.


@dataclass(frozen=True)
class Side:
    """A report, as far as it is compared."""

    trace: TraceFacts
    quality: Quality
    #: Those of rules: the detector's guesses are not compared.
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]
    steps: int
    steps_us: tuple[float, ...]  # Of those that a report lists, which may be fewer.
    busy: float | None  # Share of the devices' time; None: there is no balance.
    causes: dict[str, float]  # Microseconds by pattern: idle and excess together.
    step_causes: dict[str, tuple[float, ...]]  # The same of each step.
    #: Its operators; None: of a report in its JSON form, or not kept.
    calls: CallTree | None = field(default=None, compare=False, repr=False)

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of those that worked."""
        return tuple(device.name for device in self.trace.devices if device.events)

    @property
    def units(self) -> int:
        """Devices, or processes of a trace without, whose times add up."""
        return max(1, len(self.devices), self.trace.processes)

    @property
    def files(self) -> set[str]:
        """Where its findings are, as far as they have a place."""
        return {found.location.file for found in self.findings if found.location}

    @property
    def step_us(self) -> float:
        """The median step; of a simulation without the first, if there are others, for
        setting up is part of that."""
        without = self.trace.simulated is not None and self.steps > 1
        return median(self.steps_us[1:] if without else self.steps_us)


@dataclass(frozen=True)
class Change:
    """A figure on both sides, in the unit of the comparison."""

    before: float
    after: float
    #: Differences up to this one are noise; None: too few steps to tell.
    noise: float | None
    counts: bool  #: It is a change, by the rule that docs/ci.md states.

    @property
    def relative(self) -> float | None:
        """The change as a share of what was before; None of nothing."""
        return (self.after - self.before) / self.before if self.before else None


@dataclass(frozen=True)
class FindingChange:
    """A finding on both sides, or on one."""

    status: str  #: "new", "gone", "grown", "shrunk", "same".
    before: Finding | None
    after: Finding | None
    cost: Change
    #: Of a wait of two dry runs that costs no time on any side: how often the host
    #: waits, in a step if both have steps. None of all else.
    often: Change | None = None

    @property
    def seen(self) -> Finding:
        """The finding, as it is after the change if it is there."""
        seen = self.after or self.before
        assert seen is not None
        return seen


def read_form(
    path: str | os.PathLike[str],
    most: int = sys.maxsize,
    go_on: Callable[[], object] = lambda: None,
) -> Mapping[str, Any] | None:
    """Return a report of ours from its JSON file; None if the file is something else.
    ``go_on`` is called again and again, and may raise.

    Raises ConfigError if it is ours, but no single whole report, or has more than
    ``most`` bytes; OSError.
    """
    file = Path(os.fsdecode(path))
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
        if b'"schema_version"' not in head or b'"torchtraceap"' not in head:
            return None
        if (size := os.fstat(stream.fileno()).st_size) > most:
            raise ConfigError(f"{file}: a report of {size} bytes; {most} are read here")
        text = head + stream.read()

    def made(members: dict[str, Any]) -> dict[str, Any]:
        go_on()
        return members

    try:
        form = json.loads(text, object_hook=made)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not a complete report: {error}") from error
    if isinstance(form, list) and len(form) == 1:
        form = form[0]
    if isinstance(form, list):
        raise ConfigError(f"{file} holds {len(form)} reports. Give one of one trace.")
    if not isinstance(form, dict):
        raise ConfigError(f"{file} is not a report.")
    return form


def side_of(source: ReportData | Mapping[str, Any], origin: str = "the report") -> Side:
    """Return a report, or the JSON form of one, as a side of a comparison.

    Raises ConfigError if a form is not whole, or of another version.
    """
    if not isinstance(source, Mapping):
        side = _side(
            source.trace,
            source.quality,
            source.rule_findings,
            source.settings,
            source.step_count,
            source.balance,
            source.first_steps(MOST),
        )
        return replace(side, calls=source.core.call_tree())
    version = source.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ConfigError(
            f"{origin}: its schema_version is {version!r}, but {SCHEMA_VERSION} is "
            "read here. Write it again with this torchtraceap."
        )
    try:
        return _side_of_form(source)
    except ValueError as error:
        raise ConfigError(f"{origin} is not a torchtraceap report: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{origin} is not a complete report: {error!r} in it"
        ) from error


def _side_of_form(form: Mapping[str, Any]) -> Side:
    trace = form["trace"]
    if (count := len(form["findings"])) > MOST:  # Far more than any report has.
        raise ValueError(f"it lists {count} findings")
    return _side(
        TraceFacts.from_dict(trace, "trace"),
        Quality.from_dict(trace["quality"], "trace.quality"),
        tuple(
            Finding.from_dict(row, f"findings[{i}]")
            for i, row in enumerate(form["findings"])
            if row["origin"] != "model"
        ),
        dict(form["settings"]),
        int(trace["steps"]),
        [_balance(row, f"balance[{i}]") for i, row in enumerate(form["balance"])],
        [_step(row, f"steps[{i}]") for i, row in enumerate(form["steps"])],
    )


def _balance(form: Mapping[str, Any], where: str) -> Balance:
    idle_us = dict(form["idle_us"])
    unattributed_us = idle_us.pop("unattributed")
    return Balance.from_dict(
        {**form, "idle_us": idle_us, "unattributed_us": unattributed_us}, where
    )


def _step(form: Mapping[str, Any], where: str) -> Step:
    step = Step.from_dict({**form, "balance": None}, where)
    balance = form["balance"] and _balance(form["balance"], f"{where}.balance")
    return step.replace(balance=balance)


def _side(
    trace: TraceFacts,
    quality: Quality,
    findings: tuple[Finding, ...],
    settings: Mapping[str, Any],
    step_count: int,
    balance: Iterable[Balance],
    steps: Iterable[Step],
) -> Side:
    rows, steps = list(balance), list(steps)
    whole_us = sum(row.span_us for row in rows)
    causes = [_causes(row) for row in rows]
    each = [_causes(step.balance) for step in steps if step.balance is not None]
    names = {name for row in each for name in row}
    return Side(
        trace,
        quality,
        findings,
        settings,
        steps=step_count,
        steps_us=tuple(step.end_us - step.start_us for step in steps),
        busy=sum(row.busy_us for row in rows) / whole_us if whole_us else None,
        causes={
            name: sum(row.get(name, 0.0) for row in causes)
            for name in dict.fromkeys(name for row in causes for name in row)
        },
        step_causes={n: tuple(row.get(n, 0.0) for row in each) for n in names},
    )


def _causes(row: Balance) -> dict[str, float]:
    found = {**row.idle_us, "unattributed": row.unattributed_us}
    for name, us in row.excess_us.items():
        found[name] = found.get(name, 0.0) + us
    return found
