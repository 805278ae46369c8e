# SPDX-License-Identifier: BSD-3-Clause
"""findings.py: options, results and checks, which the scripts of all steps share."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_FAILED = 4  # Checks in the summary.


def parse(doc: str | None) -> argparse.Namespace:
    """Read a step's options; `until` is the ``time.monotonic()`` to end by."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    add = parser.add_argument
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--seconds", type=float, default=60, help="to end within")
    add("--out", type=Path, default=Path("."), help="folder for results")
    given = parser.parse_args()
    given.until = time.monotonic() + given.seconds
    return given


def synchronize(device: str) -> None:
    """Wait for the device."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def write(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    partial.replace(path)


def as_json(value: Any) -> bytes:
    """Return JSON; numbers that it has no form for are null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    return f"{json.dumps(plain(value), allow_nan=False)}\n".encode()


@dataclass
class Findings:
    """Results of a step: lines for the summary, data for results.json, and checks."""

    name: str
    folder: Path
    lines: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, holds: bool, detail: object = "") -> None:
        """Note whether something holds that should."""
        self.checks.append({"what": what, "holds": bool(holds), "detail": str(detail)})
        print(f"{'ok  ' if holds else 'FAIL'} {what}: {detail}", flush=True)

    @contextlib.contextmanager
    def part(self, what: str) -> Iterator[None]:
        """Make an error in a part of the step a check that fails, and write."""
        try:
            yield
        except Exception as error:
            self.check(what, False, f"{type(error).__name__}: {error}")
        self.write()

    @property
    def code(self) -> int:
        """The step's exit code: 1 if a check failed."""
        return 0 if all(one["holds"] for one in self.checks) else 1

    def write(self) -> None:
        """Write all results so far, in case the step is stopped before its end; the
        summary shows the checks that failed."""
        failed = [one for one in self.checks if not one["holds"]]
        lines = list(self.lines)
        if self.checks:
            held = len(self.checks) - len(failed)
            lines.append(f"{held} of {len(self.checks)} checks hold")
        for one in failed[:MOST_FAILED]:
            lines.append(f"FAILED {one['what']}: {one['detail'].strip()}")
        if len(failed) > MOST_FAILED:
            lines.append(f"FAILED {len(failed) - MOST_FAILED} more (results.json)")
        form = {"lines": lines, "checks": self.checks, **self.data}
        write(self.folder / f"{self.name}.json", as_json(form))
