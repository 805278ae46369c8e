# SPDX-License-Identifier: BSD-3-Clause
"""test_work.py: balances, tables, steps and threads against sums of the raw JSON, in
Python."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pytest

import torchtraceap

from .raw_trace import COPIES, KERNELS, OPERATORS, Raw, length, read_events, union
from .real_traces import PATHS, summed_up

MEMCPY = {"gpu_memcpy", "Memcpy"}
DEVICE = re.compile("kernel|memcpy|memset|mtia_ccp|hpu_op|gpu_|cuda_sync", re.I)
NO_THREAD = {"Trace", "ac2g", "fwdbwd", "", "mtia_insight", "cuda_profiler_range"}
NAMED = re.compile(r"ProfilerStep#\d+$|Optimizer\.|enumerate\(Data")


@dataclass(frozen=True)
class Case:
    """A trace as Python's json reads it, and the report."""

    events: list[Raw]
    report: torchtraceap.Report

    @property
    def work(self) -> list[Raw]:
        return [e for e in self.events if e.category in KERNELS | COPIES]

    @cached_property
    def threads(self) -> dict[tuple[str, str], list[Raw]]:
        """What each thread of the host did."""
        threads = defaultdict(list)
        for event in self.events:
            if event.category not in NO_THREAD and not DEVICE.search(event.category):
                threads[str(event.pid), str(event.tid)].append(event)
        return threads

    @cached_property
    def in_threads(self) -> set[str]:
        """Correlations of HIP's extended launches, whose grids count threads."""
        return {
            str(e.args.get("correlation"))
            for e in self.events
            if e.name == "hipExtModuleLaunchKernel"
        }

    @property
    def span(self) -> tuple[int, int]:
        facts = self.report.core.trace  # A float of today's microseconds is not exact.
        return facts.start_ns, facts.end_ns

    @cached_property
    def busy(self) -> dict[int, list[tuple[int, int]]]:
        """When each device worked."""
        return {device: union(of) for device, of in spans_of(self.work).items()}


@pytest.fixture(scope="module", params=summed_up())
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """Reads each file once, and lets go of it."""
    path = PATHS[request.param]
    yield Case(read_events(path), torchtraceap.analyze(path))


def by_name(events: list[Raw]) -> dict[str, list[Raw]]:
    groups = defaultdict(list)
    for event in events:
        groups[event.name].append(event)
    return groups


def spans_of(work: list[Raw]) -> dict[int, list[tuple[int, int]]]:
    devices = defaultdict(list)
    for w in work:
        devices[w.device].append((w.begin, w.end))
    return devices


def union_ns(work: list[Raw]) -> int:
    """The time in which any of it ran, of each device for itself."""
    return sum(total(union(spans)) for spans in spans_of(work).values())


def total(spans: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in spans)


def ns(us: float) -> int:
    return round(us * 1000)


def began_before(case: Case) -> bool:
    """Whether some device work ran before the analyzed time."""
    notes = case.report.quality.warnings
    return any(note.kind == "work_before_recording" for note in notes)


def test_busy_and_idle_time_of_each_device(case: Case) -> None:
    facts = case.report.core.trace
    rows = {row.device: row for row in case.report.core.balance}
    if case.report.quality.verdict == "unusable":
        assert not rows
        return
    assert set(rows) == (set(case.busy) or {None})
    for device, busy in case.busy.items():
        row = rows[device]
        inside = not busy or facts.start_ns <= busy[0][0] <= busy[-1][1] <= facts.end_ns
        assert inside or began_before(case)
        assert row.busy_ns == total(busy)
        idle = sum(row.idle_ns.values()) + row.unattributed_ns
        assert idle == facts.end_ns - facts.start_ns - total(busy)


def test_number_of_events_of_each_device(case: Case) -> None:
    working = case.report.trace.working_devices
    assert {d.id: d.events for d in working} == Counter(w.device for w in case.work)


