# SPDX-License-Identifier: BSD-3-Clause
"""test_merged.py: each rank of a merged file is analyzed as its own file would be."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.ranks.merged import merged_ranks

from ..trace_builder import trace_of

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

    # A shift leaves texts as they are ("Spans"), and devices without work are nobody's.
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
