# SPDX-License-Identifier: BSD-3-Clause
"""test_memory.py: memory of traces, against a plain recomputation, by hand, live."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap._core import Memory

from .trace_builder import Event, frame, op, profiler_step, report_of

MIB = 2**20
DEVICE: dict[str, Any] = {"Device Type": 1, "Device Id": 0}
HOST: dict[str, Any] = {"Device Type": 0, "Device Id": -1}
RECORDED = (
    "cpu-macos-resnet18",
    "h100-vit-nsfw-inference",
    "kineto2021-v100-resnet50-workers0-memory",
    "kineto2021-v100-resnet50-workers4",
)

# --- Recorded traces, read by json alone --------------------------------------------


def changes_of(path: Path) -> dict[tuple[bool, int], list[dict[str, Any]]]:
    """Return the args of each device's events, in order of time, with their time."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    events = trace if isinstance(trace, list) else trace["traceEvents"]
    out = defaultdict(list)
    for place, event in enumerate(events):
        if event.get("name") == "[memory]":
            args = event["args"]
            order = (float(event["ts"]), place)
            key = (args["Device Type"] == 0, args["Device Id"])
            out[key].append({**args, "order": order})
    return {
        key: sorted(rows, key=lambda row: row["order"])
        for key, rows in sorted(out.items())
    }


def expected(rows: list[dict[str, Any]]) -> tuple[int, float, int, int]:
    """Return the peak, when it is, what is known to be allocated then, and how often
    that was."""
    level, best, when = 0, None, 0.0
    held: dict[int, int] = {}
    then: dict[int, int] = {}
    for row in rows:
        level = row.get("Total Allocated", level + row["Bytes"])
        held.pop(row.get("Addr", 0), None)
        if row["Bytes"] > 0:
            held[row.get("Addr", 0)] = row["Bytes"]
        if best is None or level > best:
            best, when, then = level, row["order"][0], dict(held)
    assert best is not None
    return best, when, sum(then.values()), len(then)


@pytest.mark.parametrize("name", RECORDED)
def test_peaks_are_those_of_a_plain_recomputation(name: str, data: Path) -> None:
    path = data / f"{name}.json.gz"
    report = torchtraceap.analyze(path, detector="off")
    changes = changes_of(path)
    assert [(m.device is None, m.device if m.device is not None else -1) for m in
            report.memory] == list(changes)  # fmt: skip
    for memory, rows in zip(report.memory, changes.values(), strict=True):
        peak, when, known, count = expected(rows)
        assert memory.events == len(rows)
        assert (memory.peak_bytes, memory.peak_at_us) == (peak, pytest.approx(when))
        assert memory.relative == ("Total Allocated" not in rows[0])
        assert memory.line[-1].at_us <= rows[-1]["order"][0]
        assert len(memory.line) <= 500
        assert max(point.allocated for point in memory.line) == peak
        if "Addr" not in rows[0]:
            assert memory.alive == ()
            continue
        held = Counter[str]()
        for holder in memory.alive:
            held[holder.kind == "earlier"] += holder.bytes
        assert held[False] == known
        assert sum(h.count for h in memory.alive) == count
        assert held[True] == max(0, peak - known)
        reserved = max(row["Total Reserved"] for row in rows)
        assert memory.reserved_bytes == (reserved or None)


# --- By hand ------------------------------------------------------------------------


def change(
    ts: float, bytes_: int, device: dict[str, Any] = DEVICE, **args: Any
) -> Event:
    where = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]"}
    return {
        **where,
        "pid": 1,
        "tid": 1,
        "ts": ts,
        "args": {**device, "Bytes": bytes_, **args},
    }


class Program:
    """Steps of 1 ms, with allocations by operators of 10 us."""

    def __init__(self, steps: int, totals: bool = True, addresses: bool = True) -> None:
        self.events = [profiler_step(n, n * 1000, 1000) for n in range(steps)]
        self.events += [frame("train.py(7): train", 0, steps * 1000)]
        self.level = 0
        self._totals, self._addresses = totals, addresses
        self._last: dict[int, int] = {}

    def allocate(self, ts: float, size: int, name: str = "aten::mul") -> int:
        address = len(self._last)
        self.events += [op(name, ts, 10), op("aten::empty", ts + 1, 5)]
        self._last[address] = size
        self._change(ts + 2, size, address)
        return address

    def free(self, ts: float, address: int) -> None:
        self._change(ts, -self._last[address], address)

    def _change(self, ts: float, size: int, address: int) -> None:
        self.level += size
        args = {"Total Allocated": self.level} if self._totals else {}
        args |= {"Addr": address} if self._addresses else {}
        self.events.append(change(ts, size, **args))

    def memory(self) -> Memory:
        properties = [{"id": 0, "name": "GPU", "totalGlobalMem": 100 * MIB}]
        self.report = report_of(*self.events, deviceProperties=properties)
        (memory,) = self.report.memory
        return memory