def test_claims_lie_where_the_device_was_idle_or_busy(case: Case) -> None:
    """What costs idle time is idle, what costs excess time busy, and all of it once."""
    claims = defaultdict(list)
    for index in range(len(case.report.rule_findings)):
        for claim in case.report.core.claims(index):
            claims[claim.device, claim.idle].append((claim.begin, claim.end))
    for (device, idle), parts in claims.items():
        if device < 0:
            continue
        busy = case.busy[device]
        assert total(union(parts)) == total(parts)
        held = total(parts) + total(busy) - total(union(parts + busy))
        assert held == (0 if idle else total(parts))


def test_kernels_add_up(case: Case) -> None:
    if began_before(case):
        pytest.skip("what ran before counts as busy, and in no table")
    raw = by_name([e for e in case.events if e.category in KERNELS])
    kernels = {k.name: k for k in case.report.kernels}
    assert set(kernels) == set(raw)
    assert len(kernels) == len(case.report.kernels)
    for name, work in raw.items():
        kernel, durations = kernels[name], [w.end - w.begin for w in work]
        assert kernel.count == len(work)
        assert ns(kernel.total_us) == sum(durations)
        assert ns(kernel.union_us) == union_ns(work) <= sum(durations)
        assert ns(kernel.min_us) == min(durations)
        assert ns(kernel.max_us) == max(durations)
        assert 0 <= kernel.busy_share <= 1
        shapes = [
            (math.prod(w.args["grid"]), math.prod(w.args["block"]), w.args)
            for w in work
            if "grid" in w.args
        ]
        if shapes:
            products = [
                (
                    grid // block
                    if str(args.get("correlation")) in case.in_threads
                    else grid,
                    block,
                )
                for grid, block, args in shapes
                if min(args["grid"] + args["block"]) > 0
            ]
            shape = (kernel.blocks, kernel.block_threads)
            assert shape in (statistics.multimode(products) or [(None, None)])


def test_copies_add_up(case: Case) -> None:
    raw = [e for e in case.events if e.category in COPIES]
    copies = case.report.copies
    assert sum(c.count for c in copies) == len(raw)
    assert sum(ns(c.total_us) for c in copies) == sum(e.end - e.begin for e in raw)
    for copy in copies:
        of_kind = [
            e
            for e in raw
            if (e.name.startswith("Memset") or copy.direction in e.name)
            and e.name.startswith("Memset") == (copy.direction == "memset")
            and (not copy.memory or copy.memory in e.name.lower())
            and (copy.memory or not any(m in e.name for m in ("Pageable", "Pinned")))
        ]
        assert copy.count == len(of_kind), copy
        assert ns(copy.union_us) == union_ns(of_kind)
        sizes = [e.args["bytes"] for e in of_kind if "bytes" in e.args]
        if sizes and len(sizes) == len(of_kind):
            assert copy.bytes == sum(sizes)
            assert copy.median_bytes == statistics.median_low(sizes)
            if copy.total_us:
                speed = sum(sizes) / (copy.total_us * 1000)
                assert copy.bandwidth == pytest.approx(speed)


def test_operators_add_up(case: Case) -> None:
    named = ("ProfilerStep#", "Optimizer.", "enumerate(Data")
    raw = by_name(
        [
            e
            for e in case.events
            if e.category in OPERATORS and not e.name.startswith(named)
        ]
    )
    operators = {o.name: o for o in case.report.operators}
    assert set(operators) == set(raw)
    for name, calls in raw.items():
        operator, durations = operators[name], [c.end - c.begin for c in calls]
        assert operator.count == len(calls)
        assert ns(operator.max_us) == max(durations)
        assert ns(operator.min_us) == min(durations)
        assert 0 <= operator.self_us <= operator.total_us + 1e-6
        assert ns(operator.total_us) <= sum(durations)
        assert operator.self_device_us <= operator.device_us + 1e-6
    # Each moment of a thread belongs to one operator: their own times are a union.
    threads = defaultdict(list)
    for e in itertools.chain.from_iterable(raw.values()):
        threads[e.pid, e.tid].append((e.begin, e.end))
    inside = sum(total(union(spans)) for spans in threads.values())
    own = sum(ns(o.self_us) for o in operators.values())
    # Siblings may overlap by what Kineto rounds, up to 1 us each.
    calls = sum(map(len, raw.values()))
    assert inside <= own + calls and own <= inside + 1000 * calls
    device = sum(ns(o.self_device_us) for o in operators.values())
    assert device <= sum(w.end - w.begin for w in case.work)


