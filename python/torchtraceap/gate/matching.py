# SPDX-License-Identifier: BSD-3-Clause
"""matching.py: which finding before is which one after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from torchtraceap.gate.side import Seen

Pair = tuple[Seen | None, Seen | None]


def match(before: Sequence[Seen], after: Sequence[Seen]) -> Iterator[Pair]:
    """Yield pairs: those of one id; then, as lines shift between commits, those of one
    pattern, sub-type, file, function and operator, in the order of their lines; then
    what is on one side only."""
    left, right = list(before), list(after)
    for key in (_id, _place):
        yield from _matched(left, right, key)
    yield from ((seen, None) for seen in left)
    yield from ((None, seen) for seen in right)


def _matched(
    left: list[Seen], right: list[Seen], key: Callable[[Seen], Hashable]
) -> Iterator[Pair]:
    """Yield what has one key, and take it out of both lists."""
    waiting: dict[Hashable, list[Seen]] = defaultdict(list)
    for seen in sorted(right, key=lambda one: one.line):
        waiting[key(seen)].append(seen)
    for seen in sorted(left, key=lambda one: one.line):
        if same := waiting[key(seen)]:
            other = same.pop(0)
            left.remove(seen)
            right.remove(other)
            yield seen, other


def _id(seen: Seen) -> Hashable:
    return seen.id


def _place(seen: Seen) -> Hashable:
    return (seen.pattern, seen.subtype, seen.file, seen.function, seen.operator)
