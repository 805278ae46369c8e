# SPDX-License-Identifier: BSD-3-Clause
"""destination.py: what all places have in common that reports go to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from torchtraceap.integrations.metrics import STEP, Value, values_of
from torchtraceap.profiling import cycle_files
from torchtraceap.report import Report

#: What the names of ours begin with, beside others in a run of the user's.
PREFIX = "torchtraceap"
D = TypeVar("D", bound="Destination")


class Destination:
    """A place that reports go to: called with each, directly or as a callback of
    ``torchtraceap.profile`` and ``Analyzer``.

    Errors are raised to the caller; in a callback they become warnings.
    """

    def __init__(self, step: Callable[[], int] | None = None, lines: int = 0) -> None:
        self._step = step
        self._lines = lines
        self._count = 0
        self._known: set[tuple[str, ...]] = set()

    def __call__(self, report: Report, step: int | None = None) -> None:
        """Write a report.

        Args:
            report: What ``torchtraceap.analyze`` or a profiler's callback gives.
            step: Where it stands in the run. None: what the option ``step`` returns,
                else the last step that was recorded; without steps, how many reports
                came before.

        Raises:
            TypeError: It is not a report.
            OSError: It cannot be written there.
        """
        values = list(values_of(report, self._lines))
        recorded = [int(v.value) for v in values if v.metric.full_name == STEP]
        if step is None and self._step is not None:
            step = int(self._step())
        if step is None:
            step = recorded[0] if recorded else self._count
        self._write(report, self._worth_telling(values), step)
        self._count += 1

    def close(self) -> None:
        """End what this has opened itself, and nothing of the user's."""

    def __enter__(self: D) -> D:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, report: Report, values: Sequence[Value], step: int) -> None:
        raise NotImplementedError

    def _worth_telling(self, values: Sequence[Value]) -> list[Value]:
        """Leave out the step, which has a place of its own, and patterns that never
        had any time: one that had some is reported as 0 once it is gone."""
        told = []
        for value in values:
            name = (value.metric.full_name, *value.labels)
            if value.value or "pattern" not in value.metric.labels:
                self._known.add(name)
            if name in self._known and value.metric.full_name != STEP:
                told.append(value)
        return told


def tag(value: Value) -> str:
    """Return what a number is called where names are paths: letters, digits and
    ``_-./``, as in ``torchtraceap/step_seconds``, ``torchtraceap_idle_ratio/0/copies``.

    Trackers make a section of what stands before the first slash, and shorten the rest.
    """
    name = value.metric.full_name
    first = f"{PREFIX}_{name}" if value.labels else f"{PREFIX}/{name}"
    return "/".join((first, *map(_word, value.labels)))


def _word(label: str) -> str:
    word = re.sub(r"[^A-Za-z0-9_.-]", "_", label)
    if label not in (word, word.replace("_", " ")):  # Another one may look the same.
        word += f"-{hashlib.sha256(label.encode()).hexdigest()[:6]}"
    return word


def rank_of(report: Report) -> int | None:
    """Return the rank of several that a report is of; None if it is alone."""
    if (rank := cycle_files.rank()) is not None:
        return rank
    trace = report.trace
    return trace.rank if (trace.world_size or 1) > 1 else None


def is_first_process() -> bool:
    """Tell whether this process is the one of several that opens a run."""
    return not cycle_files.rank()
