# SPDX-License-Identifier: BSD-3-Clause
"""test_html_timeline.py: what the page draws, against the columns of the trace."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.views.html.colors import slice_color

from .raw_trace import union
from .real_traces import DATA, SOUND
from .trace_builder import deep_trace

HOST = {"cpu_op", "user_annotation", "python_function", "overhead", "cpu_instant_event"}
WORK = {"kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op"}


class Slice(NamedTuple):
    """A slice as the page has it, in nanoseconds from the start."""

    begin: int
    end: int
    row: int
    event: int
    count: int
    busy: int
    color: int  # The number of its name.


def drawn(report: torchtraceap.Report) -> dict[str, Any]:
    """Return what the page's script reads."""
    script = re.search(r'id="data">(.*?)</script>', report.to_html(), re.DOTALL)
    assert script
    data: dict[str, Any] = json.loads(script[1])
    return data


def slices(lane: dict[str, Any]) -> Iterator[Slice]:
    begin = 0
    for i, step in enumerate(lane["start"]):
        begin += step
        length, event = lane["length"][i], lane["event"][i]
        count, busy = lane["merged"].get(str(i), (1, length))
        end, color = begin + length, lane["color"][i]
        yield Slice(begin, end, lane["row"][i], event, count, busy, color)


def parts(data: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the lanes of the whole, then of each closer look."""
    yield data["lanes"]
    for detail in data["details"]:
        yield list(detail["lanes"].values())


def on_epoch_clock(path: Path) -> bytes:
    """Return a trace with its times, and their nanoseconds, on today's clock."""
    text = gzip.decompress(path.read_bytes()).decode()

    def later(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) + 1_700_000_000_000_000}{found[3]}"

    moved, count = re.subn(r'("ts": ?)(\d+)(\.\d+)', later, text)
    assert count > 1000
    return moved.encode()


def check_times(report: torchtraceap.Report) -> int:
    """Compare all that the page draws alone with the columns, to the nanosecond."""
    data, columns = drawn(report), report.loaded.columns
    origin, end = report.core.trace.start_ns, report.core.trace.end_ns
    assert data["span"] == end - origin
    starts, lengths = columns["ts"] - origin, columns["dur"]
    alone = [s for part in parts(data) for x in part for s in slices(x) if s.event >= 0]
    for s in alone:
        assert s.begin == starts[s.event]
        # An event that something nested outlasts is drawn up to its parent's end.
        assert s.end - s.begin == pytest.approx(lengths[s.event], abs=1_000)
    exact = sum(s.end - s.begin == lengths[s.event] for s in alone)
    assert exact >= 0.9 * len(alone)
    for finding, shown in zip(report.findings, data["findings"], strict=True):
        assert shown["events"] == [
            [e.index, starts[e.index], lengths[e.index]] for e in finding.events
        ]
    for step, shown in zip(report.steps, data["steps"], strict=False):
        at_us = [step.start_us, step.end_us]
        assert [(x + origin) / 1000 for x in shown[1:]] == at_us
    return len(alone)


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_times_are_those_of_the_trace(path: Path) -> None:
    report = torchtraceap.analyze(path)
    if report.loaded.columns["ts"].size:
        check_times(report)


def test_times_of_a_clock_of_today_are_exact() -> None:
    """As floats of microseconds they would be wrong by a quarter of one."""
    trace = on_epoch_clock(DATA / "h100-vit-nsfw-inference.json.gz")
    report = torchtraceap.analyze(trace)
    assert report.trace.start_us > 1.7e15
    assert check_times(report) > 1000


def rows_of(trace: torchtraceap.Trace, lane: _core.DrawnLane | None = None) -> Any:
    """Return the events of a lane, or of any, by their columns."""
    c = trace.columns
    names = np.array(trace.category_names)[c["category"]]
    timed = (c["phase"] == b"X") & (c["dur"] >= 0) & (np.abs(c["ts"]) < 2**61)
    calls = np.char.endswith(names, "_runtime") | np.char.endswith(names, "_driver")
    host = timed & (np.isin(names, list(HOST)) | calls)
    work = timed & np.isin(names, list(WORK))
    chosen = host | work
    if lane is not None and lane.is_stream:
        chosen = work & (c["device"] == lane.device) & (c["stream"] == lane.stream)
    elif lane is not None:
        chosen = host & (c["pid"] == lane.pid) & (c["tid"] == lane.tid)
    return np.flatnonzero(chosen)


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
def test_each_event_is_in_one_slice_of_its_lane(path: Path) -> None:
    """Alone, or merged with its neighbors: then their time and color are shown."""
    report = torchtraceap.analyze(path)
    data, origin = drawn(report), report.core.trace.start_ns
    lanes = report.core.lanes(10**9).lanes
    everything = sorted(lanes, key=lambda lane: not lane.is_stream)
    assert sum(lane.events for lane in everything) == len(rows_of(report.loaded))
    color_of = [slice_color(name) for name in _core.category_names()]
    alone = set[int]()
    for lane, shown in zip(everything, data["lanes"], strict=True):
        assert lane.events == len(rows_of(report.loaded, lane))
        assert lane.events == len(lane.slices) + lane.hidden
        alone |= {s.event for s in slices(shown)}
        if len(lane.slices) != sum(s.count for s in slices(shown)):
            continue  # It is drawn with fewer rows, of which the last has the rest.
        rest = iter(lane.slices)
        for s in slices(shown):
            parts = [next(rest) for _ in range(s.count)]
            times = Counter[int]()
            for begin, end, _, category, *_ in parts:
                times[category] += end - begin + 1
            most = {c for c in times if times[c] == max(times.values())}
            assert data["names"][s.color] in {color_of[c] for c in most}
            spans = [(begin - origin, end - origin) for begin, end, *_ in parts]
            assert s.busy == sum(end - begin for begin, end in union(spans))
            assert (s.begin, s.end) == (min(spans)[0], max(end for _, end in spans))
            assert {part[-1] for part in parts} == {s.row}
            assert s.count > 1 or s.event == parts[0][2]
    assert {e.index for f in report.findings for e in f.events} <= alone


@pytest.mark.parametrize("threads", [1, 200])
def test_no_depth_is_too_deep_for_evidence(threads: int) -> None:
    report = torchtraceap.analyze(deep_trace(threads))
    data = drawn(report)
    evidence = {e.index for f in report.findings for e in f.events}
    assert len(evidence) > 5
    found = [s for x in data["lanes"] for s in slices(x) if s.event in evidence]
    assert {s.event for s in found} == evidence and len(found) == len(evidence)
    if threads == 1:
        assert max(s.row for s in found) > 24
    whole = report.core.lanes(9_000).lanes
    assert data["hidden"] == sum(lane.hidden for lane in whole)
    assert len(data["lanes"]) == len(whole)


def test_closer_looks_surround_evidence() -> None:
    """The costliest event of each finding is in the middle of one, or inside one."""
    report = torchtraceap.analyze(DATA / "kineto2021-v100-resnet50-workers4.json.gz")
    data = drawn(report)
    assert len(data["details"]) > 5
    looks = [(detail["begin"], detail["end"]) for detail in data["details"]]
    all_events = [event for f in data["findings"] for event in f["events"]]
    for begin, end in looks:
        assert any(
            begin == at - around and end == at + length + around
            for _, at, length in all_events
            for around in [max(length, 1_000)]
        )
    _, at, length = data["findings"][0]["events"][0]
    assert any(begin < at and at + length < end for begin, end in looks)
