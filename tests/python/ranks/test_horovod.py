# SPDX-License-Identifier: BSD-3-Clause
"""test_horovod.py: who was waited for, as a Horovod timeline tells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import TraceError
from torchtraceap.cli import main
from torchtraceap.ranks.horovod import is_horovod, read_horovod
from torchtraceap.ranks.horovod_text import horovod_text

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


def text_of(events: Iterator[Event]) -> bytes:
    """As Horovod writes it: a list, an event a line."""
    return ("[\n" + ",\n".join(map(json.dumps, events)) + "]").encode()


@pytest.fixture(scope="module")
def timeline() -> bytes:
    return text_of(timeline_events())


def test_the_last_rank_is_named_and_what_it_cost(timeline: bytes) -> None:
    found = read_horovod(torchtraceap.load(timeline))
    assert (found.count, found.named, found.open) == (20, 11, 0)
    late, together = found.tensors
    assert (late.name, late.operation, late.count) == ("grad.w", "ALLREDUCE", 10)
    assert late.last == {2: 10}
    assert late.wait_us == 10 * 8006
    assert late.negotiation_us == 10 * 8010
    assert (late.operation_us, late.transfer_us) == (10_000, 6_000)
    assert late.activities_us == {
        "NCCL_ALLREDUCE": 6000,
        "WAIT_FOR_DATA": 1000,
        "MEMCPY_IN_FUSION_BUFFER": 1000,
    }
    assert (together.name, together.named, together.last) == ("grad.b", 1, {})
    by_rank = {rank.rank: rank for rank in found.ranks}
    assert by_rank[2].last == 10
    assert by_rank[2].held_up_us == 10 * 8000
    assert by_rank[0].waited_us == 10 * 8006 + 3
    assert sum(rank.last for rank in found.ranks) == 10


def test_those_that_come_last_together_are_both_named() -> None:
    ready = {0: 0, 1: 2, 2: 5000, 3: 5002}
    events = [*process(1, "x"), *collective(1, 0, ready, 5010)]
    found = read_horovod(torchtraceap.load(text_of(iter(events))))
    assert found.tensors[0].last == {2: 1, 3: 1}
    assert {r.rank: r.held_up_us for r in found.ranks if r.last} == {2: 4998, 3: 4998}


@pytest.mark.parametrize("whole_events", [True, False])
def test_a_cut_timeline_tells_what_is_there(
    whole_events: bool,
    timeline: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at = timeline.rindex(b'{"ph": "B", "name": "ALLREDUCE"')
    end = timeline.index(b"\n", at) if whole_events else at + 10
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline[:end])
    code = main(["analyze", str(path)])
    out, err = capsys.readouterr()
    if not whole_events:
        assert code == 2
        assert "use recover" in err
        assert main(["analyze", str(path), "--recover"]) == 0
        out, err = capsys.readouterr()
    assert "Rank 2 held up the others most" in " ".join(out.split())
    assert ("ranges have no end" in out) == whole_events
    assert not err


def test_the_program_prints_a_table_and_writes_no_report(
    timeline: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timeline.json"
    path.write_bytes(timeline)
    assert main(["analyze", str(path)]) == 0
    out, _ = capsys.readouterr()
    assert "a Horovod timeline" in out
    assert "HOROVOD_CACHE_CAPACITY=0" in out
    assert max(map(len, out.splitlines())) <= 120
    page = tmp_path / "page.html"
    assert main(["analyze", str(path), "--html", str(page)]) == 2
    assert "a Horovod timeline has no report" in capsys.readouterr().err
    assert not page.exists()
    assert main(["inspect", str(path)]) == 0
    assert "looks like one of Horovod, whose timelines" in capsys.readouterr().out


def test_what_is_none_is_refused(slow_loader: torchtraceap.Report) -> None:
    trace = torchtraceap.load(slow_loader.trace.path)
    assert not is_horovod(trace)
    with pytest.raises(TraceError, match="no Horovod timeline"):
        read_horovod(trace)


def test_odd_ones_are_read() -> None:
    # An E too many, a tick outside, a pid that is text, no names, no events at all.
    odd = [
        {"ph": "E", "ts": 1, "pid": 1},
        {"ph": "X", "name": "3", "ts": 2, "pid": 1, "dur": 0},
        {"ph": "B", "name": "NEGOTIATE_ALLGATHER", "ts": 5, "pid": "x"},
        {"ph": "E", "ts": 4, "pid": "x"},
        {"ph": "B", "name": "NEGOTIATE_ALLGATHER", "ts": 5, "pid": 1},
    ]
    found = read_horovod(torchtraceap.load(text_of(iter(odd))))
    assert (found.count, found.named, found.ranks) == (1, 0, ())
    assert found.tensors[0].name == "x"
    assert "1 negotiations over" in horovod_text(found)
    only = [{"ph": "M", "name": "NEGOTIATE_ALLREDUCE", "pid": 1}]
    assert read_horovod(torchtraceap.load(text_of(iter(only)))).count == 0
