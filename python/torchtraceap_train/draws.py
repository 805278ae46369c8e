# SPDX-License-Identifier: BSD-3-Clause
"""draws.py: which windows a step learns from.

A step draws sources, of each a group, of that a trace, and of that some windows in a
row: so a long trace counts no more than a short one, and a source with much of it no
more than its share. Half of the draws lie around a window that is positive or that
rules misjudge, because nine windows of ten are neither; calibration undoes the
effect on probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from torchtraceap_train.traces import OWN, LearningTrace

#: Of what is drawn, by source; others share evenly. Recorded and perturbed traces are
#: real, and what was learned from simulated ones alone did not hold on real ones.
SHARES = {"R": 0.2, "S": 0.45, "P": 0.35}


def shares_of(sources: Sequence[str]) -> dict[str, float]:
    """Return the share of each source, which add up to 1."""
    shares = {source: SHARES.get(source, 1 / len(sources)) for source in sources}
    total = sum(shares.values())
    return {source: share / total for source, share in shares.items()}


@dataclass(frozen=True)
class DrawSettings:
    """How a step is drawn."""

    windows: int = 8  # In a row, of one draw.
    draws: int = 12  # Of a step; a twin comes on top where there is one.
    sought: float = 0.5  # Share of draws around a window that is worth looking at.
    twins: bool = False  # Draw the twin's windows of the same place too.


class Drawn(NamedTuple):
    """Windows [first, last) of a trace; twins of a step have the same ``pair``, -1:
    there is no twin."""

    trace: LearningTrace
    first: int
    last: int
    pair: int = -1

    def tells(self, losses: Sequence[str]) -> bool:
        """Whether any of the losses can be worked out of it."""
        here, trace = slice(self.first, self.last), self.trace
        told = {
            "masked": True,
            "any": (trace.any[here] >= 0).any(),
            "types": (trace.types[here] >= 0).any(),
            "recoverable": np.isfinite(trace.recoverable[here]).any(),
            "bags": trace.bad is not None,
            "pairs": self.pair >= 0,
        }
        return any(told[loss] for loss in losses)


class Draws:
    """Draws what steps learn from: of one seed and step always the same."""

    def __init__(
        self, traces: Sequence[LearningTrace], settings: DrawSettings, seed: int
    ) -> None:
        self.settings, self.seed = settings, seed
        self.named = {trace.name: trace for trace in traces}
        groups: dict[str, dict[str, list[LearningTrace]]] = {}
        for trace in sorted(traces, key=lambda trace: (trace.source, trace.group)):
            if len(trace):
                of_source = groups.setdefault(trace.source, {})
                of_source.setdefault(trace.group, []).append(trace)
        self.groups = {source: list(of.values()) for source, of in groups.items()}
        self.sources = list(self.groups)
        self.shares = np.array(list(shares_of(self.sources).values()))

    def windows_of(self, number: int, again: int = 0) -> list[Drawn]:
        """Return the windows of a step; others for each value of ``again``."""
        random = np.random.default_rng([self.seed, number, again][: 3 if again else 2])
        out: list[Drawn] = []
        for draw in range(self.settings.draws):
            source = self.sources[random.choice(len(self.sources), p=self.shares)]
            groups = self.groups[source]
            group = groups[random.integers(len(groups))]
            trace = group[random.integers(len(group))]
            first, last = self._place(trace, random)
            twin = self.named.get(trace.twin) if self.settings.twins else None
            if twin is None or not len(twin) or trace.bad is None or twin.bad is None:
                out.append(Drawn(trace, first, last))
                continue
            pair = draw if trace.bad != twin.bad else -1
            out.append(Drawn(trace, first, last, pair))
            of = first / max(1, len(trace) - (last - first))
            there = min(len(twin), self.settings.windows)
            begin = round(min(1.0, of) * (len(twin) - there))
            out.append(Drawn(twin, begin, begin + there, pair))
        return out

    def _place(
        self, trace: LearningTrace, random: np.random.Generator
    ) -> tuple[int, int]:
        size = min(len(trace), self.settings.windows)
        first = int(random.integers(len(trace) - size + 1))
        worth = np.empty(0, np.intp)
        if random.random() < self.settings.sought:
            worth = _worth(trace, int(random.integers(4)))
        if not len(worth) and trace.source == OWN:
            # By hand a few windows of hundreds are labeled.
            worth = np.flatnonzero((trace.any >= 0).any(axis=1))
        if len(worth):
            at = int(worth[random.integers(len(worth))])
            first = at - int(random.integers(size))
        first = min(max(first, 0), len(trace) - size)
        return first, first + size


def _worth(trace: LearningTrace, what: int) -> NDArray[np.intp]:
    """Return the windows of a trace that are positive, or misjudged, on a side."""
    side = what % 2
    found = trace.any[:, side] == 1 if what < 2 else trace.missed[:, side]
    return np.flatnonzero(found)