def test_overlap_is_that_of_unions(case: Case) -> None:
    if began_before(case):
        pytest.skip("what ran before counts as busy, and in no table")
    for row in case.report.overlap:
        work = [w for w in case.work if w.device == row.device]
        comm = {k.name for k in case.report.kernels if k.communication}
        copies = union((e.begin, e.end) for e in work if e.category in MEMCPY)
        kernels = [e for e in work if e.category in KERNELS]
        compute = union((e.begin, e.end) for e in kernels if e.name not in comm)
        talk = union((e.begin, e.end) for e in kernels if e.name in comm)
        assert ns(row.compute_us) == total(compute)
        assert ns(row.communication_us) == total(talk)
        alone = total(union(compute + talk)) - total(compute)
        assert ns(row.communication_us) - ns(row.communication_hidden_us) == alone
        assert ns(row.copy_us) == total(copies)
        hidden = total(compute) + total(copies) - total(union(compute + copies))
        assert ns(row.copy_hidden_us) == hidden


def test_steps_balance_with_the_busy_time_of_the_file(case: Case) -> None:
    core = case.report.core
    for step, row in zip(core.steps(), case.report.steps, strict=True):
        balance, within = step.balance, (step.start_ns, step.end_ns)
        assert step.busy_ns == sum(length(of, *within) for of in case.busy.values())
        if balance is None:
            assert row.balance is None
            continue
        parts = sum(balance.idle_ns.values()) + balance.unattributed_ns
        assert balance.busy_ns + parts == balance.span_ns
        assert (
            min([balance.busy_ns, balance.unattributed_ns, *balance.idle_ns.values()])
            >= 0
        )
        assert sum(balance.excess_ns.values()) <= balance.busy_ns
        assert balance.span_ns == (step.end_ns - step.start_ns) * max(
            1, balance.devices
        )
        if balance.devices == 1:
            assert balance.busy_ns == length(case.busy[balance.device], *within)
        # What findings claim inside the step is in it; a pattern may have more.
        claimed: dict[str, int] = defaultdict(int)
        for index, finding in enumerate(case.report.rule_findings):
            for c in core.claims(index):
                if balance.devices == 1 and c.device == balance.device and c.idle:
                    claimed[finding.pattern] += length([(c.begin, c.end)], *within)
        for pattern, claims_ns in claimed.items():
            assert balance.idle_ns.get(pattern, 0) >= claims_ns
        assert ns(row.balance.busy_us) == balance.busy_ns
        assert row.balance.idle_us["no_such_pattern"] == 0
        assert all(balance.idle_ns.values())


def test_windows_count_the_kernels_that_start_in_them(case: Case) -> None:
    counts = case.report.kernel_counts
    if not case.report.trace.working_devices:
        assert counts.steps is None and counts.windows is None
        return
    starts = defaultdict(list)
    for e in case.events:
        if e.category in KERNELS:
            starts[e.device].append(e.begin)
    for of in starts.values():
        of.sort()
    for row, count in zip(case.report.core.windows, counts.windows.each, strict=True):
        of = starts[row.device]
        assert count == bisect_left(of, row.end_ns) - bisect_left(of, row.start_ns)
    assert counts.windows.median == statistics.median(counts.windows.each)
    assert counts.windows.min == min(counts.windows.each)
    assert counts.windows.max == max(counts.windows.each)


