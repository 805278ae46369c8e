# SPDX-License-Identifier: BSD-3-Clause
"""small_training.py: a training step whose waits for the device are known by line.

Run as a program it prints, as JSON, the waits that a dry run or the CPU's watch finds:
a dry run begins only where torch sees no GPU, so it needs a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import torch
from torch import nn

import torchtraceap

#: Width and batch. With the large one the device is busy for longer than the host, so
#: that waits for it take longer than the least that is a finding.
SIZES = {"cuda": (1024, 256), "cuda large": (4096, 4096), "cpu": (64, 16)}
LAYERS = 6


class SmallTraining:
    """A few layers and an optimizer on a device; batches come from pinned memory."""

    def __init__(self, device: str, size: str = "") -> None:
        torch.manual_seed(0)
        width, batch = SIZES[size or device]
        layers = [
            m for _ in range(LAYERS) for m in (nn.Linear(width, width), nn.ReLU())
        ]
        self.device = device
        self.model = nn.Sequential(*layers).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.batch = torch.ones(batch, width)
        if device == "cuda":
            self.batch = self.batch.pin_memory()
        self.total = 0.0

    def step(self, waits: bool) -> None:
        """Train on a batch; if it `waits`, at the two lines that say so."""
        x = self.batch.to(self.device, non_blocking=True)
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if waits:
            self.total += loss.item()  # waits
            torch.nonzero(x)  # waits


def lines_that_wait() -> list[int]:
    """Return the numbers of the lines that wait."""
    text = Path(__file__).read_text("utf-8").splitlines()
    return [n for n, line in enumerate(text, 1) if line.endswith("  # waits")]


def check(device: Any, waits: bool) -> dict[str, Any]:
    """Check a step on "cuda", "dry" or "cpu"; returns whether it could be judged, and
    all waits, each as its line, its kind and how often it waits."""
    # The first steps copy parameters, load kernels and let the allocator grow.
    checked = torchtraceap.SyncCheck(
        device=device, over_us=0, max_count=10_000, warmup=2
    )
    # Raised where nothing can be judged; the verdict says why.
    with contextlib.suppress(torchtraceap.SyncStalls), checked:
        training = SmallTraining("cpu" if device == "cpu" else "cuda")
        for _ in range(5):
            training.step(waits)
            checked.step()
    assert checked.verdict is not None
    verdict = checked.verdict
    rows: dict[tuple[int, str], int] = {}
    for wait in verdict.observation.waits:
        here = (
            wait.line is not None and Path(wait.line.file).name == Path(__file__).name
        )
        place = (wait.line.line if here and wait.line else 0, wait.cause.kind.name)
        rows[place] = rows.get(place, 0) + wait.count
    return {
        "judged": verdict.told,
        "mode": verdict.observation.mode,
        "problem": verdict.observation.problem,
        "waits": [[*place, count] for place, count in sorted(rows.items())],
    }


if __name__ == "__main__":
    print(json.dumps([check(sys.argv[1], waits) for waits in (False, True)]))
