# SPDX-License-Identifier: BSD-3-Clause
"""recorded_waits.py: the waits that a dry run wrote down, as its trace lists them.

The list is foreign text: what does not fit is left out.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torchtraceap import _core
from torchtraceap.dryrun.waits.wait_kinds import SUBTYPES
from torchtraceap.location import Location
from torchtraceap.safe_text import printable, writable

PATTERN = "sync_stall"
_MOST_WAITS, _MOST_RUNS = 2_000, 10_000
_MOST_COUNT = 10**12  # Of a step's number, and of waits in it.
_PATH_WIDTH, _NAME_WIDTH, _TEXT_WIDTH = 4_096, 256, 400


@dataclass(frozen=True)
class RecordedWait:
    """A line at which the host waits, by one API."""

    location: Location | None
    api: str
    subtype: str
    steps: tuple[tuple[int, int, int], ...]  # First, last, and waits in each.
    guessed: bool
    why: str
    advice: str

    @property
    def first_only(self) -> bool:
        """It waits in no step after the first, which setting up is part of."""
        return all(last == 0 for _, last, _ in self.steps)

    def within(self, numbers: Sequence[int] | None) -> tuple[int, int]:
        """Return how often it waits, and in how many steps; of these, which are in
        order, if not of all."""
        times = steps = 0
        for first, last, each in self.steps:
            many = last - first + 1
            if numbers is not None:
                many = bisect_right(numbers, last) - bisect_left(numbers, first)
            times, steps = times + many * each, steps + many
        return times, steps


def read_recorded(trace: _core.Trace) -> tuple[RecordedWait, ...] | None:
    """Return the waits that a simulated trace lists; None if it lists none at all.

    Nor does one that was changed since, as a what-if is: its waits are others.
    """
    try:
        mark = json.loads(trace.metadata["torchtraceap"])
    except (KeyError, ValueError, RecursionError):
        return None
    if not isinstance(mark, dict) or "what_if" in mark:
        return None
    assumed = mark.get("dry_run")
    listed = assumed.get("waits") if isinstance(assumed, dict) else None
    if mark.get("simulated") is not True or not isinstance(listed, list):
        return None
    read = (_wait(form) for form in listed[:_MOST_WAITS])
    return tuple(wait for wait in read if wait is not None)


def _wait(form: Any) -> RecordedWait | None:
    if not isinstance(form, dict) or form.get("subtype") not in SUBTYPES:
        return None
    api, runs = _text(form.get("api"), _NAME_WIDTH), form.get("steps")
    if not api or not isinstance(runs, list) or not 0 < len(runs) <= _MOST_RUNS:
        return None
    steps = tuple(_run(run) for run in runs)
    if None in steps:
        return None
    return RecordedWait(
        location=_location(form),
        api=api,
        subtype=form["subtype"],
        steps=tuple(run for run in steps if run is not None),
        guessed=form.get("value") == "guessed",
        why=_text(form.get("why"), _TEXT_WIDTH),
        advice=_text(form.get("advice"), _TEXT_WIDTH) or _core_advice(),
    )


def _run(run: Any) -> tuple[int, int, int] | None:
    if not isinstance(run, list) or len(run) != 3:
        return None
    if any(type(part) is not int or not 0 <= part <= _MOST_COUNT for part in run):
        return None
    first, last, each = run
    return (first, last, each) if first <= last and each else None


def _location(form: dict[str, Any]) -> Location | None:
    file, line, function = (form.get(key) for key in ("file", "line", "function"))
    if type(line) is not int or not 0 < line < 1 << 31:
        return None
    if not isinstance(file, str) or not 0 < len(file) <= _PATH_WIDTH:
        return None
    name = function if isinstance(function, str) else ""
    return Location(writable(file), line, writable(name[:_NAME_WIDTH]), True)


def _text(value: Any, width: int) -> str:
    return printable(value[: 2 * width], width) if isinstance(value, str) else ""


def _core_advice() -> str:
    return next(p.advice for p in _core.patterns() if p.name == PATTERN)
