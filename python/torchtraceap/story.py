# SPDX-License-Identifier: BSD-3-Clause
"""story.py: a guided look at a report, question by question."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.units import us_from_ns


@dataclass(frozen=True)
class Stage:
    """One question, answered in figures. pipeline/story/story.h lists all."""

    id: str  #: busy, idle, limit, work, overlap, gain.
    question: str
    answer: str  #: Sentences; names in them are from the trace.
    #: The answer in one stable word, such as "host" or a pattern; "" if it has none.
    verdict: str
    known: bool  #: False: the trace does not allow an answer; `answer` says why.
    severity: str | None  #: "low", "medium", "high", as of a finding; None: no cost.
    figures: dict[str, float | int]  #: Times end in ``_us``; the rest are counts.


def read_story(core: list[_core.Stage]) -> tuple[Stage, ...]:
    """Convert the core's stages, in its order."""
    return tuple(
        Stage(
            id=stage.id,
            question=stage.question,
            answer=stage.answer,
            verdict=stage.verdict,
            known=stage.known,
            severity=stage.severity,
            figures=dict(map(_figure, stage.figures)),
        )
        for stage in core
    )


def _figure(figure: _core.Figure) -> tuple[str, float | int]:
    if figure.is_time:
        return f"{figure.name}_us", us_from_ns(figure.value)
    return figure.name, figure.value
