# SPDX-License-Identifier: BSD-3-Clause
"""matching.py: which finding before is which one after.

Lines shift between commits, all of a file or those below an edit. So neither a line nor
an id, which holds the line, tells that two findings are the same; their order does, how
far the others moved, and what they cost.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from torchtraceap.gate.side import Seen

Pair = tuple[Seen | None, Seen | None]
_Key = Callable[[Seen], Hashable]

# What speaks for a pair, beside what its costs have in common (0 to 1).
_PAIR = 1.0
_MOVED_ALIKE = 1.0  # As many lines as the pair above it.
_UNMOVED = 0.5  # The first of a file.


def match(
    before: Sequence[Seen],
    after: Sequence[Seen],
    sizes: tuple[float, float] = (1.0, 1.0),
    roots: Iterable[str] = (),
) -> Iterator[Pair]:
    """Yield pairs of one pattern, sub-type, file below the root, function and operator,
    then what is on one side only.

    Those of a file are aligned in the order of their lines; then those of a function,
    for it may have moved within the file; then what is left.

    Args:
        before: Findings of one side.
        after: Those of the other.
        sizes: What the costs of each are divided by, to be compared.
        roots: Folders that a program lies in, before or after, as of `path_below`.
    """
    roots = tuple(roots)
    originals = dict[int, Seen]()

    def known(seen: Seen) -> Seen:
        one = replace(seen, file=path_below(seen.file, roots))
        originals[id(one)] = seen
        return one

    left, right = [known(seen) for seen in before], [known(seen) for seen in after]
    for group in (_file, _function, _place):
        befores, afters = _grouped(left, group), _grouped(right, group)
        for key, some in befores.items():
            found = afters.get(key, [])
            make = _in_order if group is _place else _aligned
            for was, now in make(some, found, sizes):
                left.remove(was)
                right.remove(now)
                yield originals[id(was)], originals[id(now)]
    yield from ((originals[id(seen)], None) for seen in left)
    yield from ((None, originals[id(seen)]) for seen in right)


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


@dataclass(frozen=True, eq=False)
class _Chain:
    """Pairs in the order of their lines, of which this is the last."""

    score: float
    above: _Chain | None
    left: int
    right: int


def _aligned(
    left: Sequence[Seen], right: Sequence[Seen], sizes: tuple[float, float]
) -> list[tuple[Seen, Seen]]:
    """Return the pairs in the order of lines for which most speaks; O(n m)."""
    places = {_place(seen) for seen in left} & {_place(seen) for seen in right}
    left = _sorted(seen for seen in left if _place(seen) in places)
    right = _sorted(seen for seen in right if _place(seen) in places)
    where: dict[Hashable, list[int]] = defaultdict(list)
    for index, seen in enumerate(right):
        where[_place(seen)].append(index)
    # The best chain that ends before each index of `right`, and that of each move.
    best: list[_Chain | None] = [None] * (len(right) + 1)
    alike: dict[int, _Chain] = {}
    for index, was in enumerate(left):
        row = []
        for other in where[_place(was)]:
            now = right[other]
            move = now.line - was.line
            score = _PAIR + _likeness(
                was.wasted_us / sizes[0], now.wasted_us / sizes[1]
            )
            above, first = best[other], _UNMOVED * (move == 0)
            chain = _Chain(
                score + (above.score if above else first), above, index, other
            )
            same = alike.get(move)
            if same is not None and same.right < other:
                together = same.score + score + _MOVED_ALIKE
                if together > chain.score:
                    chain = _Chain(together, same, index, other)
            row.append((move, chain))
        for move, chain in row:
            if move not in alike or alike[move].score <= chain.score:
                alike[move] = chain
        _raise(best, [chain for _, chain in row])
    chain_, pairs = best[-1], []
    while chain_ is not None:
        pairs.append((left[chain_.left], right[chain_.right]))
        chain_ = chain_.above
    return pairs[::-1]


def _raise(best: list[_Chain | None], chains: Iterable[_Chain]) -> None:
    """Enter chains where they are the best; scores never fall along `best`."""
    for chain in chains:
        for index in range(chain.right + 1, len(best)):
            known = best[index]
            if known is not None and known.score >= chain.score:
                break
            best[index] = chain


def _in_order(
    left: Sequence[Seen], right: Sequence[Seen], sizes: tuple[float, float]
) -> Iterator[tuple[Seen, Seen]]:
    return zip(_sorted(left), _sorted(right), strict=False)


def _likeness(one: float, other: float) -> float:
    most = max(one, other)
    return min(one, other) / most if most > 0 else 1.0


def _sorted(some: Iterable[Seen]) -> list[Seen]:
    return sorted(some, key=lambda seen: (seen.line, _place(seen)))


def _grouped(some: Iterable[Seen], key: _Key) -> dict[Hashable, list[Seen]]:
    groups: dict[Hashable, list[Seen]] = defaultdict(list)
    for seen in some:
        groups[key(seen)].append(seen)
    return groups


def _file(seen: Seen) -> Hashable:
    return seen.file


def _function(seen: Seen) -> Hashable:
    return seen.file, seen.function


def _place(seen: Seen) -> tuple[str, ...]:
    return (seen.pattern, seen.subtype, seen.file, seen.function, seen.operator)