def leaking(steps: int, size: int, **options: bool) -> Program:
    """Keeps some memory in each step, and uses twice as much for a while."""
    program = Program(steps, **options)
    for n in range(steps):
        program.allocate(n * 1000 + 100, size)
        passing = program.allocate(n * 1000 + 200, 2 * size, "aten::add")
        program.free(n * 1000 + 300, passing)
    return program


def test_a_leak_is_found_with_its_place() -> None:
    program = leaking(6, 3 * MIB)
    memory = program.memory()
    assert memory.growth is not None
    assert (memory.growth.bytes, memory.growth.steps) == (3 * MIB, 5)
    (holder,) = memory.growth.holders
    assert (holder.operator, holder.bytes, holder.count) == ("aten::mul", 3 * MIB, 1)
    assert holder.location is not None and holder.location.file == "train.py"
    assert memory.growth.full_after == (100 - 18) // 3
    # The step in which it is first as high as at the end of the last one, and no less.
    assert (memory.peak_bytes, memory.peak_step) == (24 * MIB, 5)
    assert memory.peak_operator == "aten::add"
    assert [(h.operator, h.bytes, h.count) for h in memory.alive] == [
        ("aten::mul", 18 * MIB, 6),
        ("aten::add", 6 * MIB, 1),
    ]
    assert (memory.first_step_bytes, memory.last_step_bytes) == (3 * MIB, 18 * MIB)
    said = "Memory of device 0 grows by 3 MiB a step, in each of 5 steps, allocated by"
    assert program.report.answer.memory.startswith(f"{said} aten::mul at train.py")
    assert "Memory: Memory of device 0 grows" in str(program.report).replace("\n", " ")


def grows(program: Program) -> bool:
    memory = program.memory()
    assert bool(program.report.answer.memory) == (memory.growth is not None)
    return memory.growth is not None


def test_what_grows_by_enough_in_each_step() -> None:
    assert grows(leaking(5, MIB))
    assert not grows(leaking(4, MIB))  # Three steps after the first.
    assert not grows(leaking(5, MIB - 1))


def test_a_pool_that_is_used_again_does_not_grow() -> None:
    program = Program(6)
    for n in range(6):
        kept = [
            program.allocate(n * 1000 + 100 + 20 * i, MIB * (i + 1)) for i in range(3)
        ]
        for address in kept:
            program.free(n * 1000 + 500, address)
    memory = program.memory()
    assert memory.growth is None
    assert memory.step_growth_bytes == 0


def test_growth_by_another_place_each_time_is_none() -> None:
    program = Program(6)
    for n in range(6):
        program.allocate(n * 1000 + 100, 3 * MIB, f"aten::op{n}")
    memory = program.memory()
    assert (memory.growth, memory.step_growth_bytes) == (None, 3 * MIB)


def test_without_addresses_the_place_is_unknown() -> None:
    memory = leaking(6, 3 * MIB, totals=False, addresses=False).memory()
    assert memory.growth is not None
    assert (memory.growth.holders, memory.growth.full_after) == ((), None)
    assert (memory.alive, memory.relative) == ((), True)


def test_what_was_there_before_is_a_row() -> None:
    events = [
        op("aten::mm", 0, 100),
        change(10, 8, Addr=1, **{"Total Allocated": 1008}),
        change(20, -1000, Addr=7, **{"Total Allocated": 8}),
    ]
    (memory,) = report_of(*events).memory
    assert [(h.kind, h.bytes) for h in memory.alive] == [("earlier", 1000), ("site", 8)]
    # Freed only: the peak is before all events.
    (memory,) = report_of(events[0], events[2]).memory
    assert (memory.peak_bytes, memory.peak_operator) == (1008, "")
    assert [(h.kind, h.bytes) for h in memory.alive] == [("earlier", 1008)]


def test_small_sites_are_one_row() -> None:
    program = Program(1)
    for n in range(25):
        program.allocate(20 * n, 100 - n, f"aten::op{n}")
    alive = program.memory().alive
    assert len(alive) == 21
    assert (alive[-1].kind, alive[-1].bytes) == ("rest", 80 + 79 + 78 + 77 + 76)
    assert alive[-1].count == 5


def test_the_line_keeps_what_is_highest() -> None:
    """2,000 changes of a saw, one tooth higher than the others, and a long pause."""
    program = Program(20)
    program.allocate(0, 50)
    for n in range(1000):
        passing = program.allocate(10 + 10 * n, 1000 if n == 617 else 100)
        program.free(19 + 10 * n, passing)
    program.allocate(19_000, 7)
    line = program.memory().line
    assert len(line) <= 500
    assert max(point.allocated for point in line) == 1050
    assert all(a.at_us < b.at_us for a, b in pairwise(line))
    pause = [point.allocated for point in line if 10_010 < point.at_us < 19_000]
    assert pause == [50]