def test_the_story_rests_on_the_balance(case: Case) -> None:
    report = case.report
    story = {stage.id: dict(stage.figures) for stage in report.story}
    known = {stage.id for stage in report.story if stage.known}
    if report.quality.verdict == "unusable":
        assert list(story) == ["busy"] and not known
        return
    span = sum(row.span_us for row in report.balance)
    busy = sum(row.busy_us for row in report.balance)
    assert story["busy"]["span_us"] == pytest.approx(span)
    assert story["busy"]["busy_us"] == pytest.approx(busy)
    if "gain" in known:
        assert report.quality.verdict == "ok"
    if "idle" in story:
        idle = story["idle"].pop("idle_us")
        assert sum(story["idle"].values()) == pytest.approx(idle)
        assert idle == pytest.approx(span - busy)
    if "work" in story:
        parts = [us for name, us in story["work"].items() if name.endswith("_us")]
        assert sum(parts) == pytest.approx(busy)
    if "limit" in known:
        figures = story["limit"]
        # Of what is counted: not the profiler's time, nor time without any record.
        counted = figures["counted_us"]
        assert 0 < counted <= span + 1e-3
        assert 0 <= figures["device_us"] <= min(busy, counted) + 1e-3
        assert 0 <= figures["host_us"] <= counted + 1e-3
    lines = re.findall(
        r"^(Limit|Busy with|Overlap|What matters most): ", report.summary(), re.M
    )
    shown = known & {"limit", "work", "overlap", "gain"}
    assert len(lines) - len(shown) in (-1, 0)  # What is small is left out.


# --- Threads --------------------------------------------------------------------------


def test_the_parts_of_a_thread_are_the_span(case: Case) -> None:
    begin, end = case.span
    for t in case.report.threads:
        parts = (t.busy_us, t.waiting_us, t.profiler_us, t.idle_us)
        assert sum(map(ns, parts)) == end - begin
        working = (t.operators_us, t.calls_us, t.compile_us, t.python_us)
        assert sum(map(ns, working)) == ns(t.busy_us)
        waits = (t.wait_loader_us, t.wait_comm_us, t.wait_device_us, t.wait_other_us)
        assert sum(map(ns, waits)) == ns(t.waiting_us)


def test_idle_is_where_no_event_is(case: Case) -> None:
    noted = {note.kind for note in case.report.quality.warnings}
    if noted & {"unclosed_frames", "outlier_times"}:
        pytest.skip("other ends than the file's")
    if any(e.name.startswith("gloo:") for t in case.threads.values() for e in t):
        pytest.skip("all threads together decide what is idle beside collectives")
    for t in case.report.threads:
        events = case.threads[str(t.pid), str(t.tid)]
        known = union(
            (e.begin, e.end) for e in events if not e.name.startswith("ProfilerStep#")
        )
        assert ns(t.idle_us) == case.span[1] - case.span[0] - length(known, *case.span)


def test_operators_are_those_of_the_file(case: Case) -> None:
    for t in case.report.threads:
        operators = union(
            (e.begin, e.end)
            for e in case.threads[str(t.pid), str(t.tid)]
            if e.category in OPERATORS and not NAMED.match(e.name)
        )
        inside = length(operators, *case.span)
        assert ns(t.operators_us) <= inside
        # What is missing waits, loads, compiles, or belongs to the profiler.
        rest = inside - ns(t.operators_us)
        # A few events overlap without nesting: the later one counts.
        known = ns(t.waiting_us) + ns(t.compile_us) + ns(t.profiler_us)
        assert rest <= known + inside // 1000


def test_no_thread_is_left_out(case: Case) -> None:
    there = {(str(t.pid), str(t.tid)) for t in case.report.threads}
    assert len(there) == len(case.report.threads)
    for thread, events in case.threads.items():
        if any(
            e.category in OPERATORS
            and not NAMED.match(e.name)
            and length([(e.begin, e.end)], *case.span)
            for e in events
        ):
            assert thread in there
