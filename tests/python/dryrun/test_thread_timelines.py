# SPDX-License-Identifier: BSD-3-Clause
"""test_thread_timelines.py: simulated timelines of several threads, worked out by hand.

An operator takes 10 µs here, its call the last 4 of them; a kernel 100 µs, from 8 µs
after its call began. See test_program.py.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from torchtraceap.dryrun.dry_run import dry_run
from torchtraceap.dryrun.record import Call, Op
from torchtraceap.dryrun.timeline.program import simulate

from .test_program import H100, Fixed, item, op, record_of, rows
from .threaded_programs import plain, threaded

MAIN, BACKWARD, OTHER = 1, 2, 3


def trace_of(*entries: Op | Call, steps: int = 1) -> bytes:
    record = record_of(*entries, steps=steps)
    record.threads = ["MainThread", "logs"]
    for sync in record.syncs:
        sync.thread = entries[sync.entry].thread
    return simulate(record, H100, 10.0, Fixed())


def times(text: bytes, tid: int, *categories: str) -> list[tuple[float, float]]:
    found = [row for row in rows(text, *categories) if row["tid"] == tid]
    return [(row["ts"], round(row["ts"] + row["dur"], 3)) for row in found]


def of_other(entry: Any, *after: int, **more: Any) -> Any:
    return replace(entry, thread=1, after=after, **more)


def test_the_wait_of_a_thread_does_not_stop_the_others() -> None:
    text = trace_of(op(), of_other(item(20), 0), op(), op())
    assert times(text, MAIN, "cpu_op") == [(0, 10), (10, 20), (20, 30)]
    # Behind the first operator, and the two kernels: theirs are called by 6 and 16.
    ((begin, end),) = times(text, OTHER, "cpu_op")
    assert begin == 10 and end > 215.2
    names = {
        event["tid"]: event["args"]["name"]
        for event in json.loads(text)["traceEvents"]
        if event["name"] == "thread_name" and event["pid"] != 0
    }
    assert names[OTHER] == "thread logs"
    # In one thread, the host does nothing meanwhile.
    alone = trace_of(op(), item(20), op(), op())
    assert times(alone, MAIN, "cpu_op")[2][0] > 114


def test_who_takes_what_another_thread_made_comes_after_it() -> None:
    entries = op(), of_other(op(), 0), of_other(op()), replace(op(), after=(2,))
    text = trace_of(*entries)
    assert times(text, OTHER, "cpu_op") == [(10, 20), (20, 30)]
    assert times(text, MAIN, "cpu_op") == [(0, 10), (30, 40)]
    loose = trace_of(*entries[:3], op())
    assert times(loose, MAIN, "cpu_op") == [(0, 10), (10, 20)]


def test_an_event_of_another_thread_is_recorded_before_it_is_waited_for() -> None:
    copied = of_other(op(), 0, stream=8)
    recorded = of_other(Call("event_record", 0, None, 8, 5))
    waiting = Call("stream_wait", 0, None, 7, 5, after=(2,))
    text = trace_of(op("aten::view", is_view=True), copied, recorded, waiting, op())
    # The thread begins at 1 and calls at 7; a stream goes on 2 µs after an event.
    assert times(text, 8, "kernel") == [(15, 115)]
    assert times(text, 7, "kernel") == [(117, 217)]


def test_what_a_thread_does_in_a_step_is_in_that_step() -> None:
    entries = [op(), op(), op(step=1), of_other(op(step=1))]
    text = trace_of(*entries, steps=2)
    assert times(text, MAIN, "cpu_op") == [(0, 10), (10, 20), (20, 30)]
    assert times(text, OTHER, "cpu_op") == [(20, 30)]
    # Also if it is the first to do something there.
    text = trace_of(entries[0], entries[1], entries[3], entries[2], steps=2)
    assert times(text, OTHER, "cpu_op") == times(text, MAIN, "cpu_op")[2:] == [(20, 30)]


def test_the_backward_pass_of_a_thread_is_waited_for_by_that_one() -> None:
    backward = of_other(op(), 0, phase="backward")
    text = trace_of(op(), backward, op(), of_other(op()))
    assert times(text, MAIN, "cpu_op") == [(0, 10), (10, 20)]
    assert times(text, BACKWARD, "cpu_op") == [(10, 20)]
    assert times(text, OTHER, "cpu_op") == [(20, 30)]


def test_a_program_with_threads_keeps_all_its_work_on_the_timeline() -> None:
    def kernels(program: Any) -> list[str]:
        with dry_run() as run:
            program()
        return sorted(row["name"] for row in rows(run.trace(), "kernel", "gpu_memcpy"))

    if torch.cuda.is_available():
        pytest.skip("a GPU is here")
    assert kernels(threaded) == kernels(plain)
