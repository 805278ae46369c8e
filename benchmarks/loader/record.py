# SPDX-License-Identifier: BSD-3-Clause
"""record.py: records the training steps that the inputs repeat; needs torch.

    python -m benchmarks.loader.record     # writes recorded.json.gz beside this file

Run by hand, when another torch writes another layout: times differ from recording to
recording, so the result is kept in the repository, and every machine makes the same
inputs from it.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

from benchmarks.loader.steps import RECORDED

STEPS = 1


class Block(nn.Module):
    """Attention and a feed-forward part, both with residuals."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norms[0](x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.feed(self.norms[1](x))


def main() -> None:
    """Train a small vision transformer and keep what the profiler writes of it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 4, stride=4),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(2),
        nn.Linear(64, 32),
        Block(32),
        Block(32),
        nn.Dropout(0.1),
        nn.Flatten(),
        nn.Linear(32 * 32, 10),
    )
    optimizer = torch.optim.AdamW(model.parameters())
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))

    def step() -> float:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # The profiler writes the path as given into the trace.
        with profile(
            activities=[ProfilerActivity.CPU],
            record_shapes=True,
            schedule=schedule(wait=1, warmup=3, active=STEPS),
            on_trace_ready=lambda prof: prof.export_chrome_trace("recorded.json"),
        ) as prof:
            for _ in range(4 + STEPS):
                step()
                prof.step()
        text = Path("recorded.json").read_bytes()
    RECORDED.write_bytes(gzip.compress(text, 9, mtime=0))
    print(f"{RECORDED}: {len(text):,} bytes of JSON by torch {torch.__version__}")


if __name__ == "__main__":
    main()
