# SPDX-License-Identifier: BSD-3-Clause
"""regressions.py: programs that are worse now than when they last were green.

The traces of a program on one kind of GPU are gone through in order of time. The first
is green. Each later one is compared with the last green one by the rule of ``compare``
(docs/ci.md): it is red if it is worse by more than noise, else the new last green one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from torchtraceap.fleets.queries import Row, grown, runs
from torchtraceap.gate.differences import changed_share, changed_step
from torchtraceap.gate.side import Change

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Regression:
    """A program that is red."""

    program: str
    gpu: str
    measure: str  #: "step": microseconds; "lost": share of the time.
    green: Row  #: The last green trace or job, a row of `queries.runs`.
    since: Row  #: The first red one after it.
    now: Row  #: The newest one.
    change: Change  #: From the green one to the newest.
    pattern: str | None  #: What lost the most more.


def regressions(connection: duckdb.DuckDBPyConnection) -> list[Regression]:
    """Return the programs that are red now, the greatest change first."""
    found = []
    by_program = groupby(runs(connection), lambda run: (run["program"], run["gpu"]))
    for (program, gpu), each in by_program:
        for green, since, now, measure, change in _red(each):
            pattern = grown(connection, green["item"], now["item"])
            found.append(
                Regression(program, gpu, measure, green, since, now, change, pattern)
            )
    return sorted(found, key=lambda one: -(one.change.relative or 0.0))


def _red(each: Iterable[Row]) -> Iterator[tuple[Row, Row, Row, str, Change]]:
    """Yield the last green run, the first and the last red one, if it is red now."""
    green, since, last = None, None, None
    for run in each:
        if green is None:
            green = run
            continue
        measure, change = _compared(green, run)
        if change is not None and change.counts and change.after > change.before:
            since = since or run
            last = (green, since, run, measure, change)
        else:
            green, since, last = run, None, None
    if last is not None:
        yield last


def _compared(before: Row, after: Row) -> tuple[str, Change | None]:
    if before["step_us"] is not None and after["step_us"] is not None:
        names = "step_us", "step_error_us"
        (was, was_error), (now, now_error) = (
            [side[name] for name in names] for side in (before, after)
        )
        return "step", changed_step(was, now, was_error, now_error)
    if before["lost_share"] is None or after["lost_share"] is None:
        return "lost", None
    return "lost", changed_share(before["lost_share"], after["lost_share"])
