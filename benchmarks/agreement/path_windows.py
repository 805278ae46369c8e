# SPDX-License-Identifier: BSD-3-Clause
"""path_windows.py: our critical path and HTA's of one window, moment by moment.

Both are laid out as stretches of recorded time, each with a category, and compared in
time: how long both say the same, and what each says where they do not. HTA's length is
accounted for to the last nanosecond: what it leaves out of the window, and why.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from path_raw import DEVICE, Raw

import torchtraceap

# What HTA's path passes over without weight.
GAP, CALL, RETURN = "between_operators", "blocking_call", "return"
OUTSIDE = "outside"  # of the path; a path need not cover its window


@dataclass(frozen=True)
class Stretch:
    """Time on a path, in nanoseconds of the trace's clock."""

    begin: int
    end: int
    label: str
    what: str = ""  # kind of edge, name of the event
    row: int = -1  # HTA's: in the file, where it leads to
    work: tuple[str, int] | None = None  # of device work: name and start


def our_path(
    trace: torchtraceap.Trace,
    report: torchtraceap.Report,
    place: int,
    work_row: int | None = None,
) -> list[Stretch]:
    """Return the stretches of `report.critical_paths[place]`, or of the path to the end
    of a piece of device work instead."""
    columns, names, out = trace.columns, trace.strings, []
    for begin, end, label, kind, row in report.core_replay.path_segments(
        place, work_row
    ):
        known = row < len(columns["name"])
        name = names[columns["name"][row]] if known else ""
        work = (name, int(columns["ts"][row])) if kind == "work" else None
        out.append(Stretch(begin, end, label, f"{kind} {name}", work=work))
    return out


def times_of(edge: list[Any], raw: Raw) -> tuple[int, int]:
    """Return when an edge begins and ends."""
    first, last = (
        raw.begin(row) if begins else raw.end(row)
        for row, begins in ((edge[3], edge[5]), (edge[4], edge[6]))
    )
    return first, last


def label_of(edge: list[Any], raw: Raw) -> str:
    """Return the category of an edge, by the mapping that docs explain."""
    kind, weight, owner = edge[:3]
    if kind in ("launch_delay", "kernel_delay"):
        return "device_delay"
    if kind == "dependency":
        return GAP
    if kind == "sync":
        return RETURN
    if weight == 0:
        return CALL
    return raw.category(owner)


def their_path(edges: list[list[Any]], raw: Raw) -> list[Stretch]:
    """Return the stretches of HTA's path; an edge back in time has none."""
    out: list[Stretch] = []
    covered = times_of(edges[-1], raw)[1]
    for edge in reversed(edges):
        begin = min(times_of(edge, raw)[0], covered)
        row = edge[2] if edge[2] >= 0 else edge[4]
        e = raw.events[row]
        label = label_of(edge, raw)
        work = (e["name"], raw.begin(row)) if label in DEVICE else None
        what = f"{edge[0]} {e['name']}"
        out.append(Stretch(begin, covered, label, what, edge[4], work))
        covered = begin
    return out[::-1]


def accounts(
    edges: list[list[Any]], raw: Raw, begin: int, end: int
) -> dict[str, float]:
    """Return what HTA's length lacks of a window, in microseconds; sums to all of it.

    before, after: of the window, outside the path (after is negative where the path
    goes on after the window). Then what it passes over without weight, and what its
    edges back in time count twice (negative).
    """
    out: Counter[str] = Counter()
    out["before"] = times_of(edges[0], raw)[0] - begin
    out["after"] = end - times_of(edges[-1], raw)[1]
    for edge in edges:
        first, last = times_of(edge, raw)
        missing = last - first - round(1000 * edge[1])
        if missing:
            weighed = edge[1] > 0 or edge[0] in ("launch_delay", "kernel_delay")
            out[
                "back"
                if missing < 0 and not weighed
                else "rounding"
                if weighed
                else label_of(edge, raw)
            ] += missing
    return {name: ns / 1e3 for name, ns in out.items()}


def both(
    ours: list[Stretch], theirs: list[Stretch]
) -> Iterator[tuple[Stretch | None, Stretch | None, int, int]]:
    """Yield what each path is in, since when, and for how long, from the first to the
    last moment; None where it is in nothing."""
    moments = sorted({m for s in (*ours, *theirs) for m in (s.begin, s.end)})
    cursors = [iter(ours), iter(theirs)]
    now = [next(cursor, None) for cursor in cursors]
    for begin, end in itertools.pairwise(moments):
        for i, cursor in enumerate(cursors):
            while (at := now[i]) is not None and at.end <= begin:
                now[i] = next(cursor, None)
        inside = [s if s is not None and s.begin <= begin else None for s in now]
        yield inside[0], inside[1], begin, end - begin


def sums(path: Iterable[Stretch]) -> dict[str, float]:
    """Return microseconds by category."""
    out: Counter[str] = Counter()
    for stretch in path:
        out[stretch.label] += stretch.end - stretch.begin
    return {label: ns / 1e3 for label, ns in out.items() if ns}


def shared_work(one: list[Stretch], other: list[Stretch]) -> float | None:
    """Return the share of one path's device time whose work is on the other too."""
    on_other = {s.work for s in other if s.work}
    mine = [(s.end - s.begin, s.work in on_other) for s in one if s.work]
    whole = sum(ns for ns, _ in mine)
    return sum(ns for ns, on in mine if on) / whole if whole else None
