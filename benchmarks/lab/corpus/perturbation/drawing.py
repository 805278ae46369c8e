# SPDX-License-Identifier: BSD-3-Clause
"""drawing.py: where a pattern goes, and how strong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from benchmarks.lab import _lab
from benchmarks.lab.corpus.perturbation.scene import Scene, Thread

#: Places of one cause; more would change what the trace is.
MOST_PLACES = 400


@dataclass
class Draw:
    """The inputs of a mechanism.

    Attributes:
        rng: For all that it draws.
        strength: 0 to 1; the mechanism decides its effect.
        null: To be put where it costs nothing.
        thread: Whose.
        begin, end: The stretch of recorded time that it is put into.
    """

    rng: np.random.Generator
    strength: float
    null: bool
    thread: Thread
    begin: int
    end: int

    def scaled(self, low: float, high: float) -> float:
        """Return a quantity that grows evenly in its logarithm with the strength."""
        return float(low * (high / low) ** self.strength)

    @property
    def length(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Place:
    """A moment of a thread, right after an operator."""

    at: int
    row: int


def operators_in(scene: Scene, draw: Draw) -> np.ndarray:
    """Return the outermost operators of the drawn thread that end in the stretch,
    except those that end inside a call and the thread's last."""
    rows = scene.operators(draw.thread)
    if len(rows) < 3:
        return rows[:0]
    rows = rows[:-1]
    inside = (scene.end[rows] > draw.begin) & (scene.end[rows] <= draw.end)
    return rows[inside]


def places(
    scene: Scene, draw: Draw, least: int = 1, most: int = MOST_PLACES
) -> list[Place]:
    """Draw places after operators of one name: all, or every n-th, the more the
    stronger. A null goes where `quiet` says. Empty if there are none."""
    rows = operators_in(scene, draw)
    counts = Counter(scene.names[rows])
    names = sorted(name for name, count in counts.items() if count >= least)
    if not names:
        return []
    weights = np.array([min(counts[name], 64) for name in names], dtype=float)
    name = draw.rng.choice(np.array(names, dtype=object), p=weights / weights.sum())
    rows = rows[scene.names[rows] == name]
    wanted = min(len(rows), most, max(least, round(draw.scaled(1, len(rows)))))
    every = max(1, len(rows) // wanted)
    chosen = rows[int(draw.rng.integers(every)) :: every][:most]
    return [Place(int(scene.end[row]), int(row)) for row in chosen]


def some(scene: Scene, draw: Draw, count: int) -> list[Place]:
    """Return `count` places after any operators, spread over the stretch."""
    rows = operators_in(scene, draw)
    if not len(rows):
        return []
    step = max(1, len(rows) // max(1, count))
    chosen = rows[int(draw.rng.integers(step)) :: step][:count]
    return [Place(int(scene.end[row]), int(row)) for row in chosen]


def quiet(scene: Scene, draw: Draw, count: int, ahead: bool) -> list[Place]:
    """Return places where a pause costs nothing, because the host is far ahead of the
    device, or (not `ahead`) where a wait does, because the device has nothing left."""
    rows = operators_in(scene, draw)
    if not len(rows):
        return []
    lead = scene.lead(draw.thread, scene.end[rows])
    order = np.argsort(-lead if ahead else lead, kind="stable")
    best = [i for i in order if (lead[i] > 0) == ahead][: 4 * count]
    chosen = draw.rng.permutation(best)[:count].astype(int)
    return [Place(int(scene.end[rows[i]]), int(rows[i])) for i in sorted(chosen)]


def steps(scene: Scene, draw: Draw) -> list[Place]:
    """Return places between the steps of the stretch; without steps, between runs of
    operators about as long."""
    rows = operators_in(scene, draw)
    if not len(rows):
        return []
    marks = [
        row
        for row in scene.on(draw.thread, scene.of("user_annotation", "cpu_op"))
        if scene.names[row].startswith("ProfilerStep")
        and draw.begin <= scene.ts[row] <= draw.end
    ]
    if len(marks) > 1:
        # After the first operator of each: inside the step, where a loader is asked.
        firsts = np.searchsorted(scene.ts[rows], scene.ts[marks])
        chosen = sorted({int(i) for i in firsts if i < len(rows)})
    else:
        each = int(draw.rng.integers(60, 240))
        chosen = list(range(0, len(rows), each))
    return [Place(int(scene.end[rows[i]]), int(rows[i])) for i in chosen]


def insertion(scene: Scene, draw: Draw, place: Place) -> _lab.Insertion:
    """Begin an insertion at a place of the drawn thread."""
    thread = draw.thread
    return _lab.Insertion(scene.analysis, thread.pid, thread.tid, place.at)


def jitter(draw: Draw, ns: float, spread: float = 0.25) -> int:
    """Return a length about as long, never below 200 ns."""
    return max(200, int(ns * float(draw.rng.lognormal(0, spread))))
