# SPDX-License-Identifier: BSD-3-Clause
"""test_merged.py: of a merged file each rank is analyzed as its own file would be, and
what is written of a job loads as its ranks again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.ranks.merged import merged_ranks

from ..trace_builder import Event, launched, named, op, profiler_step, trace_of
from ..trace_format import badly_nested, events_of, mistakes, plain, strict
from .rank_folder import put

Events = list[dict[str, Any]]


def as_sglang_does(events: Events, rank: int) -> Events:
    label = f"[TP{rank:02d}-DP00]"
    return [event | {"pid": f"{label} {event['pid']}"} for event in events]


def by_a_shift(events: Events, rank: int) -> Events:
    # "Spans" and "Traces" stay: the pids of other events are numbers.
    return [
        event | {"pid": event["pid"] + 100_000 * rank}
        if isinstance(event.get("pid"), int)
        else event
        for event in events
    ]


@pytest.fixture(scope="module")
def alone(data: Path) -> dict[str, Any]:
    with gzip.open(data / "h100-vit-nsfw-inference.json.gz") as file:
        whole: dict[str, Any] = json.load(file)
    return whole


@pytest.mark.parametrize("merge", [as_sglang_does, by_a_shift])
def test_a_part_has_the_report_of_its_own_file(
    merge: Callable[[Events, int], Events], alone: dict[str, Any]
) -> None:
    def file_of(events: Events, rank: int) -> bytes:
        info = {"backend": "nccl", "rank": rank, "world_size": 2}
        members = {"distributedInfo": info, "traceEvents": events}
        return json.dumps(alone | members).encode()

    # A shift keeps texts as they are ("Spans"), and devices without work have no rank.
    works = {event.get("pid") for event in alone["traceEvents"] if "dur" in event}
    events = [
        event
        for event in alone["traceEvents"]
        if merge is as_sglang_does
        or (isinstance(event.get("pid"), int) and event["pid"] in works)
    ]
    of_ranks = [merge(events, rank) for rank in range(2)]
    merged = torchtraceap.load(file_of(of_ranks[0] + of_ranks[1], 0))
    ranks = merged_ranks(merged)
    assert [one.rank for one in ranks] == [0, 1]
    for one, own in zip(ranks, of_ranks, strict=True):
        part = torchtraceap.analyze(one.part_of(merged)).to_dict()
        assert part == torchtraceap.analyze(file_of(own, one.rank)).to_dict()


@pytest.mark.parametrize(
    ("labels", "ranks"),
    [
        (["TP00-PP00", "TP01-PP00", "TP00-PP01", "TP01-PP01"], [0, 1, 2, 3]),
        (["TP00", "TP03"], [0, 3]),
        (["TP00-DP00", "TP00-DP01"], [0, 1]),
        (["a", "b"], [0, 1]),
    ],
)
def test_labels_give_the_ranks(labels: list[str], ranks: list[int]) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "op", "pid": f"[{label}] 7", "tid": 1}
        | {"ts": 1, "dur": 1}
        for label in labels
    ]
    found = merged_ranks(torchtraceap.load(trace_of(*reversed(events))))
    assert [(one.label, one.rank) for one in found] == list(
        zip(labels, ranks, strict=True)
    )


# --- All ranks as one trace -----------------------------------------------------------


RANKS, STEPS = 3, 4
BASE_NS = 1_700_000_000_000_000_000
# When each rank's file says 0, and how far its clock is off: hosts differ.
BASES_NS = (BASE_NS, BASE_NS + 5_000_000, BASE_NS - 2_000_000)
OFF_US = (0.0, 300.0, -150.0)
HOSTILE = '</script>"\\\u202e\u0000\n'


def rank_trace(rank: int) -> bytes:
    """Steps of 1 ms with an all-reduce, for which rank 1 comes 200 us late."""
    events: list[Event] = [named("process_name", f"python {HOSTILE}", 4000)]
    events += [named("process_name", "python", device) for device in range(8)]
    base_us = (BASES_NS[rank] - BASE_NS) / 1000
    for step in range(STEPS):
        at = 10_000 + step * 1000 - base_us + OFF_US[rank]
        number = 1 + 2 * step
        work = 500.0 if rank == 1 else 300.0
        events += [
            profiler_step(step, at, 1000, pid=4000),
            op(HOSTILE, at + 5, 90, pid=4000, **{"External id": number}),
        ]
        rows = launched(number, at + 10, at + 50, work, device=0)
        rows += launched(
            number + 1,
            at + 20,
            at + 50 + work,
            800 - work,
            "ncclDevKernel_AllReduce_Sum_f32",
            stream=20,
            **{
                "Collective name": "allreduce",
                "Process Group Name": "0",
                "Process Group Ranks": str(list(range(RANKS))),
                "Seq": step,
            },
        )
        for row in rows:
            calls = row["cat"] == "cuda_runtime"
            if calls:
                row["pid"] = 4000
            arrow = {"ph": "s" if calls else "f", "cat": "ac2g", "name": "ac2g"}
            arrow |= {"id": row["args"]["correlation"], "bp": "e"}
            arrow |= {key: row[key] for key in ("pid", "tid", "ts")}
            events += [row, arrow]
    return trace_of(
        *events,
        distributedInfo={"rank": rank, "world_size": RANKS, "backend": "nccl"},
        baseTimeNanoseconds=BASES_NS[rank],
        host_name=f"node{rank}",
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("job") / "runs"
    for rank in range(RANKS):
        put(runs / f"rank{rank}.json", rank_trace(rank))
    return runs


@pytest.fixture(scope="module")
def job(folder: Path) -> Any:
    return torchtraceap.analyze(folder)


@pytest.fixture(scope="module")
def written(job: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("perfetto") / "job.json"
    job.to_perfetto(path)
    return path


@pytest.fixture(scope="module")
def events(written: Path) -> list[dict[str, Any]]:
    return events_of(strict(written.read_bytes()))


def processes(events: list[dict[str, Any]]) -> dict[int, str]:
    named = [e for e in events if e["name"] == "process_name"]
    assert len({e["pid"] for e in named}) == len(named)
    return {e["pid"]: e["args"]["name"] for e in named}


def test_it_follows_the_format(events: list[dict[str, Any]]) -> None:
    assert list(mistakes(events)) == [] == list(badly_nested(events))


def test_processes_are_named_and_ordered_by_rank(events: list[dict[str, Any]]) -> None:
    names = processes(events)
    assert [names[pid].partition(":")[0] for pid in sorted(names)] == [
        "the job",
        *("rank 0", "rank 0", "rank 1", "rank 1", "rank 2", "rank 2"),
    ]
    order = {
        e["pid"]: e["args"]["sort_index"]
        for e in events
        if e["name"] == "process_sort_index"
    }
    assert sorted(names, key=lambda pid: order[pid]) == sorted(names)
    # Devices that did nothing are not there, and every event has a process.
    assert {e["pid"] for e in events} == set(names)


def test_ids_of_ranks_do_not_meet(events: list[dict[str, Any]]) -> None:
    of_rank: dict[int, set[int]] = {}
    for e in events:
        args = e.get("args", {})
        ids = {args.get("correlation"), args.get("External id"), e.get("id")} - {None}
        of_rank.setdefault(e["pid"] // 1000, set()).update(ids)
    assert len(of_rank) == 1 + RANKS
    assert sum(map(len, of_rank.values())) == len(set().union(*of_rank.values()))
    assert of_rank[2] == {(1 << 32) + number for number in range(1, 2 * STEPS + 1)}


def test_it_loads_as_the_same_job(job: Any, written: Path) -> None:
    ranks = merged_ranks(torchtraceap.load(written))
    assert [(one.rank, one.label) for one in ranks] == [
        (rank, str(rank)) for rank in range(RANKS)
    ]
    again = torchtraceap.analyze([written])
    assert again.facts.slowdown == pytest.approx(job.facts.slowdown)
    assert again.facts.world_size == RANKS
    for report, other in zip(job, again, strict=True):
        assert [f.id for f in report.findings] == [f.id for f in other.findings]
        assert report.quality == other.quality
    for collective, other in zip(
        job.joined_collectives, again.joined_collectives, strict=True
    ):
        assert collective.last == other.last == 1
        for a, b in zip(collective.arrivals, other.arrivals, strict=True):
            assert (a.begin_us, a.end_us) == pytest.approx((b.begin_us, b.end_us))


def test_clocks_are_one(job: Any, events: list[dict[str, Any]]) -> None:
    """Collectives end together, though bases and clocks differ."""
    assert job.ranks[1].clock_shift_us == pytest.approx(-300, abs=1)
    ends: dict[int, list[float]] = {}
    for e in events:
        if "Seq" in e.get("args", {}):
            ends.setdefault(e["args"]["Seq"], []).append(e["ts"] + e["dur"])
    assert len(ends) == STEPS
    for each in ends.values():
        assert len(each) == RANKS
        assert max(each) - min(each) <= job.facts.clock_residual_us + 0.01


def test_the_job_shows_who_waited_for_whom(job: Any, events: list[Any]) -> None:
    ours = [e for e in events if e["pid"] == 1]
    rows = {e["tid"]: e["args"]["name"] for e in ours if e["name"] == "thread_name"}
    assert sorted(rows.values()) == ["rank 0", "rank 1", "rank 2"]
    late = [e for e in ours if e["name"].startswith("late: rank 1: ")]
    waits = [e for e in ours if e["name"].startswith("waits for rank 1: ")]
    assert {rows[e["tid"]] for e in late} == {"rank 1"}
    assert {rows[e["tid"]] for e in waits} == {"rank 0", "rank 2"}
    assert sum(e["dur"] for e in waits) == pytest.approx(job.facts.waited_us)
    arrows = [e for e in ours if e["ph"] in "sf"]
    assert len(arrows) == 2 * len(waits)
    for e in arrows:
        among = late if e["ph"] == "s" else waits
        assert any(
            s["tid"] == e["tid"] and s["ts"] <= e["ts"] < s["ts"] + s["dur"]
            for s in among
        )


def test_a_name_of_gz_is_compressed(job: Any, written: Path, tmp_path: Path) -> None:
    path = tmp_path / "job.json.gz"
    job.to_perfetto(path)
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert plain(path) == written.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["job.json.gz"]


def test_a_trace_of_the_job_is_not_overwritten(job: Any, folder: Path) -> None:
    before = (folder / "rank1.json").read_bytes()
    with pytest.raises(ValueError, match="the trace itself"):
        job.to_perfetto(folder / "rank1.json")
    assert (folder / "rank1.json").read_bytes() == before
    with pytest.raises(ValueError, match="cannot be written"):
        job.to_perfetto(folder / "no" / "job.json")
