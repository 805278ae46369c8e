# SPDX-License-Identifier: BSD-3-Clause
"""side.py: what a comparison needs of a report, from its JSON form."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from torchtraceap._core import Location
from torchtraceap.base.arguments import wrong_number
from torchtraceap.base.errors import ConfigError
from torchtraceap.report_data import ReportData
from torchtraceap.views.json_form import SCHEMA_VERSION, report_form

_HEAD = 400  # Bytes of a report's JSON in which it says what it is.
_READ = (3, SCHEMA_VERSION)  # 3 had no detector, and all that is compared here.
_MOST = 1e18  # Of any figure, that sums of them are finite.


@dataclass(frozen=True)
class Seen:
    """A finding on one side. Microseconds are of the whole trace."""

    id: str
    pattern: str
    subtype: str
    file: str  # "" with line 0: there is no place.
    line: int  # In the trace, whether or not it is that of the call.
    function: str
    operator: str
    count: int
    wasted_us: float
    shown: int | None = None  # The line of the call, if it is known.

    @property
    def location(self) -> Location | None:
        """Where it is, if there is a place."""
        if not self.file:
            return None
        return Location(self.file, self.shown, self.function, True)

    @property
    def kind(self) -> str:
        """The pattern, with its sub-type if it has one."""
        return f"{self.pattern} ({self.subtype})" if self.subtype else self.pattern


@dataclass(frozen=True)
class Side:
    """A report, as far as it is compared."""

    path: str
    verdict: str
    incomplete: bool
    span_us: float
    devices: tuple[str, ...]  # Names of those that worked.
    units: int  # Devices, or processes of a trace without, whose times add up.
    steps: int
    steps_us: tuple[float, ...]  # Of those that a report lists, which may be fewer.
    busy: float | None  # Share of the devices' time; None: there is no balance.
    causes: dict[str, float]  # Microseconds by pattern: idle and excess together.
    step_causes: dict[str, tuple[float, ...]]  # The same of each step.
    settings: dict[str, Any]
    findings: tuple[Seen, ...]
    simulated: dict[str, Any] | None = None  # What a dry run assumed; None: recorded.

    @property
    def files(self) -> set[str]:
        """Where its findings are, as far as they have a place."""
        return {seen.file for seen in self.findings if seen.file}

    @property
    def step_us(self) -> float:
        """The median step; of a simulation without the first, if there are others, for
        setting up is part of that."""
        without = self.simulated is not None and self.steps > 1
        return median(self.steps_us[1:] if without else self.steps_us)


def read_form(path: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    """Return a report of ours from its JSON file; None if the file is something else.

    Raises ConfigError if it is ours, but no single whole report; OSError.
    """
    file = Path(os.fsdecode(path))
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        head = stream.read(_HEAD)
        if b'"schema_version"' not in head or b'"torchtraceap"' not in head:
            return None
        text = head + stream.read()
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is no whole report: {error}") from error
    if isinstance(form, list) and len(form) == 1:
        form = form[0]
    if isinstance(form, list):
        raise ConfigError(f"{file} holds {len(form)} reports. Give one of one trace.")
    if not isinstance(form, dict):
        raise ConfigError(f"{file} is no report.")
    return form


def side_of(source: ReportData | Mapping[str, Any], origin: str = "the report") -> Side:
    """Return a report, or the JSON form of one, as a side of a comparison.

    Raises ConfigError if a form is not whole, or of another version.
    """
    if isinstance(source, Mapping):
        form = source
    else:  # What a model says is no figure to hold another to, and is not asked for.
        form = report_form(source, with_detector=False)
    version = form.get("schema_version")
    if version not in _READ:
        read = " or ".join(map(str, _READ))
        raise ConfigError(
            f"{origin}: its schema_version is {version!r}, but {read} is read here. "
            "Write it again with this torchtraceap."
        )
    try:
        return _side(form)
    except ValueError as error:
        raise ConfigError(f"{origin} is no report of ours: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{origin} is no whole report: {error!r} in it") from error


def _side(form: Mapping[str, Any]) -> Side:
    trace, balance, steps = form["trace"], form["balance"], form["steps"]
    working = [d for d in trace["devices"] if d["events"]]
    whole_us = sum(_figure(row, "span_us", "balance") for row in balance)
    busy_us = sum(_figure(row, "busy_us", "balance") for row in balance)
    causes = [_causes(row, "balance") for row in balance]
    own = [step["balance"] for step in steps if step["balance"] is not None]
    each = [_causes(row, "steps.balance") for row in own]
    names = {name for row in each for name in row}
    return Side(
        path=str(trace["path"]),
        verdict=str(trace["quality"]["verdict"]),
        incomplete=bool(trace["quality"]["incomplete"]),
        span_us=_figure(trace, "span_us", "trace"),
        devices=tuple(str(d["name"]) for d in working),
        units=max(1, len(working), int(_figure(trace, "processes", "trace"))),
        steps=int(_figure(trace, "steps", "trace")),
        steps_us=tuple(_step_us(step) for step in steps),
        busy=busy_us / whole_us if whole_us else None,
        causes={
            name: sum(row.get(name, 0.0) for row in causes)
            for name in dict.fromkeys(name for row in causes for name in row)
        },
        step_causes={n: tuple(row.get(n, 0.0) for row in each) for n in names},
        settings=dict(form["settings"]),
        findings=tuple(
            _seen(finding)
            for finding in form["findings"]
            if finding["origin"] != "model"
        ),
        simulated=trace["simulated"],
    )


def _causes(row: Mapping[str, Any], of: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in ("idle_us", "excess_us"):
        for name in row[part]:
            us = _figure(row[part], name, f"{of}.{part}")
            found[name] = found.get(name, 0.0) + us
    return found


def _step_us(step: Mapping[str, Any]) -> float:
    name = "end_us - start_us"
    return _figure({name: step["end_us"] - step["start_us"]}, name, "steps")


def _seen(form: Mapping[str, Any]) -> Seen:
    where = form["location"]
    if where is None:
        where = {"file": "", "line": None, "function": "", "recorded_line": 0}
    of = "findings.location"
    return Seen(
        id=str(form["id"]),
        pattern=str(form["pattern"]),
        subtype=str(form["subtype"] or ""),
        file=str(where["file"]),
        line=int(_figure(where, "recorded_line", of)),
        function=str(where["function"]),
        operator=str(form["operator"]),
        count=int(_figure(form, "count", "findings")),
        wasted_us=_figure(form, "wasted_us", "findings"),
        shown=None if where["line"] is None else int(_figure(where, "line", of)),
    )


def _figure(form: Mapping[str, Any], name: str, of: str) -> float:
    """Return a member that is a number; raises ValueError that names it if it is not,
    for JSON as Python reads it has NaN and Infinity."""
    value = form[name]
    if wrong := wrong_number(value, _MOST):
        raise ValueError(f"{of}.{name} {wrong}")
    return float(value)
