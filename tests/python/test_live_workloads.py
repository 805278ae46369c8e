# SPDX-License-Identifier: BSD-3-Clause
"""test_live_workloads.py: mistakes found in programs as they run, without a GPU.

Each program of live_workloads.py is recorded by torch's profiler on this machine. The
mistake must be found at its function, and not in the same program without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from . import live_workloads as programs  # noqa: E402

Program = Callable[[], None]

# pattern, sub-types (any of them; () is any), with the mistake, without it
PAIRS = {
    "dataloader_bound": (
        ("single_process",),
        programs.train_from_slow_loader,
        programs.train_from_cached_loader,
    ),
    "host_bound_python": (
        (),
        programs.train_with_python_between,
        programs.train_with_python_before,
    ),
    "redundant_d2d": (
        ("cast",),
        programs.train_with_casts,
        programs.train_without_casts,
    ),
    "loop_indexing": ((), programs.score_one_by_one, programs.score_at_once),
    "unfused_optimizer": ((), programs.update_each_tensor, programs.update_all_at_once),
}
# A function that the mistake lies in, where it is not the program's own.
PLACES = {"host_bound_python": programs.pick_words}


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
        ("live_workloads.py", defined_at(f)) for f in accepted
    }


@pytest.mark.parametrize("pattern", PAIRS)
def test_without_the_mistake_nothing_is_said(pattern: str) -> None:
    _, _, fixed = PAIRS[pattern]
    report = recorded(fixed)
    assert pattern not in {f.pattern for f in report.findings}, report.summary()
