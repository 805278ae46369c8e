# SPDX-License-Identifier: BSD-3-Clause
"""detection.py: what the learned model says of a report's windows, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core

#: Of the windows in which nothing is wrong, the share that may be flagged. One in a
#: hundred: a trace has some hundred windows, so that a clean one shows a few false
#: alarms; whoever must look at more does not look at all.
FALSE_ALARMS = 0.01
#: Where so few negatives are doubtful that the promise would be kept by less, a window
#: is flagged only if a loss is likelier than none (results/model_card.md: the effect on
#: windows of programs and origins that were not trained on).
LIKELIER = 0.5
#: In the order of the columns of what the model says.
SIDES = ("cpu", "gpu")
#: Of a window: events that the attention rests on.
EVENTS = 3


@dataclass(frozen=True)
class Agreement:
    """In how many windows rules and model see a loss on a side, 5 % and more."""

    both: int
    rules: int  #: Rules alone.
    model: int  #: The model alone.
    neither: int


@dataclass(frozen=True, eq=False, repr=False)
class Detection:
    """What a model says of the n windows of a report, in their order. Column 0 of two
    is the CPU's side, 1 the GPU's. Where nothing was asked, n is 0."""

    #: "run"; or why not: "off", "missing" (no torch, no weights), "failed", "unusable"
    #: (the trace is), "empty" (it has no windows).
    status: str
    #: In words why it was not run or, if it was, why it says nothing; None: it does.
    why: str | None = None
    weights: str | None = None  #: The file.
    card: dict[str, str] = field(default_factory=dict)  #: What its file says of it.
    device: str | None = None  #: Where it ran: "cpu" or "cuda".
    #: Of windows without a loss, the share that is flagged at these thresholds.
    false_alarms: float = FALSE_ALARMS
    #: Of each side, above which probability a window is flagged; inf: never.
    thresholds: tuple[float, float] = (np.inf, np.inf)
    patterns: tuple[str, ...] = ()  #: What the P columns of ``types`` stand for.
    #: float32 [n, 2]: that patterns of a side cost 5 % and more of a window. NaN where
    #: it is not told: abstained, or the GPU's side of a window without a device.
    probability: NDArray[np.float32] = field(default_factory=lambda: _empty(2))
    #: float32 [n, P]: which pattern of its side that would be; adds up to 1 in a side.
    types: NDArray[np.float32] = field(default_factory=lambda: _empty(0))
    #: int64 [n, 2]: the most likely pattern of each side.
    guess: NDArray[np.int64] = field(default_factory=lambda: _empty(2, np.int64))
    #: float32 [n]: the share of a window that would be saved.
    recoverable: NDArray[np.float32] = field(default_factory=lambda: _empty())
    #: int64 [n, 3]: rows in ``Trace.columns`` of the events that the attention rests
    #: on, most first; -1: none.
    events: NDArray[np.int64] = field(default_factory=lambda: _empty(EVENTS, np.int64))
    #: bool [n]: the window is unlike what the model learned from.
    abstained: NDArray[np.bool_] = field(default_factory=lambda: _empty(None, np.bool_))
    #: bool [n, 2]: the probability is above the threshold.
    flagged: NDArray[np.bool_] = field(default_factory=lambda: _empty(2, np.bool_))
    #: bool [n, 2]: rules say that the side costs 5 % and more.
    by_rules: NDArray[np.bool_] = field(default_factory=lambda: _empty(2, np.bool_))
    #: bool [n]: flagged, and rules see next to nothing on any side.
    unexplained: NDArray[np.bool_] = field(
        default_factory=lambda: _empty(None, np.bool_)
    )
    load_seconds: float = 0.0  #: For torch and the weights; 0: the process had them.
    score_seconds: float = 0.0

    def __repr__(self) -> str:
        if not self.run:
            return f"<Detection: {self.status}: {self.why}>"
        flagged = int(self.flagged.any(axis=1).sum())
        return f"<Detection: {flagged} of {len(self.flagged)} windows flagged>"

    @property
    def run(self) -> bool:
        """Whether a model was asked."""
        return self.status == "run"

    @property
    def name(self) -> str | None:
        """What the model is called; None: none was run."""
        if not self.run or self.weights is None:
            return None
        file = self.weights.replace("\\", "/").rpartition("/")[2]
        return self.card.get("name") or file

    @property
    def judged(self) -> NDArray[np.bool_]:
        """bool [n, 2]: where a probability is told."""
        return np.isfinite(self.probability)

    @property
    def differs(self) -> NDArray[np.bool_]:
        """bool [n, 2]: model and rules say different things."""
        differs: NDArray[np.bool_] = self.judged & (self.flagged ^ self.by_rules)
        return differs

    def agreement(self, side: int) -> Agreement:
        """Count the windows of a side, 0 or 1, of which the model says something."""
        judged = self.judged[:, side]
        model, rules = self.flagged[judged, side], self.by_rules[judged, side]
        return Agreement(
            both=int((model & rules).sum()),
            rules=int((rules & ~model).sum()),
            model=int((model & ~rules).sum()),
            neither=int((~model & ~rules).sum()),
        )

    def told(self, window: int, side: int) -> float | None:
        """Return a probability; None if none is told."""
        value = float(self.probability[window, side])
        return value if np.isfinite(value) else None

    def guessed(self, window: int, side: int) -> str:
        """Return the most likely pattern of a side."""
        return self.patterns[int(self.guess[window, side])]

    def guesses(
        self, windows: Iterable[int], *, only_flagged: bool = False
    ) -> Counter[str]:
        """Count the most likely patterns of both sides of windows, or of those sides
        that are flagged; nothing if no model was run."""
        return Counter(
            self.guessed(window, side)
            for window in windows
            if self.run
            for side in range(len(SIDES))
            if self.flagged[window, side] or not only_flagged
        )


def likely(
    types: NDArray[np.float32], patterns: tuple[str, ...], not_asked: Sequence[str]
) -> NDArray[np.int64]:
    """Return int64 [n, 2]: the column of the most likely pattern of each side, of those
    that the model was asked for."""
    asked = ~np.isin(patterns, not_asked)
    sides = sides_of(patterns)
    found = np.zeros((len(types), 2), np.int64)
    for number in range(len(SIDES)):
        columns = np.flatnonzero((sides == number) & asked)
        found[:, number] = columns[np.argmax(types[:, columns], axis=1)]
    return found


def sides_of(patterns: Sequence[str]) -> NDArray[np.int64]:
    """Return the side of each pattern, a number of SIDES."""
    side_of = {pattern.name: pattern.side for pattern in _core.patterns()}
    # A pattern of a model that is none here is never named: it may be on any side.
    return np.array(
        [SIDES.index(side_of.get(name, "gpu")) for name in patterns], np.int64
    )


def _empty(columns: int | None = None, kind: Any = np.float32) -> NDArray[Any]:
    return np.empty(0 if columns is None else (0, columns), kind)
