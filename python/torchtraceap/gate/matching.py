# SPDX-License-Identifier: BSD-3-Clause
"""matching.py: which finding before is which one after.

Lines shift between commits, so that neither a line nor an id, which holds the line,
tells that two findings are the same. What names a place without its line does, and of
those that share it their order.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from torchtraceap._core import Finding

Pair = tuple[Finding | None, Finding | None]
_Key = tuple[str, ...]


def match(
    before: Sequence[Finding],
    after: Sequence[Finding],
    sizes: tuple[float, float] = (1.0, 1.0),
    roots: Iterable[str] = (),
) -> Iterator[Pair]:
    """Yield pairs of one pattern, sub-type, file below the root, function and operator,
    in the order of their lines; then what is on one side only.

    Where one side has more of a kind, those of it are new or gone whose costs are least
    like those of the other side. The sizes are what costs of each side are divided by,
    to be compared; the roots are those of `path_below`.
    """
    roots = tuple(roots)
    lefts, rights = _by_key(before, roots), _by_key(after, roots)
    alone: list[Pair] = []
    for key in dict.fromkeys((*lefts, *rights)):
        left, right = lefts[key], rights[key]
        if len(left) <= len(right):
            same, more = _most_alike(left, right, sizes)
            yield from zip(left, same, strict=True)
            alone += ((None, seen) for seen in more)
        else:
            same, more = _most_alike(right, left, sizes[::-1])
            yield from zip(same, right, strict=True)
            alone += ((seen, None) for seen in more)
    yield from alone


def path_below(file: str, roots: Iterable[str] = ()) -> str:
    """Return a file's path below the innermost root that it lies in, with slashes; the
    whole path if it lies in none.

    A root may be given as paths of traces have it, of any system, or as it is here.
    The working folder is one.
    """
    ways = {way for root in roots for way in (root, os.path.abspath(root)) if way}
    folders = {way.replace("\\", "/").rstrip("/") for way in (*ways, os.getcwd())}
    path = file.replace("\\", "/")
    inside = [folder for folder in folders if path.startswith(f"{folder}/")]
    return path[len(max(inside, key=len)) + 1 :] if inside else path


def _by_key(some: Iterable[Finding], roots: Sequence[str]) -> dict[_Key, list[Finding]]:
    found: dict[_Key, list[Finding]] = defaultdict(list)
    for one in sorted(some, key=_line):
        where = one.location
        place = (path_below(where.file, roots), where.function) if where else ("", "")
        found[(one.pattern, one.subtype or "", *place, one.operator)].append(one)
    return found


def _line(finding: Finding) -> int:
    return (finding.location and finding.location.recorded_line) or 0


class _Choice(NamedTuple):
    """Some findings, the last of them at this index."""

    score: float
    at: int = -1
    before: _Choice | None = None


def _most_alike(
    few: Sequence[Finding], many: Sequence[Finding], sizes: tuple[float, float]
) -> tuple[Sequence[Finding], Sequence[Finding]]:
    """Return as many of `many` as of `few`, in their order, whose costs together are
    most like those, and the rest; O(n m)."""
    if len(few) == len(many):
        return many, ()
    best = [_Choice(0.0)] * (len(many) + 1)  # Of the first ones, by their number.
    for one in few:
        row = [_Choice(-math.inf)]
        for index, other in enumerate(many):
            costs = one.wasted_us / sizes[0], other.wasted_us / sizes[1]
            likeness = min(costs) / max(costs) if max(costs) > 0 else 1.0
            before = best[index]
            choice = _Choice(before.score + likeness, index, before)
            row.append(choice if choice.score > row[-1].score else row[-1])
        best = row
    indices = set()
    last: _Choice | None = best[-1]
    while last is not None:
        indices.add(last.at)
        last = last.before
    return (
        [seen for index, seen in enumerate(many) if index in indices],
        [seen for index, seen in enumerate(many) if index not in indices],
    )
