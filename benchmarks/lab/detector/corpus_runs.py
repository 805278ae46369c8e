# SPDX-License-Identifier: BSD-3-Clause
"""corpus_runs.py: runs.jsonl, the facts about each run of a compact corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any


class CorpusError(ValueError):
    """The files are not a compact corpus; the message says which and why."""


@dataclass(frozen=True)
class Cause:
    """A pattern in a run; the fields are those of benchmarks/lab/corpus/runs.py."""

    pattern: str
    mechanism: str
    strength: float
    null: bool
    natural: bool
    saved: float
    also: tuple[str, ...] = ()  #: Patterns that the same fix removes.


@dataclass(frozen=True)
class Run:
    """A line of runs.jsonl."""

    name: str
    source: str
    group: str
    role: str
    twin: str
    task: str
    family: str
    gpu: str
    origin: str
    complete: bool
    recording: dict[str, Any]
    causes: tuple[Cause, ...]
    good: bool | None
    windows: int
    held_out: bool = False
    unknown: tuple[str, ...] = ()

    def injected(self) -> Iterator[Cause]:
        """Yield what somebody put in at a cost that was meant."""
        return (cause for cause in self.causes if not cause.null and not cause.natural)

    def saved(self) -> float:
        """Return the most that going without one injected cause saves, a share."""
        return max((cause.saved for cause in self.injected()), default=0.0)


def read_runs(path: Path) -> Iterator[Run]:
    """Yield the runs of runs.jsonl.

    Raises:
        CorpusError: A line lacks a field.
    """
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        known = json.loads(line)
        missing = [name for name in _asked(Run) if name not in known]
        # A file from before origins were kept apart would have them trained on.
        if known.get("source") == "P" and "held_out" not in known:
            missing.append("held_out")
        if missing:
            raise CorpusError(f"{path}, line {number}: no field {missing[0]}")
        causes = tuple(_made(Cause, cause) for cause in known["causes"])
        yield _made(Run, known | {"causes": causes})


def _asked(kind: type) -> list[str]:
    return [one.name for one in fields(kind) if one.default is MISSING]


def _made(kind: type, known: dict[str, Any]) -> Any:
    """Make a Run or a Cause of what is known; lists of JSON become tuples."""
    own = {one.name: known[one.name] for one in fields(kind) if one.name in known}
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in own.items()})
