# SPDX-License-Identifier: BSD-3-Clause
"""test_lanes.py: drawn lanes against the columns, added up with NumPy."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core

from .real_traces import SOUND

WORK = {"kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op"}
HOST = {"cpu_op", "user_annotation", "python_function", "overhead", "cpu_instant_event"}
ALL = 10**9


class Drawn(NamedTuple):
    """A slice in nanoseconds: floats of today's microseconds are not exact."""

    begin: int
    end: int
    row: int | None
    category: int
    count: int
    busy: int
    depth: int


def slices_of(lane: _core.DrawnLane) -> list[Drawn]:
    return [Drawn(*s) for s in lane.slices]


class Case:
    def __init__(self, path: Path) -> None:
        self.report = torchtraceap.analyze(path)
        trace = self.report._trace
        columns = trace.columns
        names = np.array(trace.category_names)[columns["category"]]
        timed = (columns["phase"] == b"X") & (columns["dur"] >= 0)
        timed &= (columns["ts"] > -(2**61)) & (columns["ts"] < 2**61)
        runtime = np.char.endswith(names, "_runtime") | np.char.endswith(
            names, "_driver"
        )
        self.host = timed & (np.isin(names, list(HOST)) | runtime)
        self.work = timed & np.isin(names, list(WORK))
        self.columns, self.names, self.trace = columns, names, trace
        self.everything = self.draw(ALL)

    def draw(self, limit: int) -> list[_core.DrawnLane]:
        return self.report._core.lanes(limit).lanes

    def rows(self, lane: _core.DrawnLane) -> Any:
        """The rows of a lane."""
        c = self.columns
        if lane.is_stream:
            mine = self.work & (c["device"] == lane.device)
            mine &= c["stream"] == lane.stream
        else:
            mine = self.host & (c["pid"] == lane.pid) & (c["tid"] == lane.tid)
        return np.flatnonzero(mine)


def union_ns(begins: Any, ends: Any) -> int:
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], ends[order]
    reached = np.maximum.accumulate(ends)
    starts = np.maximum(begins[1:], reached[:-1])
    rest = np.maximum(0, ends[1:] - starts).sum()
    return int(rest + (ends[0] - begins[0])) if len(begins) else 0


@pytest.fixture(scope="module", params=SOUND, ids=lambda path: path.name)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.mark.parametrize("limit", [ALL, 3_000, 200])
def test_every_event_counts_once_and_time_is_the_union(case: Case, limit: int) -> None:
    lanes = case.draw(limit)
    assert sum(len(lane.slices) for lane in lanes) <= limit
    for lane in lanes:
        rows = case.rows(lane)
        slices = slices_of(lane)
        assert len(rows) == lane.events
        assert sum(s.count for s in slices) + lane.hidden == lane.events
        begins = case.columns["ts"][rows]
        ends = begins + case.columns["dur"][rows]
        assert lane.busy_ns == union_ns(begins, ends)
        # Merged or not, slices reach over all that the lane did.
        firsts = np.array([s.begin for s in slices])
        lasts = np.array([s.end for s in slices])
        covered = union_ns(firsts, lasts)
        both = np.concatenate([begins, firsts]), np.concatenate([ends, lasts])
        assert covered == union_ns(*both)
        if limit == ALL:
            assert covered == lane.busy_ns


def test_all_lanes_of_a_trace_are_there(case: Case) -> None:
    whole = case.report.lanes(ALL)
    assert len(whole) == len(case.everything)
    assert (whole.left_out, whole.resolution_us) == (0, 0)
    drawn = sum(lane.events for lane in case.everything)
    outliers = case.report.quality.warnings
    assert not [n for n in outliers if n.kind == "outlier_times"]
    assert drawn == case.host.sum() + case.work.sum()


@pytest.mark.parametrize("limit", [5_000, 800, 100])
def test_a_named_slice_is_its_event(case: Case, limit: int) -> None:
    c = case.columns
    for lane in case.report.lanes(limit):
        for s in lane.slices:
            assert (s.index is None) == (s.name == "" and s.count > 1)
            if s.index is None:
                continue
            assert s.count == 1
            assert s.name == case.trace.name(s.index)
            assert s.category == case.names[s.index]
            assert s.start_us == int(c["ts"][s.index]) / 1000
            assert s.duration_us == s.busy_us == int(c["dur"][s.index]) / 1000


def depths(lane: _core.DrawnLane) -> dict[int, list[Drawn]]:
    """Slices by depth, as the lane has them: that is their order, too."""
    groups = groupby(slices_of(lane), itemgetter(Drawn._fields.index("depth")))
    return {depth: list(slices) for depth, slices in groups}


@pytest.mark.parametrize("limit", [10_000, 1_500, 400])
def test_merged_slices_are_their_events_in_a_row(case: Case, limit: int) -> None:
    whole = {(x.is_stream, x.tid, x.stream, x.device): x for x in case.everything}
    compared = 0
    for lane in case.draw(limit):
        all_of = depths(whole[lane.is_stream, lane.tid, lane.stream, lane.device])
        for depth, slices in depths(lane).items():
            if sum(s.count for s in slices) != len(all_of[depth]):
                continue  # The last of fewer depths, which takes what overlaps.
            compared += 1
            rest = iter(all_of[depth])
            for s in slices:
                parts = [next(rest) for _ in range(s.count)]
                begins = np.array([p.begin for p in parts])
                ends = np.array([p.end for p in parts])
                assert (s.begin, s.end) == (begins.min(), ends.max())
                assert s.busy == union_ns(begins, ends)
                times = Counter[int]()
                for p in parts:
                    times[p.category] += p.end - p.begin + 1
                assert times[s.category] == max(times.values())
                if s.count == 1:
                    assert s == parts[0]
    assert compared


def test_evidence_of_findings_is_never_merged(case: Case) -> None:
    shown = {s.index for lane in case.report.lanes(2_000) for s in lane.slices}
    for finding in case.report.findings:
        assert {event.index for event in finding.events} <= shown


def test_a_closer_look_shows_what_was_merged(slow_loader: torchtraceap.Report) -> None:
    views = slow_loader.lanes(2_000)
    merged = max((s for lane in views for s in lane.slices), key=lambda s: s.count)
    assert merged.count > 3
    start, end = merged.start_us, merged.start_us + merged.duration_us
    closer = slow_loader.lanes(2_000, start, end)
    assert closer.resolution_us < views.resolution_us / 10
    names = [s for lane in closer for s in lane.slices if s.name]
    assert len(names) > merged.count
    for lane in closer:
        assert all(s.start_us < end for s in lane.slices)
        assert all(s.start_us + s.duration_us >= start for s in lane.slices)


def test_lanes_say_who_they_are(slow_loader: torchtraceap.Report) -> None:
    kinds = [(lane.kind, lane.device) for lane in slow_loader.lanes()]
    assert kinds == [("thread", None), ("thread", None), ("stream", 0)]
    stream = slow_loader.lanes()[-1]
    assert (stream.name, stream.number, stream.process) == ("stream 7", 7, 0)
    main = slow_loader.lanes()[0]
    assert main.name.startswith(f"thread {main.number}")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"limit": 0}, ValueError),
        ({"limit": 1.5}, TypeError),
        ({"start_us": 5, "end_us": 5}, ValueError),
        ({"start_us": float("nan")}, ValueError),
        ({"end_us": float("inf")}, ValueError),
        ({"start_us": "1"}, TypeError),
    ],
)
def test_arguments_are_checked(
    cpu_only: torchtraceap.Report, arguments: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(arguments)) + "|must be"):
        cpu_only.lanes(**arguments)
