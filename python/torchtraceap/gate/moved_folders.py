# SPDX-License-Identifier: BSD-3-Clause
"""moved_folders.py: which file before is which one after, if the program has moved.

CI checks what is compared out to two folders, or has another home than who made the
baseline: then no file has the path that it had. But a wait that is mended in
``encoder/model.py`` and a new one in ``decoder/model.py`` look like that too, and a
gate must not let the new one pass. So what is in doubt is not believed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from torchtraceap.gate.path_parts import (
    Parts,
    common,
    is_absolute,
    is_in,
    is_root,
    parts_of,
    start_of,
)

_Folders = tuple[Parts, Parts]

_MOST_PAIRS = 256  # Of files of one name; more are told apart by their folders' names.
_TELL_NOTHING = frozenset({("__init__.py",), ("__main__.py",)})
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class Move:
    """A folder that is another one after."""

    before: str  #: As paths there have it; "" is the working folder.
    after: str
    files: dict[str, str]  #: Names before, by names after.


def moves(before: Collection[str], after: Collection[str]) -> list[Move]:
    """Return which folders have moved, by the files that were found in them.

    A folder is taken for another one if more files agree on that than on anything else
    of these files: what could be either of two is taken for neither. Files that both
    sides have are where they were. A move is not believed

    - if the new folder was there before, the old one is there still, or a file of both
      sides lies in the folder around the two, at any depth (at the root of a disk or of
      all homes: directly in it). Files of installed packages are no matter in this;
    - if a single file tells, and both may be folders of one program: two that lie in
      one folder other than those roots, or below the working folder. They are taken
      for folders of two programs if one is the working folder itself, or if neither
      has a name that a package can have. Nor does one file tell that an installed
      package became something else. The
      ``__init__.py`` or ``__main__.py`` of a folder, which any has, tells nothing;
    - if it is one within another move: who moves as a whole keeps its folders' names.

    Costs time in proportion to the files, and to how deep they lie: of a name that many
    files have, only those are looked at whose folders have one name too, and so on.

    Args:
        before: Paths of files, as traces have them, with slashes of any system.
        after: The same of the other side.
    """
    was_there, is_there = {*before}, {*after}
    left = {name: parts_of(name) for name in sorted(was_there - is_there)}
    right = {name: parts_of(name) for name in sorted(is_there - was_there)}
    found: dict[_Folders, dict[str, str]] = defaultdict(dict)
    telling = Counter[_Folders]()
    for was, now, same in _pairs(left, right):
        folders = left[was][:-same], right[now][:-same]
        found[folders][now] = was
        telling[folders] += left[was][-same:] not in _TELL_NOTHING
    places = _Places(was_there, is_there)
    believed = {
        folders: files
        for folders, files in _undisputed(found, telling)
        if telling[folders] >= (1 if _apart(*folders) else 2) and places.allow(*folders)
    }
    return [
        Move(*_written(files, *folders), files)
        for folders, files in believed.items()
        if not any(outer in believed for outer in _around(*folders))
    ]


def _pairs(
    left: Mapping[str, Parts], right: Mapping[str, Parts]
) -> Iterator[tuple[str, str, int]]:
    """Yield files of both sides with the same name, and how long an end they share."""
    groups, depth = [(list(left), list(right))], 0
    while groups:
        depth += 1
        ends: dict[tuple[int, str], tuple[list[str], list[str]]] = {}
        for at, group in enumerate(groups):
            for side, parts in enumerate((left, right)):
                for name in group[side]:
                    if len(parts[name]) >= depth:
                        end = at, parts[name][-depth]
                        ends.setdefault(end, ([], []))[side].append(name)
        groups = []
        for befores, afters in ends.values():
            if len(befores) * len(afters) > _MOST_PAIRS:
                groups.append((befores, afters))
                continue
            for was in befores:
                for now in afters:
                    yield was, now, len(common(left[was][::-1], right[now][::-1]))


def _undisputed(
    found: Mapping[_Folders, dict[str, str]], telling: Mapping[_Folders, int]
) -> Iterator[tuple[_Folders, dict[str, str]]]:
    """Yield those of which no file is in another with as many that tell, or more."""
    taken = set[tuple[str, bool]]()
    ranked = sorted(found, key=lambda folders: (-telling[folders], folders))
    for _, group in groupby(ranked, key=lambda folders: telling[folders]):
        ends = {folders: _ends(found[folders]) for folders in group}
        claims = Counter(end for some in ends.values() for end in some)
        for folders, some in ends.items():
            if not some & taken and all(claims[end] == 1 for end in some):
                yield folders, found[folders]
        taken |= claims.keys()


def _ends(files: Mapping[str, str]) -> set[tuple[str, bool]]:
    """Return all names, and of which side they are."""
    return {(was, False) for was in files.values()} | {(now, True) for now in files}


class _Places:
    """How many files lie below each folder, but those of installed packages."""

    def __init__(self, before: set[str], after: set[str]) -> None:
        self._before = Counter(_folders_of(before))
        self._after = Counter(_folders_of(after))
        self._both = Counter(_folders_of(before & after))
        self._directly = {parts_of(name)[:-1] for name in before & after}

    def allow(self, was_in: Parts, now_in: Parts) -> bool:
        """Tell whether no file contradicts this move."""
        # One of the two may lie in the other: what moved is below both then.
        moved = self._after[now_in] if is_in(now_in, was_in) else 0
        if self._after[was_in] > moved:
            return False
        moved = self._before[was_in] if is_in(was_in, now_in) else 0
        if self._before[now_in] > moved:
            return False
        around = common(was_in, now_in)
        if is_root(around):
            return around not in self._directly
        return not self._both[around]


def _folders_of(names: Iterable[str]) -> Iterator[Parts]:
    """Yield each folder that each lies in; () is the working folder."""
    for parts in map(parts_of, names):
        if not _INSTALLED & {*parts}:
            for depth in range(is_absolute(parts), len(parts)):
                yield parts[:depth]


def _apart(was_in: Parts, now_in: Parts) -> bool:
    """Tell whether these two are hardly folders of one program."""
    if _INSTALLED & {*was_in, *now_in}:
        return False
    if not was_in or not now_in:
        return True
    around = common(was_in, now_in)
    if is_absolute(was_in) and is_absolute(now_in) and is_root(around or ("",)):
        return True
    # Modules in two folders that are no packages would have one name: Python has one.
    return not (was_in[-1].isidentifier() or now_in[-1].isidentifier())


def _around(was_in: Parts, now_in: Parts) -> Iterator[_Folders]:
    """Yield all pairs of folders that these two lie in."""
    for was in range(len(was_in) + 1):
        for now in range(len(now_in) + 1):
            if (was, now) != (len(was_in), len(now_in)):
                yield was_in[:was], now_in[:now]


def _written(files: Mapping[str, str], was_in: Parts, now_in: Parts) -> tuple[str, str]:
    """Return the folders as the first of these files has them: with its slashes."""
    now, was = next(iter(files.items()))
    return start_of(was, was_in), start_of(now, now_in)
