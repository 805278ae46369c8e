# SPDX-License-Identifier: BSD-3-Clause
"""hidden_places.py: where a rank can be delayed, each a function of its own.

A place does what its name says until the delay is over, by the clock: on a machine that
others use, too, the delay is then what was drawn. The function is what a report should
name; LINES has where each begins.
"""

from __future__ import annotations

import gc
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch


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
    """Let the collector visit objects that nobody lets go."""
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
