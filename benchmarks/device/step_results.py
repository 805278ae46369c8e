# SPDX-License-Identifier: BSD-3-Clause
"""step_results.py: OUT: summary.txt, results.json and logs.tar.gz after each step."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.device.findings import as_json, write

WIDTH = 98  # Of the summary's lines, which should fit on a screen.
LOG_BYTES = 4_000_000  # Of each log, its end: OUT stays small whatever a step prints.
#: Lines of a log that say why a build or a test failed.
WRONG = re.compile(r"^(FAILED|ERROR)\b|CMake Error|\w+(Error|NotFound): |\berror: ")


@dataclass
class Outcome:
    """How a step ended, and its results."""

    name: str
    state: str
    seconds: float
    found: dict[str, Any]


def results_of(name: str, log: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Return a step's own JSON file, which goes into results.json, or the last line of
    its log and those that speak of errors."""
    path = given.out / f"{name}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
        path.unlink()
        return found
    text = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    wrong = [line for line in text if WRONG.search(line)]
    last = [line for line in text if line.strip()][-1:]
    return {"lines": list(dict.fromkeys([*wrong[:4], *wrong[-2:], *last]))}


def earlier(out: Path) -> dict[str, Outcome]:
    """Return the outcomes that an earlier run left, by name; those of steps that are
    run again are replaced."""
    try:
        steps = json.loads((out / "results.json").read_text("utf-8"))["steps"]
        return {step["name"]: Outcome(**step) for step in steps}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def shortened(line: str) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


class Results:
    """OUT, which is complete after each step."""

    def __init__(
        self,
        given: argparse.Namespace,
        logs: Path,
        order: Sequence[str],
        planned: Sequence[str],
    ) -> None:
        """`order`: the names of all steps; `planned`: those of this run."""
        self._given = given
        self._logs = logs
        self._order = order
        self._planned = planned
        self._outcomes = earlier(given.out)
        self._begun = time.monotonic()
        self._unpack()
        for name in self._planned:
            self._outcomes[name] = Outcome(name, "to do", 0, {})

    def add(self, outcome: Outcome) -> None:
        """Add a step's outcome, and write all files, as far as that is possible."""
        self._outcomes[outcome.name] = outcome
        known = [self._outcomes[n] for n in self._order if n in self._outcomes]
        given = self._given
        results = {
            "device": given.device,
            "minutes": given.minutes,
            "packages": (given.packages / "contents.txt").read_text("utf-8"),
            "steps": [vars(one) for one in known],
        }
        for name, data in (
            ("summary.txt", self.text(known).encode()),
            ("results.json", as_json(results)),
            ("logs.tar.gz", self._packed()),
        ):
            try:
                write(given.out / name, data)
            except OSError as error:  # The other steps may need less room.
                print(f"{given.out / name} cannot be written: {error.strerror}")

    def text(self, outcomes: list[Outcome]) -> str:
        """Return the summary: one screen."""
        given, seconds = self._given, time.monotonic() - self._begun
        missed = [one.name for one in outcomes if one.state != "passed"]
        verdict = f"NOT PASSED: {', '.join(missed)}" if missed else "all steps passed"
        date = time.strftime("%Y-%m-%d %H:%M")
        lines = [
            f"{verdict}. On {given.device}, {date}, {seconds:.0f} s of "
            f"{60 * given.minutes:.0f}"
        ]
        if given.device == "cpu":
            lines.append("A REHEARSAL: its figures mean nothing.")
        for one in outcomes:
            lines.append(f"{one.name}: {one.state}, {one.seconds:.1f} s")
            if one.name not in self._planned:
                lines[-1] += " (an earlier run)"
            lines += [f"  {line}" for line in one.found.get("lines", [])]
        return "".join(f"{shortened(line)}\n" for line in lines)

    def _unpack(self) -> None:
        """Take up the logs of an earlier run."""
        path = self._given.out / "logs.tar.gz"
        with contextlib.suppress(OSError, tarfile.TarError), tarfile.open(path) as tar:
            for info in tar:
                if (file := tar.extractfile(info)) and "/" not in info.name:
                    (self._logs / info.name).write_bytes(file.read())

    def _packed(self) -> bytes:
        """Return the ends of all logs as one archive."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            for path in sorted(self._logs.iterdir()):
                data = path.read_bytes()[-LOG_BYTES:]
                info = tarfile.TarInfo(path.name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()
