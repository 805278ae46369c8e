# SPDX-License-Identifier: BSD-3-Clause
"""test_live_workloads.py: mistakes found in programs as they run, without a GPU.

Each is a whole training step with one mistake, beside the same without it: slow by
waiting or by the number of calls, never by the speed of the machine. The mistake must
be found at its function, and not in the other program.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

Program = Callable[[], None]

STEPS = 6


class Samples(torch.utils.data.Dataset[Any]):
    """Sixty-four samples; with a delay, as if each were read from a disk."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.kept = torch.randn(64, 32)

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, index: int) -> Any:
        if self.delay_s:
            time.sleep(self.delay_s)
        return self.kept[index]


def train_from_slow_loader() -> None:
    weight = torch.randn(32, 32)
    for batch in torch.utils.data.DataLoader(
        Samples(0.004), batch_size=8, num_workers=0
    ):
        (batch @ weight).relu().sum()


def train_from_cached_loader() -> None:
    weight = torch.randn(256, 256)
    samples = torch.randn(64, 256)
    for begin in range(0, 64, 8):
        batch = samples[begin : begin + 8]
        for _ in range(20):
            batch = (batch @ weight).relu() / 16


def pick_words(count: int) -> int:
    """Work in Python alone, as a tokenizer would."""
    total = 0
    for i in range(count):
        total += (i * 2654435761) % 97
    return total


def train_with_python_between() -> None:
    weight = torch.randn(64, 64)
    for _ in range(STEPS):
        pick_words(100_000)
        (weight @ weight).relu().sum()


def train_with_python_before() -> None:
    weight = torch.randn(512, 512)
    for _ in range(4 * STEPS):
        (weight @ weight).relu().sum()


def train_with_casts() -> None:
    weight = torch.randn(1024, 1024)
    for _ in range(STEPS):
        for _ in range(8):
            half = weight.to(torch.bfloat16)
            weight = half.to(torch.float32)
        weight.relu()


def train_without_casts() -> None:
    weight = torch.randn(1024, 1024)
    for _ in range(STEPS):
        for _ in range(8):
            weight.relu_()


def score_one_by_one() -> None:
    table = torch.randn(256, 64)
    weight = torch.randn(64)
    for _ in range(STEPS):
        scores = [(table[i] * weight).sum() for i in range(256)]
        torch.stack(scores)


def score_at_once() -> None:
    table = torch.randn(256, 64)
    weight = torch.randn(64)
    for _ in range(STEPS):
        for _ in range(20):
            table @ weight


def parameters() -> list[Any]:
    """Return many small parameters that have gradients."""
    out = [torch.nn.Parameter(torch.randn(16, 16)) for _ in range(60)]
    for parameter in out:
        parameter.grad = torch.randn(16, 16)
    return out


def update_each_tensor() -> None:
    optimizer = torch.optim.Adam(parameters(), foreach=False, fused=False)
    for _ in range(STEPS):
        optimizer.step()


def update_all_at_once() -> None:
    optimizer = torch.optim.Adam(parameters(), fused=True)
    for _ in range(STEPS):
        optimizer.step()


# pattern, sub-types (any of them; () is any), with the mistake, without it
PAIRS = {
    "dataloader_bound": (
        ("single_process",),
        train_from_slow_loader,
        train_from_cached_loader,
    ),
    "host_bound_python": (
        (),
        train_with_python_between,
        train_with_python_before,
    ),
    "cpu_cast": (
        (),
        train_with_casts,
        train_without_casts,
    ),
    "loop_indexing": ((), score_one_by_one, score_at_once),
    "unfused_optimizer": ((), update_each_tensor, update_all_at_once),
}
# A function that the mistake lies in, where it is not the program's own.
PLACES = {"host_bound_python": pick_words}


def defined_at(program: Callable[..., Any]) -> int:
    """Return the line at which the frame that runs the loop of `program` begins.

    A recorded frame carries the line of its definition, not of the call. A list
    comprehension is a frame of its own, with its own line, in Python before 3.12.
    """
    for constant in program.__code__.co_consts:
        if getattr(constant, "co_name", "") == "<listcomp>":
            return int(constant.co_firstlineno)
    return program.__code__.co_firstlineno


def recorded(program: Program) -> torchtraceap.Report:
    """Run a program under the profiler, once before to warm up."""
    program()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=activities, with_stack=True, record_shapes=True
    ) as prof:
        program()
    return torchtraceap.analyze(prof)


@pytest.mark.parametrize("pattern", PAIRS)
def test_the_mistake_is_found_at_its_line(pattern: str) -> None:
    subtypes, slow, _ = PAIRS[pattern]
    report = recorded(slow)
    found = [f for f in report.findings if f.pattern == pattern]
    assert found, report.summary()
    if subtypes:
        assert {f.subtype for f in found} & set(subtypes)
    places = {(f.location.file, f.location.recorded_line) for f in found if f.location}
    accepted = {slow, PLACES.get(pattern, slow)}
    assert {(file.rpartition("/")[2], line) for file, line in places} & {
        (Path(__file__).name, defined_at(f)) for f in accepted
    }


@pytest.mark.parametrize("pattern", PAIRS)
def test_without_the_mistake_nothing_is_reported(pattern: str) -> None:
    _, _, fixed = PAIRS[pattern]
    report = recorded(fixed)
    assert pattern not in {f.pattern for f in report.findings}, report.summary()
