# SPDX-License-Identifier: BSD-3-Clause
"""findings.py: options, results and checks, which the scripts of all steps share."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def parse(doc: str | None) -> argparse.Namespace:
    """Read a step's options; `until` is the ``time.monotonic()`` to end by."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=60, help="to end within")
    parser.add_argument(
        "--out", type=Path, default=Path("."), help="folder for results"
    )
    given = parser.parse_args()
    given.until = time.monotonic() + given.seconds
    if given.device == "cuda":
        import torch

        if not torch.cuda.is_available():
            parser.exit(3, "torch sees no GPU; --device cpu rehearses\n")
    return given


@dataclass
class Findings:
    """What a step found: lines for the summary, data for results.json, and checks."""

    name: str
    folder: Path
    lines: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)

    def check(self, what: str, holds: bool, detail: object = "") -> None:
        """Note whether something holds that should."""
        self.checks.append({"what": what, "holds": bool(holds), "detail": str(detail)})
        print(f"{'ok  ' if holds else 'FAIL'} {what}: {detail}", flush=True)

    @property
    def code(self) -> int:
        """What the step ends with: 1 if a check failed."""
        return 0 if all(one["holds"] for one in self.checks) else 1

    def write(self) -> None:
        """Write what is known by now, should the step be stopped before its end; the
        summary shows the checks that failed."""
        failed = [one for one in self.checks if not one["holds"]]
        lines = list(self.lines)
        if self.checks:
            held = len(self.checks) - len(failed)
            lines.append(f"{held} of {len(self.checks)} checks hold")
        lines += [f"FAILED {one['what']}: {one['detail']}" for one in failed[:4]]
        text = json.dumps({"lines": lines, "checks": self.checks, **self.data})
        (self.folder / f"{self.name}.json").write_text(text + "\n", "utf-8")
