# SPDX-License-Identifier: BSD-3-Clause
"""test_program.py: simulated timelines, against ones worked out by hand.

Of the core's constants (cpp/replay/constants.h): work starts 8 µs after its call began
on an idle stream and 1.2 µs after what ran before it; a wait returns 8 µs after what it
is for, and takes 5 µs if there is nothing to wait for.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.estimate.gpus import Gpu, gpu
from torchtraceap_dryrun.estimate.launches import Launch
from torchtraceap_dryrun.record import Call, Copy, Op, Record, Sync, TensorInfo
from torchtraceap_dryrun.timeline import simulation
from torchtraceap_dryrun.timeline.simulation import simulate

H100 = gpu("H100")
HERE = str(Path(__file__).resolve())
FLOATS = TensorInfo((4, 8), "float32", (8, 1), "cuda")
ITEM = Copy("d2h", 4, pinned=False, blocking=True)


def _launches(op: Op, gpu: Gpu) -> list[Launch]:
    count = {"aten::pair": 2, "aten::_local_scalar_dense": 0, "aten::_to_copy": 0}
    one = Launch(op.name, "elementwise", "float32", 0.0, 0.0, 264)
    return [] if op.is_view else [one] * count.get(op.name, 1)


def fixed(record: Record, host_us: float = 10.0) -> bytes:
    """Simulate kernels of 100 µs, one an operator; two of one that is a pair; copies of
    5 µs."""
    with mock.patch.multiple(
        simulation,
        launches_of=_launches,
        kernel_us=lambda *_: 100.0,
        copy_us=lambda *_: 5.0,
    ):
        return simulate(record, H100, host_us)


def at(line: int, file: str = HERE, function: str = "train") -> Line:
    return Line(file, line, function)


def op(name: str = "aten::mul", line: int = 10, **others: Any) -> Op:
    where = at(line)
    made = Op(name, "", (FLOATS, 2.0), {}, (FLOATS,), 0, "forward", where, "")
    return replace(made, stack=(where, at(99, function="<module>")), **others)


def item(line: int) -> Op:
    return op("aten::_local_scalar_dense", line, copy=ITEM)


ITEM_API = "aten::_local_scalar_dense"
CALLS = {
    "device_sync": "torch.cuda.synchronize",
    "stream_sync": "Stream.synchronize",
    "event_sync": "Event.synchronize",
}


def record_of(*entries: Op | Call, steps: int = 1) -> Record:
    record = Record(list(entries), [], steps)
    for place, entry in enumerate(entries):
        if isinstance(entry, Call) and entry.kind.endswith("_sync"):
            api, line = CALLS[entry.kind], entry.line
        elif isinstance(entry, Op) and entry.copy and entry.copy.blocking:
            api, line = ITEM_API, entry.line
        else:
            continue
        phase = entry.phase if isinstance(entry, Op) else "forward"
        stack = (line,) if line else ()
        record.syncs.append(
            Sync(api, "seen", "known", entry.step, phase, line, "", place, stack)
        )
    return record


def trace_of(*entries: Op | Call, steps: int = 1, host_us: float = 10.0) -> bytes:
    return fixed(record_of(*entries, steps=steps), host_us)


def rows(text: bytes, *categories: str) -> list[dict[str, Any]]:
    events = json.loads(text)["traceEvents"]
    return [e for e in events if e["ph"] == "X" and e.get("cat") in categories]


def times(text: bytes, *categories: str) -> list[tuple[float, float]]:
    found = rows(text, *categories)
    return [(row["ts"], round(row["ts"] + row["dur"], 3)) for row in found]


WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def test_a_step_of_three_operators_takes_what_it_must() -> None:
    text = trace_of(op(), op(), op())
    assert times(text, "cpu_op") == [(0, 10), (10, 20), (20, 30)]
    # Each call is the last 4 µs of its operator.
    assert times(text, "cuda_runtime") == [(6, 10), (16, 20), (26, 30)]
    assert times(text, "kernel") == [(14, 114), (115.2, 215.2), (216.4, 316.4)]
    blocks = [row["args"]["blocks per SM"] for row in rows(text, "kernel")]
    assert blocks == [264 / H100.multiprocessors] * 3
    report = torchtraceap.analyze(text)
    assert report.trace.span_us == 316.4
    assert report.balance[0].busy_us == 300
    (step,) = report.steps
    assert (step.number, step.start_us, step.end_us) == (0, 0, 30)


def test_further_launches_cost_a_call_each_and_views_little() -> None:
    text = trace_of(op("aten::pair"), op("aten::view", is_view=True), op())
    assert times(text, "cpu_op") == [(0, 14), (14, 15), (15, 25)]
    assert len(times(text, "kernel")) == 3


def test_reading_a_value_waits_and_starves_the_device() -> None:
    entries = (op(line=10), op(line=11), item(12), op(line=13), op(line=14))
    text = trace_of(*entries, host_us=40)
    # Two kernels, called at 36 and 76; the copy is called at 116 and runs behind them.
    assert times(text, "kernel")[:2] == [(44, 144), (145.2, 245.2)]
    assert times(text, "gpu_memcpy") == [(246.4, 251.4)]
    # The call returns 8 µs after the copy; a later synchronize finds it idle.
    assert times(text, "cuda_runtime")[2:4] == [(116, 259.4), (259.4, 264.4)]
    # The next kernel is called 36 µs later.
    assert times(text, "kernel")[2] == (308.4, 408.4)
    (finding,) = torchtraceap.analyze(text).findings
    assert (finding.pattern, finding.subtype) == ("sync_stall", "scalar_read")
    assert finding.wasted_us == pytest.approx(308.4 - 251.4)
    assert finding.location is not None
    assert (finding.location.file, finding.location.line) == (HERE, 12)
    assert (finding.location.function, finding.location.user) == ("train", True)
    assert (finding.origin, finding.basis) == ("dry-run", "simulated")


def test_each_nanosecond_is_accounted_for() -> None:
    text = trace_of(op(), item(3), op(), op(), item(4), op(step=1), item(5), steps=2)
    report = torchtraceap.analyze(text)
    assert report.quality.verdict == "ok"
    assert report.quality.linking_rate == 1.0
    assert not report.quality.warnings
    for row in (*report.balance, *(step.balance for step in report.steps)):
        assert row is not None
        whole = row.busy_us + sum(row.idle_us.values()) + row.unattributed_us
        assert whole == pytest.approx(row.span_us, abs=1e-6)


def test_copies_wait_as_cuda_says() -> None:
    def calls(copy: Copy) -> list[str]:
        text = trace_of(op(), op("aten::_to_copy", copy=copy))
        return [row["name"] for row in rows(text, "cuda_runtime")][1:]

    def call_us(copy: Copy) -> float:
        begin, end = times(trace_of(op("aten::_to_copy", copy=copy)), "cuda_runtime")[0]
        return end - begin

    both = ["cudaMemcpyAsync", "cudaStreamSynchronize"]
    assert calls(Copy("h2d", 512, pinned=False, blocking=True)) == both
    assert calls(Copy("h2d", 512, pinned=True, blocking=True)) == both
    assert calls(Copy("h2d", 512, pinned=True, blocking=False)) == both[:1]
    assert calls(Copy("h2d", 0, pinned=False, blocking=True)) == []
    # Called at 6, runs from 14 to 19; a large one from pageable memory holds the call.
    assert call_us(Copy("h2d", 1 << 20, pinned=True, blocking=False)) == 4
    assert call_us(Copy("h2d", 1 << 20, pinned=False, blocking=False)) == 19 + 8 - 6


@pytest.mark.parametrize(
    ("copy", "name", "way"),
    [
        (Copy("h2d", 8, False, True), "Memcpy HtoD (Pageable -> Device)", "pageable"),
        (Copy("h2d", 8, True, False), "Memcpy HtoD (Pinned -> Device)", "pinned"),
        (Copy("d2h", 8, False, True), "Memcpy DtoH (Device -> Pageable)", "pageable"),
        (Copy("d2h", 8, True, False), "Memcpy DtoH (Device -> Pinned)", "pinned"),
        (Copy("d2d", 8, False, False), "Memcpy DtoD (Device -> Device)", ""),
    ],
)
def test_copies_are_named_as_kineto_names_them(copy: Copy, name: str, way: str) -> None:
    (row,) = rows(trace_of(op("aten::_to_copy", copy=copy)), "gpu_memcpy")
    assert row["name"] == name
    assert row["args"]["bytes"] == 8


def test_what_waits_inside_of_its_kernel_reads_back_behind_it() -> None:
    record = record_of(op("aten::normal", 5))
    where = at(5)
    sync = Sync("aten::normal", "table", "none", 0, "forward", where, "", 0)
    text = fixed(replace(record, syncs=[sync]))
    (kernel,), (copy,) = times(text, "kernel"), times(text, "gpu_memcpy")
    assert copy[0] == pytest.approx(kernel[1] + 1.2)
    assert "cudaStreamSynchronize" in [r["name"] for r in rows(text, "cuda_runtime")]


def test_the_backward_pass_has_a_thread_for_which_the_main_one_waits() -> None:
    text = trace_of(
        op("aten::addmm", 10),
        op("aten::mm", 10, phase="backward", forward=0, caller=at(20)),
        op("aten::t", 10, phase="backward", forward=0, is_view=True),
        op("aten::add_", 20, phase="backward"),
        op("aten::_fused_adamw_", 30, phase="optimizer"),
    )
    found = {row["name"]: row for row in rows(text, "cpu_op", "user_annotation")}
    node = found["autograd::engine::evaluate_function: AddmmBackward"]
    main, other = found["aten::addmm"]["tid"], found["aten::mm"]["tid"]
    assert main != other == node["tid"] == found["aten::add_"]["tid"]
    # Times of the threads: 10, then 10 + 1 of the node and 10 behind it, then 10 more.
    assert (node["ts"], node["dur"]) == (10, 11)
    assert found["aten::add_"]["ts"] == 21
    step = found["Optimizer.step"]
    assert (step["tid"], step["ts"], step["dur"]) == (main, 31, 10)
    # Autograd's numbers lead from the node to the operator it is of.
    numbers = [found[n]["args"]["Sequence number"] for n in ("aten::addmm",)]
    assert numbers == [node["args"]["Sequence number"]]
    assert "Sequence number" not in found["aten::add_"]["args"]


def test_a_wait_in_the_backward_pass_has_the_line_of_the_forward_operator() -> None:
    waits = op("aten::mm", 10, phase="backward", forward=0, caller=at(20), copy=ITEM)
    waits.stack = (at(20),)
    more = op("aten::mm", 10, phase="backward", forward=0, caller=at(20))
    text = trace_of(op("aten::addmm", 10), op(), waits, more, host_us=60)
    (finding,) = torchtraceap.analyze(text).findings
    assert finding.pattern == "sync_stall"
    assert finding.location is not None
    assert finding.location.line == 10


def test_modules_and_steps_are_annotations_around_operators() -> None:
    text = trace_of(
        op(module="Net.encoder.0"),
        op(module="Net.encoder.1"),
        op(module="Net"),
        op(step=1),
        op(step=2),
        steps=2,
    )
    spans = {r["name"]: (r["ts"], r["dur"]) for r in rows(text, "user_annotation")}
    assert spans == {
        "ProfilerStep#0": (0, 30),
        "Net": (0, 30),
        "Net.encoder": (0, 20),
        "Net.encoder.0": (0, 10),
        "Net.encoder.1": (10, 10),
        "ProfilerStep#1": (30, 10),
    }  # The third step never ended.
    report = torchtraceap.analyze(text)
    assert [step.number for step in report.steps] == [0, 1]


def test_an_optimizer_is_named_as_torch_does_where_its_class_is_known() -> None:
    updates = [op("aten::mul_", phase="optimizer", module="SGD") for _ in range(30)]
    other = op("aten::mul_", phase="optimizer", module="Adam")
    text = trace_of(*updates, other, op("aten::mul_", phase="optimizer"))
    spans = [(r["name"], r["dur"]) for r in rows(text, "user_annotation")][1:]
    names = ["Optimizer.step#SGD.step", "Optimizer.step#Adam.step", "Optimizer.step"]
    assert spans == list(zip(names, (300, 10, 10), strict=True))


def test_streams_run_beside_each_other_until_an_event_orders_them() -> None:
    free = trace_of(op(stream=7), op(stream=20))
    assert times(free, "kernel") == [(14, 114), (24, 124)]
    ordered = trace_of(
        op(stream=7),
        Call("event_record", 0, at(2), 7, 3),
        Call("stream_wait", 0, at(3), 20, 3),
        op(stream=20),
    )
    # On a stream that waits, work starts 2 µs after what it waits for.
    assert times(ordered, "kernel") == [(14, 114), (116, 216)]
    (device,) = torchtraceap.analyze(ordered).balance
    assert device.span_us == 216


def test_calls_that_wait_have_their_line() -> None:
    for kind in ("device_sync", "stream_sync", "event_sync"):
        text = trace_of(
            op(),
            Call("event_record", 0, at(2), 7, 0),
            Call(kind, 0, at(77), 7, 0),  # type: ignore[arg-type]
            op(),
            host_us=60,
        )
        (finding,) = torchtraceap.analyze(text).findings
        assert finding.location is not None
        assert (finding.pattern, finding.location.line) == ("sync_stall", 77), kind


def test_an_event_never_recorded_is_no_reason_to_wait() -> None:
    calls = [Call("event_sync", 0, at(2), 7, 5), Call("stream_wait", 0, at(3), 7, 5)]
    text = trace_of(op(), *calls, op())
    assert len(rows(text, "cuda_runtime")) == 2


def test_a_call_within_the_backward_pass_is_on_its_thread() -> None:
    first = op(phase="backward")
    text = trace_of(first, Call("event_record", 0, None, 7, 0), first, op())
    (call,) = [r for r in rows(text, "cuda_runtime") if "Event" in r["name"]]
    assert {call["tid"]} == {r["tid"] for r in rows(text, "cpu_op")[-2:]} - {1}


def test_it_says_what_it_assumes_and_is_the_same_each_time() -> None:
    text = trace_of(op(), item(3), host_us=12.5)
    assert text == trace_of(op(), item(3), host_us=12.5)
    assert text != trace_of(op(), item(3), host_us=12.6)
    mark = json.loads(text)["torchtraceap"]
    assert mark["simulated"] is True
    assert mark["dry_run"]["gpu"] == "H100 SXM"
    assert mark["dry_run"]["host_us_per_op"] == 12.5
    simulated = torchtraceap.analyze(text).trace.simulated
    assert simulated is not None
    assert (simulated.gpu, simulated.host_us_per_op) == ("H100 SXM", 12.5)


@pytest.mark.parametrize("host_us", [0.0, -1.0, float("nan"), float("inf")])
def test_a_host_time_that_is_none_is_refused(host_us: float) -> None:
    with pytest.raises(ValueError, match="host_us must be a time above 0"):
        trace_of(op(), host_us=host_us)


def test_nothing_is_a_trace_too() -> None:
    report = torchtraceap.analyze(trace_of(steps=0))
    assert report.trace.simulated is not None
    assert report.findings == ()


def test_shapes_types_and_values_stand_beside_operators() -> None:
    half = TensorInfo((3,), "bfloat16", (1,), "cuda")
    args = (FLOATS, (half, half), (1, 2), True, None, "mean", 0.5)
    (row,) = rows(trace_of(op(args=args)), "cpu_op")
    found = row["args"]
    assert found["Input Dims"] == [[4, 8], [[3], [3]], [], [], [], [], []]
    assert found["Input type"] == [
        "float", "TensorList", "ScalarList", "Scalar", "", "", "Scalar"
    ]  # fmt: skip
    assert found["Concrete Inputs"] == ["", "", "[1, 2]", "True", "", "", "0.5"]


def test_names_that_are_no_names_do_no_harm() -> None:
    hostile = at(4, file='/tmp/a;b"\\\n.py')
    strange = op('aten::"\\\x01', module='N"et.\ud800')
    strange.line, strange.stack = hostile, (hostile, at(4))
    text = trace_of(strange, item(12), op())
    json.loads(text)
    report = torchtraceap.analyze(text)
    assert report.quality.verdict == "ok"
    # A name that would break the list of the stack is left out of it.
    assert "a;b" not in text.decode("ascii", "replace")


def test_programs_of_which_nothing_can_come_are_refused() -> None:
    """More of them: tests/cpp/replay/test_no_schedule.cpp, SchedulerRefusals."""
    p = _core.Program()
    thread, stream = p.add_thread(1, "main"), p.add_stream(7)
    with pytest.raises(ValueError, match="a latency of -1"):
        p.kernel(thread, stream, "k", 1_000, 1_000, latency=-1)
    p.host(thread, 1_000, "op", '"a": ')
    with pytest.raises(ValueError, match="not members of a JSON object"):
        p.trace_text()
