# SPDX-License-Identifier: BSD-3-Clause
"""hidden_program.py: a training of several processes, of which one may be delayed.

A place to be delayed at is a function of its own, which a report should name. It does
what its name says until the delay is over, by the clock: on a machine that others use,
too, the delay is then what was drawn.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, schedule


class Delay:
    """What one rank is delayed by, at which place; other ranks by nothing."""

    def __init__(self, place: str | None, ms: float) -> None:
        self.place, self.ms = place, ms
        self.numbers = torch.randn(96, 96)
        self.parameters: list[torch.nn.Parameter] = []
        self.kept: list[list[int]] = []

    def at(self, place: str) -> bool:
        return self.place == place


def turns(ms: float) -> Iterator[None]:
    """Yield until the time is over."""
    until = time.perf_counter() + ms / 1e3
    while time.perf_counter() < until:
        yield


def read_slowly(delay: Delay) -> None:
    """Wait for a file of a network."""
    time.sleep(delay.ms / 1e3)


def augment(delay: Delay) -> None:
    """Change a batch on the CPU."""
    for _ in turns(delay.ms):
        torch.fft.rfft(delay.numbers).abs()


def extra_layers(delay: Delay) -> None:
    """Compute more in forward."""
    for _ in turns(delay.ms):
        torch.mm(delay.numbers, delay.numbers)


def extra_gradients(delay: Delay) -> None:
    """Compute more in backward."""
    for _ in turns(delay.ms):
        torch.mm(delay.numbers, delay.numbers.t()).sum()


def bookkeeping(delay: Delay) -> None:
    """Work in Python between backward and the optimizer."""
    seen: dict[int, int] = {}
    for _ in turns(delay.ms):
        for number in range(500):
            seen[number] = seen.get(number, 0) + 1


def read_metrics(delay: Delay) -> None:
    """Ask for one number after the other, each computed at once."""
    for _ in turns(delay.ms):
        float(delay.numbers.softmax(-1).std())


def collect_garbage(delay: Delay) -> None:
    """Let the collector visit objects that are never released."""
    for _ in turns(delay.ms):
        delay.kept.append([0])
        gc.collect()


def write_log(delay: Delay) -> None:
    """Write what happened as JSON."""
    out = io.StringIO()
    for _ in turns(delay.ms):
        json.dump({"values": list(range(300))}, out)
        print("step", file=sys.stderr)


def save_checkpoint(delay: Delay) -> None:
    """Save parameters."""
    for _ in turns(delay.ms):
        torch.save({"numbers": delay.numbers}, io.BytesIO())


def update_each(delay: Delay) -> None:
    """Change parameters one by one, in Python."""
    for _ in turns(delay.ms):
        for parameter in delay.parameters:
            parameter.detach().mul_(0.9999)


#: By the name of the place: the function that a report should name.
PLACES: dict[str, Callable[[Delay], None]] = {
    "loader": read_slowly,
    "augmentation": augment,
    "forward": extra_layers,
    "backward": extra_gradients,
    "host work": bookkeeping,
    "sync": read_metrics,
    "garbage collection": collect_garbage,
    "logging": write_log,
    "checkpoint": save_checkpoint,
    "optimizer": update_each,
}


class SlowGradients(torch.autograd.Function):
    """The same in forward; backward passes through `extra_gradients`."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, delay: Delay) -> torch.Tensor:
        ctx.delay = delay
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        extra_gradients(ctx.delay)
        return gradients, None


BATCH = 16
SKIPPED, WARM, RECORDED = 2, 2, 6  # Steps.


@dataclass(frozen=True)
class Case:
    """What is drawn for a run."""

    seed: int
    ranks: int
    slow_rank: int
    place: str | None  #: Of PLACES, or "loader process"; None: no rank is delayed.
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
    gc.freeze()  # objects made by importing torch do not belong to the program
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
