# SPDX-License-Identifier: BSD-3-Clause
"""test_horovod.py: who was waited for, as a Horovod timeline tells."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.ranks.horovod import horovod_text, is_horovod

from ..conftest import Cli

Event = dict[str, Any]


def process(pid: int, name: str) -> Iterator[Event]:
    yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
    yield {
        "name": "process_sort_index",
        "ph": "M",
        "pid": pid,
        "args": {"sort_index": pid},
    }


def collective(
    pid: int, at: int, ready: Mapping[int, int], ends: int, name: str = "ALLREDUCE"
) -> Iterator[Event]:
    """A negotiation, then 1000 us of the operation, 600 of them in NCCL; ``ready`` is
    when rank 0 heard of each rank."""
    yield {"ph": "B", "name": f"NEGOTIATE_{name}", "ts": at, "pid": pid}
    for rank, ts in ready.items():
        yield {"ph": "X", "name": str(rank), "ts": ts, "pid": pid, "dur": 0}
    yield {"ph": "E", "ts": ends, "pid": pid}
    yield {"ph": "B", "name": name, "ts": ends, "pid": pid}
    for activity, begin, end in (
        ("WAIT_FOR_DATA", 0, 100),
        ("MEMCPY_IN_FUSION_BUFFER", 100, 200),
        (f"NCCL_{name}", 200, 800),
    ):
        yield {"ph": "B", "name": activity, "ts": ends + begin, "pid": pid}
        yield {"ph": "E", "ts": ends + end, "pid": pid}
    yield {"ph": "E", "ts": ends + 1000, "pid": pid, "args": {"dtype": "float32"}}


def timeline_events() -> Iterator[Event]:
    start = {"start_time_since_epoch_in_micros": 1_600_000_000_000_000}
    yield {"name": "process_name", "ph": "M", "pid": 0, "args": start}
    yield from process(1, "grad.w")
    yield from process(2, "grad.b")
    for step in range(10):
        at = step * 100_000
        # Rank 2 is 8 ms late; the others are of one cycle, by number.
        yield {"ph": "i", "name": "CYCLE_START", "ts": at, "s": "g"}
        yield from collective(
            1, at, {0: at, 1: at + 3, 3: at + 6, 2: at + 8006}, at + 8010
        )
        # All of one cycle; after the first, known to the cache.
        ready = {rank: at + 20_000 + rank for rank in range(4)} if step == 0 else {}
        yield from collective(2, at + 20_000, ready, at + 21_000)


def text_of(events: Iterable[Event]) -> bytes:
    """As Horovod writes it: a list, an event a line."""
    return ("[\n" + ",\n".join(map(json.dumps, events)) + "]").encode()


@pytest.fixture(scope="module")
def timeline() -> bytes:
    return text_of(timeline_events())


def rows_of(events: bytes) -> list[list[str]]:
    """Return the cells of the tables, of which columns are two blanks apart."""
    lines = horovod_text(torchtraceap.load(events)).splitlines()
    return [re.split("  +", line.strip()) for line in lines if "  " in line]


def test_the_last_rank_is_named_and_how_late_it_was(timeline: bytes) -> None:
    text = " ".join(horovod_text(torchtraceap.load(timeline)).split())
    assert "20 negotiations of 4 ranks over 2 tensors. Rank 2 was waited for" in text
    assert "it came last 10 times of 11, 80.1 ms after the first in all" in text
    assert "9 negotiations name no ranks" in text and "no end" not in text
    assert rows_of(timeline) == [
        ["rank", "came last", "after the first"],
        ["0", "0×", "0 µs"],
        ["1", "0×", "31 µs"],
        ["2", "10×", "80.1 ms"],
        ["3", "0×", "63 µs"],
        ["negotiated", "operation", "times", "last", "tensor"],
        ["80.1 ms", "10 ms", "10×", "rank 2 10×", "ALLREDUCE grad.w"],
        ["10 ms", "10 ms", "10×", "-", "ALLREDUCE grad.b"],
    ]


def test_those_that_come_last_together_are_both_named() -> None:
    ready = {0: 0, 1: 2, 2: 5000, 3: 5002}
    rows = rows_of(text_of([*process(1, "x"), *collective(1, 0, ready, 5010)]))
    assert [row[1] for row in rows[1:5]] == ["0×", "0×", "1×", "1×"]
    assert rows[6][3] == "rank 2 1×, rank 3 1×"


@pytest.mark.parametrize("whole_events", [True, False])
def test_a_cut_timeline_tells_what_is_there(
    whole_events: bool, timeline: bytes, tmp_path: Path, cli: Cli
) -> None:
    at = timeline.rindex(b'{"ph": "B", "name": "ALLREDUCE"')
    end = timeline.index(b"\n", at) if whole_events else at + 10
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline[:end])
    code, out, err = cli("analyze", path)
    if not whole_events:
        assert code == 2
        assert "use recover" in err
        code, out, err = cli("analyze", path, "--recover")
    assert code == 0
    assert "Rank 2 was waited for most" in " ".join(out.split())
    assert ("ranges have no end" in out) == whole_events
    assert not err


def test_the_program_prints_a_table_and_writes_no_report(
    timeline: bytes, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline)
    out = cli("analyze", path).fine()
    assert "a Horovod timeline" in out
    assert "HOROVOD_CACHE_CAPACITY=0" in out
    assert max(map(len, out.splitlines())) <= 120
    page = tmp_path / "page.html"
    code, _, err = cli("analyze", path, "--html", page)
    assert code == 2 and "a Horovod timeline has only a summary" in err
    assert not page.exists()
    assert "looks like one of Horovod, whose timelines" in cli("inspect", path).fine()


def test_a_trace_of_torch_is_none(slow_loader: torchtraceap.Report) -> None:
    trace = torchtraceap.load(slow_loader.trace.path)
    assert not is_horovod(trace)


def test_odd_ones_are_read() -> None:
    # An E too many, a tick outside, a pid that is text, no names, no events at all.
    odd = [
        {"ph": "E", "ts": 1, "pid": 1},
        {"ph": "X", "name": "3", "ts": 2, "pid": 1, "dur": 0},
        {"ph": "B", "name": "NEGOTIATE_ALLGATHER", "ts": 5, "pid": "x"},
        {"ph": "E", "ts": 4, "pid": "x"},
        {"ph": "B", "name": "NEGOTIATE_ALLGATHER", "ts": 5, "pid": 1},
    ]
    assert rows_of(text_of(odd))[1] == ["0 µs", "0 µs", "1×", "?", "ALLGATHER x"]
    said = horovod_text(torchtraceap.load(text_of(odd)))
    assert "1 negotiations over 1 tensors" in said and "1 ranges have no end" in said
    only = [{"ph": "M", "name": "NEGOTIATE_ALLREDUCE", "pid": 1}]
    assert "0 negotiations" in horovod_text(torchtraceap.load(text_of(only)))
