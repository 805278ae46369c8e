# SPDX-License-Identifier: BSD-3-Clause
"""regressions.py: programs that are worse now than when they last were green.

The traces of a program on one kind of GPU, with as many ranks, and with steps or
without, are gone through in order of time. The first is green. Each later one is
compared by the rule of ``compare`` (docs/ci.md) with the last green one, and with the
median of the last 30, which small losses of many nights do not move: it is red if it
is worse than either by more than noise, else green. If those with another number of
ranks, or steps, have gone on five times without them, they have ended, and are not red.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from torchtraceap.fleets.queries import Row, grown, runs
from torchtraceap.gate.differences import changed_share, changed_step
from torchtraceap.gate.side import Change

if TYPE_CHECKING:
    import duckdb

_GREENS = 30  # A month of nights.
_ENDS = 5  # Runs of another kind.


@dataclass(frozen=True)
class Regression:
    """A program that is red."""

    program: str
    gpu: str
    measure: str  #: "step": microseconds; "lost": share of the time.
    green: Row  #: The green trace or job it is worse than, a row of `queries.runs`.
    since: Row  #: The first red one after it.
    now: Row  #: The newest one.
    change: Change  #: From the green one to the newest.
    pattern: str | None  #: What lost the most more.


def regressions(connection: duckdb.DuckDBPyConnection) -> list[Regression]:
    """Return the programs that are red now, the greatest change first."""
    red: list[Regression] = []
    for _, of_program in groupby(runs(connection), itemgetter("program", "gpu")):
        by_kind = groupby(
            of_program, lambda run: (run["ranks"], run["step_us"] is None)
        )
        kinds = [list(each) for _, each in by_kind]
        for each in kinds:
            if not _has_ended(each[-1], kinds):
                red += _red(each)
    patterns = grown(connection, [(one.green["item"], one.now["item"]) for one in red])
    found = [replace(one, pattern=patterns.get(i)) for i, one in enumerate(red)]
    return sorted(found, key=_size, reverse=True)


def _size(one: Regression) -> float:
    return math.inf if one.change.relative is None else one.change.relative


def _has_ended(newest: Row, kinds: Iterable[Sequence[Row]]) -> bool:
    """Tell whether another kind of a program's runs has gone on without this one."""
    return any(
        len(each) >= _ENDS and each[-_ENDS]["time"] > newest["time"] for each in kinds
    )


def _red(each: Iterable[Row]) -> Iterator[Regression]:
    """Yield what the newest run is worse than, if it is red."""
    greens: deque[Row] = deque(maxlen=_GREENS)
    since: Row | None = None
    last: Regression | None = None
    for run in each:
        worse = _worse(greens, run)
        if worse is None:
            greens.append(run)
            since, last = None, None
            continue
        since = since or run
        green, measure, change = worse
        last = Regression(
            *(run["program"], run["gpu"], measure, green, since, run, change, None)
        )
    if last is not None:
        yield last


def _worse(greens: Sequence[Row], run: Row) -> tuple[Row, str, Change] | None:
    if not greens:
        return None
    name = "lost_share" if run["step_us"] is None else "step_us"
    known = sorted(
        (one for one in greens if one[name] is not None), key=itemgetter(name)
    )
    for green in (greens[-1], *known[len(known) // 2 :][:1]):
        measure, change = _compared(green, run)
        if change is not None and change.counts and change.after > change.before:
            return green, measure, change
    return None


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
