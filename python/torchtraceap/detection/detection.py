# SPDX-License-Identifier: BSD-3-Clause
"""detection.py: the learned model's verdict on a report's windows, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from torchtraceap import _core
from torchtraceap._core import Agreement, Finding, VerdictCounts, Window

#: Of the windows in which nothing is wrong, the share that may be flagged. One in a
#: hundred: a trace has some hundred windows, so that a clean one shows a few false
#: alarms; with more, users stop looking.
FALSE_ALARMS = 0.01
#: Where so few negatives are doubtful that the promise would be kept by less, a window
#: is flagged only if a loss is likelier than none (the effect on windows of
#: programs and origins that were not trained on: docs/detector.md, Threshold).
LIKELIER = 0.5
#: In the order of the columns of the model's scores.
SIDES = ("cpu", "gpu")
#: Of a window: events that the attention rests on.
EVENTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Detection:
    """A model's verdict on the n windows of a report, in their order. Column 0 of two
    is the CPU's side, 1 the GPU's. Where no model was run, n is 0."""

    #: "run"; or why not: "off", "missing" (no torch, no weights), "failed", "unusable"
    #: (the trace is), "empty" (it has no windows).
    status: str
    #: In words why it was not run or, if it was, why it follows the rules everywhere.
    why: str | None = None
    weights: str | None = None  #: The file.
    card: dict[str, str] = field(default_factory=dict)  #: Its file's description.
    device: str | None = None  #: Where it ran: "cpu" or "cuda".
    #: Of windows without a loss, the share that is flagged at these thresholds.
    false_alarms: float = FALSE_ALARMS
    #: Of each side, above which probability a window is flagged; inf: never.
    thresholds: tuple[float, float] = (np.inf, np.inf)
    patterns: tuple[str, ...] = ()  #: The names of the P columns of ``types``.
    #: float32 [n, P]: which pattern of its side that would be; adds up to 1 in a side.
    types: NDArray[np.float32] = field(
        default_factory=lambda: np.empty((0, 0), np.float32)
    )
    #: float32 [n]: the share of a window that would be saved.
    recoverable: NDArray[np.float32] = field(
        default_factory=lambda: np.empty(0, np.float32)
    )
    verdicts: _core.Verdicts = field(default_factory=_core.Verdicts)
    load_seconds: float = 0.0  #: For torch and the weights; 0: the process had them.
    score_seconds: float = 0.0

    def __repr__(self) -> str:
        if not self.run:
            return f"<Detection: {self.status}: {self.why}>"
        flagged = self.counts.flagged
        return f"<Detection: {flagged} of {len(self.flagged)} windows flagged>"

    @property
    def run(self) -> bool:
        """Whether a model was run."""
        return self.status == "run"

    @property
    def name(self) -> str | None:
        """The model's name; None: none was run."""
        if not self.run or self.weights is None:
            return None
        file = self.weights.replace("\\", "/").rpartition("/")[2]
        return self.card.get("name") or file

    @property
    def counts(self) -> VerdictCounts:
        """How many windows are flagged, and how far rules agree."""
        return self.verdicts.counts

    @property
    def windows(self) -> tuple[Window, ...]:
        """The report's windows with probabilities, and a label for each side
        that it flags itself after those of rules; computed at each use."""
        return self.verdicts.windows

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for each place of unexplained windows, the one that saves most
        first. They claim no time and have severity "low"."""
        return self.verdicts.findings

    @property
    def probability(self) -> NDArray[np.float32]:
        """float32 [n, 2]: that patterns of a side cost 5 % and more of a window; where
        it abstains, by the rules alone. NaN: the GPU's side without a device."""
        return self.verdicts.probability

    @property
    def guess(self) -> NDArray[np.int64]:
        """int64 [n, 2]: the most likely pattern of each side; -1: none."""
        return self.verdicts.guess

    @property
    def events(self) -> NDArray[np.int64]:
        """int64 [n, 3]: rows in ``Trace.columns`` of the events that the attention
        rests on, most first; -1: none."""
        return self.verdicts.events

    @property
    def abstained(self) -> NDArray[np.bool_]:
        """bool [n]: unlike the windows it learned from, so that it follows rules."""
        return self.verdicts.abstained

    @property
    def flagged(self) -> NDArray[np.bool_]:
        """bool [n, 2]: above the threshold or, where it follows rules, by these."""
        return self.verdicts.flagged

    @property
    def by_rules(self) -> NDArray[np.bool_]:
        """bool [n, 2]: by rules, the side costs 5 % and more."""
        return self.verdicts.by_rules

    @cached_property
    def judged(self) -> NDArray[np.bool_]:
        """bool [n, 2]: the probability is not the rules' alone."""
        judged: NDArray[np.bool_] = np.isfinite(self.probability)
        judged &= ~self.verdicts.follows  # made once: views ask for every window
        return judged

    @property
    def differs(self) -> NDArray[np.bool_]:
        """bool [n, 2]: model and rules disagree."""
        differs: NDArray[np.bool_] = self.judged & (self.flagged ^ self.by_rules)
        return differs

    def agreement(self, side: int) -> Agreement:
        """Return in how many windows of a side, 0 or 1, rules and model agree, of those
        that it judged itself."""
        return (self.counts.cpu, self.counts.gpu)[side]

    def told(self, window: int, side: int) -> float | None:
        """Return a probability; None if there is none."""
        value = float(self.probability[window, side])
        return value if np.isfinite(value) else None

    def guessed(self, window: int, side: int) -> str:
        """Return the most likely pattern of a side that has a verdict."""
        return self.patterns[int(self.guess[window, side])]

    def guesses(
        self, windows: Iterable[int], *, only_flagged: bool = False
    ) -> Counter[str]:
        """Count the most likely patterns of both sides of windows, or of those sides
        that it flags itself; nothing if no model was run."""
        if not self.run:
            return Counter()
        chosen = list(windows)
        guess = self.guess[chosen]
        counted = guess >= 0
        if only_flagged:
            counted &= (self.flagged & self.judged)[chosen]
        return Counter(self.patterns[int(column)] for column in guess[counted])


def sides_of(patterns: Sequence[str]) -> NDArray[np.int64]:
    """Return the side of each pattern, a number of SIDES."""
    side_of = {pattern.name: pattern.side for pattern in _core.patterns()}
    # A pattern of a model that is none here is never named: it may be on any side.
    return np.array(
        [SIDES.index(side_of.get(name, "gpu")) for name in patterns], np.int64
    )
