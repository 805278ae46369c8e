# SPDX-License-Identifier: BSD-3-Clause
"""path_raw.py: a trace's events by their numbers, for what HTA says of them."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "loader"))

from figures import DEVICE_WORK, exact_ns
from raw import MEMORY, OUR_COMMUNICATION

DEVICE = ("compute", "communication", "copies")
RUNTIME = {"cuda_runtime", "cuda_driver", "Runtime"}


class Raw:
    """The events of a file by their numbers, which HTA keeps."""

    def __init__(self, path: Path) -> None:
        text = path.read_bytes()
        text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
        document = json.loads(text, parse_float=str, strict=False)
        self.events = (
            document if isinstance(document, list) else document["traceEvents"]
        )
        self.sync_rows = sum(e.get("cat") == "cuda_sync" for e in self.events)
        self._launches: dict[int, int] = {}
        together: dict[int, list[int]] = {}
        for row, e in enumerate(self.events):
            number = self._correlation(e)
            if number and e.get("cat") in DEVICE_WORK:
                together.setdefault(number, []).append(row)
            elif number and e.get("cat") in RUNTIME:
                self._launches.setdefault(number, row)
        self._graphs = {
            (self.events[row]["name"], self.begin(row))
            for rows in together.values()
            for row in (rows if len(rows) > 1 else ())
        }

    @staticmethod
    def _correlation(event: dict[str, Any]) -> int:
        args = event.get("args") if "dur" in event else None
        return int((args or {}).get("correlation", 0))

    def launch(self, row: int) -> int | None:
        """Return the call that launched device work."""
        return self._launches.get(self._correlation(self.events[row]))

    def shares_launch(self, work: tuple[str, int]) -> bool:
        """Tell whether the call that launched it launched more."""
        return work in self._graphs

    def begin(self, row: int) -> int:
        """Return when an event begins."""
        return exact_ns(self.events[row]["ts"])

    def end(self, row: int) -> int:
        """Return when it ends."""
        return self.begin(row) + exact_ns(self.events[row]["dur"])

    def category(self, row: int) -> str:
        """Return the category that both tools' time in an event is given."""
        if row < 0:
            return "host"
        cat, name = self.events[row].get("cat", ""), self.events[row]["name"]
        if cat in MEMORY:
            return "copies"
        if cat in DEVICE_WORK:
            comm = OUR_COMMUNICATION.search(name)
            return "communication" if comm else "compute"
        return "runtime_calls" if cat in RUNTIME else "host"

    def step(self, number: int) -> tuple[int, int]:
        """Return when a step begins and ends on the host."""
        for row, e in enumerate(self.events):
            on_host = "stream" not in e.get("args", {}) and "gpu" not in e.get(
                "cat", ""
            )
            if e.get("name") == f"ProfilerStep#{number}" and "dur" in e and on_host:
                return self.begin(row), self.end(row)
        raise KeyError(number)
