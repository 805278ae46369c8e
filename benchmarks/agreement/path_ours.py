# SPDX-License-Identifier: BSD-3-Clause
"""path_ours.py: what torchtraceap says of critical paths, and how long it takes."""

from __future__ import annotations

import time
from pathlib import Path

import torchtraceap
from torchtraceap import edits


class Ours:
    """What torchtraceap says of one trace, and how long that takes."""

    def __init__(self, path: Path) -> None:
        begin = time.perf_counter()
        self.trace = torchtraceap.load(path)
        self.report = torchtraceap.analyze(self.trace)
        self.paths = self.report.critical_paths
        self.seconds = time.perf_counter() - begin
        columns = self.trace.columns
        self._rows = {
            (int(ts), int(name)): row
            for row, (ts, name) in enumerate(
                zip(columns["ts"], columns["name"], strict=True)
            )
            if columns["device"][row] >= 0
        }
        self._names = {name: i for i, name in enumerate(self.trace.strings)}

    def row(self, name: str, begin: int) -> int | None:
        """Return the row of device work."""
        return self._rows.get((begin, self._names.get(name, -1)))

    def without_device(self) -> dict[str, float] | None:
        """Return how long the trace is, and would be if device work took no time."""
        recovery = self.report.recovery
        if recovery.fidelity is None:
            return None
        outcome = torchtraceap.what_if(self.report, edits.scale("*", 0))
        if outcome.changed_span_us is None or outcome.replayed_span_us is None:
            return None
        return {
            "before_us": outcome.replayed_span_us,
            "after_us": outcome.changed_span_us,
        }
