# SPDX-License-Identifier: BSD-3-Clause
"""hidden_program.py: a training of several processes, of which one may be delayed."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, schedule

from benchmarks.stragglers.hidden_places import PLACES, Delay, SlowGradients

BATCH = 16
SKIPPED, WARM, RECORDED = 2, 2, 6  # Steps.


@dataclass(frozen=True)
class Case:
    """What is drawn for a run."""

    seed: int
    ranks: int
    slow_rank: int
    place: str | None  #: Of PLACES, or "loader process"; None: nobody is delayed.
    delay_ms: float
    width: int
    depth: int
    bucket_mb: float
    accumulation: int
    broadcast_buffers: bool


class Samples(torch.utils.data.Dataset[Any]):
    """Random rows, of which the first of a batch may be slow to come."""

    def __init__(self, width: int, delay: Delay, pace: Any) -> None:
        self.width, self.delay, self.pace = width, delay, pace

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index % BATCH == 0 and self.delay.at("loader"):
            PLACES["loader"](self.delay)
        if index % BATCH == 0 and self.delay.at("loader process") and self.pace.value:
            time.sleep(self.pace.value + self.delay.ms / 1e3)
        return torch.randn(self.width), index % 10


class Collate:
    """Rows into a batch."""

    def __init__(self, delay: Delay) -> None:
        self.delay = delay

    def __call__(self, rows: list[Any]) -> list[torch.Tensor]:
        if self.delay.at("augmentation"):
            PLACES["augmentation"](self.delay)
        return list(torch.utils.data.default_collate(rows))


class Model(torch.nn.Module):
    """Some layers; a delay in the middle, so that some buckets are behind it."""

    def __init__(self, case: Case, delay: Delay) -> None:
        super().__init__()
        width = case.width
        self.delay = delay
        self.layers = torch.nn.ModuleList(
            torch.nn.Sequential(
                torch.nn.Linear(width, width),
                torch.nn.BatchNorm1d(width),
                torch.nn.ReLU(),
            )
            for _ in range(case.depth)
        )
        self.head = torch.nn.Linear(width, 10)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        for place, layer in enumerate(self.layers):
            values = layer(values)
            if place == len(self.layers) // 2:
                if self.delay.at("forward"):
                    PLACES["forward"](self.delay)
                if self.delay.at("backward"):
                    values = SlowGradients.apply(values, self.delay)
        return self.head(values)


def next_batch(batches: Iterator[list[torch.Tensor]]) -> list[torch.Tensor]:
    return next(batches)


def run_rank(case: Case, rank: int, folder: Path, port: int) -> None:
    """Train and record; writes rankN.json."""
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "RANK": str(rank),
        "WORLD_SIZE": str(case.ranks),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    # Of print(), and of the profiler's C++.
    os.dup2(os.open(folder / f"rank{rank}.log", os.O_WRONLY | os.O_CREAT), 2)
    torch.set_num_threads(1)
    torch.manual_seed(case.seed)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    delay = Delay(case.place if rank == case.slow_rank else None, case.delay_ms)
    pace = torch.multiprocessing.Value("d", 0.0)
    model = DistributedDataParallel(
        Model(case, delay),
        bucket_cap_mb=case.bucket_mb,
        broadcast_buffers=case.broadcast_buffers,
    )
    delay.parameters = list(model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(
        Samples(case.width, delay, pace),
        batch_size=BATCH,
        collate_fn=Collate(delay),
        num_workers=int(case.place == "loader process"),
    )
    batches = iter(loader)
    gc.collect()
    gc.freeze()  # what importing torch has made is no part of the program
    recording = profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=schedule(wait=SKIPPED, warmup=WARM, active=RECORDED, repeat=1),
        with_stack=True,
        record_shapes=True,
        on_trace_ready=lambda p: p.export_chrome_trace(
            str(folder / f"rank{rank}.json")
        ),
    )
    with recording:
        quickest = float("inf")
        for number in range(SKIPPED + WARM + RECORDED):
            began = time.perf_counter()
            train_step(case, delay, model, optimizer, batches)
            quickest = min(quickest, time.perf_counter() - began)
            if number == SKIPPED - 1:
                # A loader process is slower than the steps, or its delay is hidden.
                pace.value = quickest / case.accumulation
            recording.step()
    dist.destroy_process_group()


def train_step(
    case: Case,
    delay: Delay,
    model: DistributedDataParallel,
    optimizer: torch.optim.Optimizer,
    batches: Iterator[list[torch.Tensor]],
) -> None:
    for micro in range(case.accumulation):
        rows, labels = next_batch(batches)
        last = micro == case.accumulation - 1
        with nullcontext() if last else model.no_sync():
            loss = torch.nn.functional.cross_entropy(model(rows), labels)
            loss.backward()
    for place in ("host work", "sync", "optimizer"):
        if delay.at(place):
            PLACES[place](delay)
    optimizer.step()
    optimizer.zero_grad()
    for place in ("garbage collection", "logging", "checkpoint"):
        if delay.at(place):
            PLACES[place](delay)
