# SPDX-License-Identifier: BSD-3-Clause
"""hook_places.py: where within a hook the time is that its fix saves.

What a hook saves is measured, see hook_times.py; where, the operators tell that only
the slow twin has. Twins run the same operators in the same order but for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

import torchtraceap
from benchmarks.lab.corpus.hook_times import Hook, Piece, Steps

#: Of both twins, in a hook. To find what equal names have in common takes time by the
#: cube: seconds for so many, half a minute for twice as many.
MOST_OPERATORS = 3_000


@dataclass(frozen=True)
class Operators:
    """The outermost operators of a recording's busiest thread, by start, in ns of the
    system's clock."""

    names: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    def within(self, begin: int, end: int) -> Operators:
        """Return those that begin in a stretch."""
        first, last = np.searchsorted(self.begin, (begin, end))
        return Operators(*(a[first:last] for a in (self.names, self.begin, self.end)))


def operators_of(recording: bytes, base_ns: int) -> Operators:
    """Return the outermost operators of a trace whose clock counts from `base_ns`."""
    trace = torchtraceap.load(recording)
    c = trace.columns
    kinds = [i for i, kind in enumerate(trace.category_names) if kind == "cpu_op"]
    rows = np.flatnonzero(np.isin(c["category"], kinds) & (c["phase"] == b"X"))
    threads, counts = np.unique(c["tid"][rows], return_counts=True)
    rows = rows[c["tid"][rows] == threads[counts.argmax()]] if len(rows) else rows
    rows = rows[np.lexsort((-c["dur"][rows], c["ts"][rows]))]
    ends = c["ts"][rows] + c["dur"][rows]
    # Of the same start the longest comes first: whoever ends later than all is outside.
    outside = np.ones(len(rows), bool)
    outside[1:] = c["ts"][rows][1:] >= np.maximum.accumulate(ends)[:-1]
    names = np.array(trace.strings, dtype=object)[c["name"][rows[outside]]]
    return Operators(
        names,
        c["ts"][rows[outside]] + base_ns,
        ends[outside].astype(np.int64) + base_ns,
    )


def placed(
    slow: tuple[Steps, Operators, Sequence[int]],
    fixed: tuple[Steps, Operators, Sequence[int]],
    factor: dict[str, float],
) -> Callable[[int, int], list[Piece] | None]:
    """Return what tells the pieces of a hook of the slow twin, by its step and its
    place in it; None where nothing is known but the whole.

    Args:
        slow: All its steps, the operators of its recording, which steps that shows.
        fixed: The same of its twin.
        factor: By hook: how long it takes in the fixed twin, over the slow.
    """
    steps, ours, shown = slow
    others, theirs, beside = fixed
    partner = dict(zip(shown, beside, strict=False))

    def pieces(step: int, place: int) -> list[Piece] | None:
        hook = steps.hooks[step][place]
        if step not in partner or factor.get(hook[0], 1.0) >= 1:
            return None
        same = [h for h in others.hooks[partner[step]] if h[0] == hook[0]]
        before = sum(h[0] == hook[0] for h in steps.hooks[step][:place])
        if before >= len(same):
            return None
        saving = round((1 - factor[hook[0]]) * (hook[2] - hook[1]))
        return cut(ours, theirs, hook, same[before], saving)

    return pieces


def cut(
    ours: Operators, theirs: Operators, hook: Hook, other: Hook, saving: int
) -> list[Piece] | None:
    """Cut a hook where operators of both twins begin and end, and take `saving` out of
    the pieces in which it has operators of its own; what they cannot give comes from
    where it takes longer, then from everywhere. None if no operator is in both, or if
    they are more than MOST_OPERATORS.
    """
    a, b = ours.within(*hook[1:]), theirs.within(*other[1:])
    if len(a.names) + len(b.names) > MOST_OPERATORS:
        return None
    matcher = SequenceMatcher(None, list(a.names), list(b.names), autojunk=False)
    both = [
        (block.a + k, block.b + k)
        for block in matcher.get_matching_blocks()
        for k in range(block.size)
    ]
    if not both:
        return None
    until, beside, own = [], [], []
    last = -1
    for i, j in both:
        until += [a.begin[i], a.end[i]]
        beside += [b.begin[j], b.end[j]]
        own += [i > last + 1, False]
        last = i
    until.append(hook[2])
    beside.append(other[2])
    own.append(len(a.names) > last + 1)
    # An operator may end a moment after its hook, by the two clocks.
    ends = np.maximum.accumulate(np.array([hook[1], *until]).clip(hook[1], hook[2]))
    length = np.diff(ends)
    fixed_ends = np.array([other[1], *beside]).clip(other[1], other[2])
    longer = np.maximum(length - np.diff(np.maximum.accumulate(fixed_ends)), 0)
    taken = np.zeros(len(length))
    alien = np.array(own)
    for could in (longer * alien, longer * ~alien, length):
        left = saving - taken.sum()
        could = np.minimum(could, length - taken)
        if left > 0 and could.sum() > 0:
            taken += could * min(1.0, left / could.sum())
    rest = np.round(length - taken).astype(int)
    return list(zip(ends[1:].tolist(), rest.tolist(), strict=True))
