# SPDX-License-Identifier: BSD-3-Clause
"""test_blame_simulator.py: the simulator keeps its own rules, on hand-worked programs.

The truth that verdicts are scored against is a difference of two such schedules.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

import torchtraceap
from benchmarks.lab.blame.cases import CLEAN, FAULTS, pattern_of, sample
from benchmarks.lab.blame.chrome_trace import trace_text
from benchmarks.lab.blame.gpus import GPUS
from benchmarks.lab.blame.instructions import (
    Await,
    Call,
    Host,
    Instruction,
    Program,
    Signal,
    Take,
    Work,
    Workers,
)
from benchmarks.lab.blame.scheduling import Schedule, schedule
from benchmarks.lab.blame.truth import captured, truth_of

pytestmark = pytest.mark.verify

A100 = next(gpu for gpu in GPUS if "A100" in gpu.name)
PATTERNS = [*dict.fromkeys(pattern_of(fault) for fault in FAULTS), CLEAN]
STREAM, OTHER = (0, 7), (0, 20)


def work(number: int, us: float, stream: tuple[int, int] = STREAM) -> Work:
    return Work("kernel", "k", us, stream, ("", number), latency=10, gap=1)


def launch(*works: Work) -> Call:
    return Call("cudaLaunchKernel", 5, works)


def run(
    *code: Instruction, second: list[Instruction] | None = None, queue: int = 1021
) -> Schedule:
    threads = {1: list(code)} | ({2: second} if second else {})
    gpu = replace(A100, queue=queue)
    return schedule(Program(gpu, threads, Workers(2, [100.0] * 9, prefetch=1)))


def starts(ran: Schedule) -> list[float]:
    return [begin for _, begin, _ in ran.device]


def test_launches_take_their_latency_and_queue_on_their_stream() -> None:
    ran = run(launch(work(1, 100)), launch(work(2, 3)), launch(work(3, 3, OTHER)))
    # Called at 0, 5 and 10: the second waits for the first and its gap of 1 us, the
    # third is on another stream.
    assert starts(ran) == [10, 111, 20]
    assert ran.span == 114


def test_a_wait_ends_after_the_work_and_what_follows_is_late() -> None:
    wait = Call("cudaStreamSynchronize", 3, waits=STREAM, wakes=7)
    ran = run(launch(work(1, 100)), wait, Host(20), launch(work(2, 5)))
    # The work ends at 110, the call returns at 117; 20 us of Python, 10 us of latency.
    assert ran.host[1][1] == (5, 117)
    assert starts(ran) == [10, 147]
    # On an idle device it takes its own time.
    assert run(launch(work(1, 1)), Host(50), wait).host[1][2] == (55, 58)


def test_an_event_holds_a_stream_back() -> None:
    ran = run(
        launch(work(1, 100)),
        Call("cudaEventRecord", 1, records="e", on=STREAM),
        Call("cudaStreamWaitEvent", 1, gates="e", on=OTHER),
        launch(work(2, 5, OTHER)),
    )
    assert starts(ran) == [10, 112]


def test_a_full_queue_holds_the_launching_thread_up() -> None:
    ran = run(*[launch(work(n, 100)) for n in range(4)], queue=2)
    # The third launch returns 1 us after the start of the first, the fourth after that
    # of the second (at 111).
    assert [end for _, end in ran.host[1]] == [5, 10, 15, 112]


def test_threads_wait_for_each_other() -> None:
    second = [Await("go", 10), Host(50), Signal("done")]
    ran = run(Host(20), Signal("go"), Await("done", 5), Host(1), second=second)
    assert ran.host[2] == [(0, 30), (30, 80), (80, 80)]
    assert ran.host[1][-1] == (85, 86)
    with pytest.raises(RuntimeError, match="wait for each other"):
        run(Await("never", 1))


def test_workers_make_so_many_batches_ahead() -> None:
    steps = [it for n in range(4) for it in (Take(n, 1), Host(10))]
    ran = run(*steps)
    # Two workers of one batch ahead were done when recording began. Each makes another
    # when one is taken: at 0 and 11, for 100 us.
    assert [begin for begin, _ in ran.host[1][1::2]] == [1, 12, 101, 112]


def test_a_graph_launches_what_lies_between_two_waits() -> None:
    wait = Call("cudaStreamSynchronize", 3, waits=STREAM, wakes=7)
    code: list[Instruction] = []
    for half in range(2):
        for n in range(6):
            code += [Host(30), launch(work(10 * half + n, 2))]
        code.append(wait)
    program = Program(A100, {1: code}, Workers())
    ran = schedule(captured(program))
    assert [it.name for it in captured(program).threads[1] if isinstance(it, Call)] == [
        "cudaGraphLaunch", "cudaStreamSynchronize",
    ] * 2  # fmt: skip
    assert [w.key for w, _, _ in ran.device] == [
        w.key for w, _, _ in schedule(program).device
    ]
    assert ran.span < 0.5 * schedule(program).span


@pytest.mark.parametrize("seed", range(len(PATTERNS)))
def test_programs_keep_the_rules(seed: int) -> None:
    it = sample(seed, PATTERNS)
    truth = truth_of(it)
    ran, calls = truth.ran, {}
    for tid, code in truth.program.threads.items():
        for instruction, (begin, end) in zip(code, ran.host[tid], strict=True):
            assert begin <= end
            for launched in getattr(instruction, "works", ()):
                calls[launched.key] = begin
    ends: dict[tuple[int, int], float] = {}
    for done, begin, end in ran.device:
        assert begin >= calls[done.key] + done.latency - 1e-6
        assert begin >= ends.get(done.stream, 0) - 1e-6
        ends[done.stream] = end
    assert len(calls) == len(ran.device), "each work has a key of its own"
    # Each window's saving is a part of the whole.
    for fix in truth.fixes.values():
        parts = sorted([0, ran.span, *random.Random(seed).choices(range(9999), k=9)])
        saved = [fix.saved(*two) for two in pairwise(parts)]
        within = sum(saved[: parts.index(ran.span)])
        assert within == pytest.approx(fix.gain, abs=1e-3)
    # What is written is a trace without a fault of its own.
    text = trace_text(truth.program, ran, it.recording)
    report = torchtraceap.analyze(text)
    assert isinstance(report, torchtraceap.Report)
    assert report.quality.verdict == "ok"
    assert report.trace.span_us == pytest.approx(ran.span, abs=2)
