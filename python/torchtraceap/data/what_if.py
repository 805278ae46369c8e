# SPDX-License-Identifier: BSD-3-Clause
"""what_if.py: a replay with changes made, as data."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap._core import Fidelity, Gain, Simulated, StepTimes

# Share of a step: with less time left, the edits no longer describe a real program.
_LEAST_LEFT = 0.01


@dataclass(frozen=True)
class Edit:
    """One change. Made by ``torchtraceap.edits``; changes add up as sets."""

    kind: str
    name: str
    factor: float = 1.0


@dataclass(frozen=True)
class WhatIfData:
    """A replay with edits made. ``gain`` is None where it is unreliable."""

    path: str
    edits: tuple[Edit, ...]
    fidelity: Fidelity
    span_us: float  #: As recorded.
    replayed_span_us: float
    changed_span_us: float | None  #: None: unreliable, `refusals` says why.
    steps: tuple[StepTimes, ...]
    gain: Gain | None
    refusals: tuple[str, ...]  #: Why the gain is unreliable; or empty.
    #: Microseconds by category, with the edits made; empty if scheduled by events.
    critical_path: dict[str, float]
    #: "graph", or "events" where an edit lets work overlap: docs/replay.md.
    engine: str
    #: What the trace rests on if a dry run simulated it: then so are all times here.
    simulated: Simulated | None

    @property
    def leaves_nothing(self) -> bool:
        """Whether the edits take all time of a step, or of the trace: no fix would."""
        parts = [(self.replayed_span_us, self.changed_span_us)]
        parts += [(step.replayed_span_us, step.changed_span_us) for step in self.steps]
        return any(
            after is not None and after <= _LEAST_LEFT * before
            for before, after in parts
            if before > 0
        )
