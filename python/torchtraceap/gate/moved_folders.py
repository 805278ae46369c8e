# SPDX-License-Identifier: BSD-3-Clause
"""moved_folders.py: which file before is which one after, if the program has moved.

CI checks what is compared out to two folders, or has another home than who made the
baseline: then no file has the path that it had.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile

_Parts = tuple[str, ...]


@dataclass(frozen=True)
class Move:
    """A folder that is another one after."""

    before: str
    after: str
    files: dict[str, str]  #: Names before, by names after.


def moves(before: Collection[str], after: Collection[str]) -> list[Move]:
    """Return which folders have moved, by the files that were found in them.

    A folder is taken for another one if more files agree on that than on anything else
    of these files: what could be either of two is taken for neither. Files that both
    sides have are where they were.

    Args:
        before: Paths of files, as traces have them, with slashes of any system.
        after: The same of the other side.
    """
    left = {name: _parts(name) for name in {*before} - {*after}}
    right = {name: _parts(name) for name in {*after} - {*before}}
    found: dict[tuple[_Parts, _Parts], dict[str, str]] = defaultdict(dict)
    for now, its in right.items():
        for was, parts in left.items():
            if same := _common_end(parts, its):
                found[parts[:-same], its[:-same]][now] = was
    ranked = sorted(found.items(), key=lambda move: (-len(move[1]), move[0]))
    out, taken = [], set[tuple[str, bool]]()
    for at, ((was_in, now_in), files) in enumerate(ranked):
        ends = _ends(files)
        rivals = (r for _, r in ranked[at + 1 :] if len(r) == len(files))
        if ends & taken or any(ends & _ends(rival) for rival in rivals):
            taken |= ends
            continue
        taken |= ends
        out.append(Move("/".join(was_in), "/".join(now_in), files))
    return out


def _ends(files: dict[str, str]) -> set[tuple[str, bool]]:
    """Return all names, and of which side they are."""
    return {(was, False) for was in files.values()} | {(now, True) for now in files}


def _parts(path: str) -> _Parts:
    return tuple(re.split(r"[/\\]", path))


def _common_end(one: _Parts, other: _Parts) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