def test_damaged_events_break_nothing() -> None:
    odd: list[Any] = [None, "x", -(2**63), 2**63 - 1, 1e300, [], {}, True]
    keys = ("Bytes", "Addr", "Total Allocated", "Total Reserved", "Device Type",
            "Device Id", "Ev Idx")  # fmt: skip
    events = [
        change(i, 8, **{key: value})
        for i, (key, value) in enumerate((k, v) for k in keys for v in odd)
    ]
    report = report_of(op("aten::mm", 0, 100), *events)
    json.dumps(report.to_dict())
    assert report.summary() and report.to_html()


def test_of_two_processes_each_has_its_own() -> None:
    events = [change(n, 8 * n) | {"pid": 1 + n % 2} for n in range(1, 5)]
    report = report_of(op("aten::mm", 0, 100), op("aten::mm", 0, 100, pid=2), *events)
    assert [(m.pid, m.peak_bytes) for m in report.memory] == [(1, 48), (2, 32)]


def test_the_page_draws_the_line_and_marks_the_peak() -> None:
    program = leaking(6, 3 * MIB)
    program.memory()
    page = program.report.to_html()
    (strip,) = page.split('class="strip memory"')[1:]
    points = [
        p.split(",")
        for p in strip.split('class="allocated" points="')[1].partition('"')[0].split()
    ]
    # No reserved memory is above the peak, of 6 ms the place of its event.
    assert next(x for x, y in points if float(y) == 0) == "867.0"
    assert 'class="peak" x1="86.7' in strip
    assert "Allocated at the peak of device 0" in page


def test_tables_have_the_lists_with_their_rows() -> None:
    pytest.importorskip("pandas")
    program = leaking(6, 3 * MIB)
    memory = program.memory()
    tables = program.report.to_pandas()
    assert list(tables.memory.peak_bytes) == [24 * MIB]
    assert list(tables.memory_alive.bytes) == [18 * MIB, 6 * MIB]
    assert list(tables.memory_alive.file) == ["train.py", "train.py"]
    assert len(tables.memory_line) == len(memory.line)
    assert set(tables.memory_line.memory) == {0}


# --- Budgets ------------------------------------------------------------------------


def broken(report: torchtraceap.Report, **limits: float) -> Iterator[tuple[bool, Any]]:
    for violation in torchtraceap.read_budget(limits).check(report):
        yield violation.known, violation.found


def test_budgets_limit_peak_and_growth() -> None:
    program = leaking(6, 3 * MIB)
    program.memory()
    peak, growth = 24 * MIB / 1e9, 3 * MIB / 1e6
    report = program.report
    assert list(broken(report, peak_memory_gb=peak)) == []
    assert list(broken(report, peak_memory_gb=0.99 * peak)) == [(True, peak)]
    assert list(broken(report, max_memory_growth_mb=growth)) == []
    assert list(broken(report, max_memory_growth_mb=0)) == [(True, growth)]


def test_budgets_that_a_trace_cannot_tell() -> None:
    nothing = report_of(op("aten::mm", 0, 100))
    assert list(broken(nothing, peak_memory_gb=1)) == [(False, None)]
    assert list(broken(nothing, max_memory_growth_mb=1)) == [(False, None)]
    host = report_of(op("aten::mm", 0, 100), change(5, 8, HOST))
    assert list(broken(host, peak_memory_gb=1)) == [(False, None)]
    old = leaking(3, MIB, totals=False, addresses=False)
    old.memory()
    assert list(broken(old.report, peak_memory_gb=1)) == [(False, 5 * MIB / 1e9)]
    assert list(broken(old.report, peak_memory_gb=0.001)) == [(True, 5 * MIB / 1e9)]
    assert list(broken(old.report, max_memory_growth_mb=1)) == [(True, MIB / 1e6)]
    one = leaking(1, MIB)
    one.memory()
    assert list(broken(one.report, max_memory_growth_mb=1)) == [(False, None)]


# --- Live ---------------------------------------------------------------------------


def test_live_on_the_host() -> None:
    torch = pytest.importorskip("torch")
    kept = []
    with torchtraceap.profile(
        active=5, memory=True, quiet=True, detector="off"
    ) as prof:
        for _ in range(8):
            kept.append(torch.ones(2 * MIB, dtype=torch.uint8) + 1)
            prof.step()
    (memory,) = prof.report.memory
    assert memory.device is None and memory.growth is not None
    assert 2 * MIB <= memory.growth.bytes < 3 * MIB
    assert memory.growth.holders[0].operator == "aten::add"
    assert memory.growth.holders[0].location.file.endswith("test_memory.py")
