# SPDX-License-Identifier: BSD-3-Clause
"""test_dialects.py: other writers of the same events get the same report: Cuspy,
torch's export with annotations of graphs, and who writes spans as beginning and end.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import torchtraceap

from .cuspy import annotated_form, cuspy_form, is_cuda
from .real_traces import PATHS, summed_up
from .slow_loader import parse
from .test_order import figures
from .trace_builder import (
    Event,
    annotation,
    call,
    frame,
    kernel,
    launched,
    op,
    profiler_step,
    report_of,
    trace_of,
)


def form_of(content: bytes) -> Any:
    """A report's figures; counters and nodes of graphs are events of no figure."""
    form = json.loads(torchtraceap.analyze(content).to_json())
    del form["trace"]["events"]
    return figures(without_rows(form))


def without_rows(value: Any) -> Any:
    """Drop the numbers of rows."""
    if isinstance(value, dict):
        return {key: without_rows(v) for key, v in value.items() if key != "index"}
    return [without_rows(v) for v in value] if isinstance(value, list) else value


# --- Cuspy and annotations ------------------------------------------------------------


@pytest.mark.parametrize("form", [cuspy_form, annotated_form])
@pytest.mark.parametrize("name", summed_up())
def test_real_traces(name: str, form: Callable[[bytes], bytes]) -> None:
    text = gzip.decompress(PATHS[name].read_bytes())
    if text.lstrip().startswith(b"["):
        pytest.skip("a list of events, which no new writer makes")
    try:
        document = parse(text)
    except ValueError:
        pytest.skip("the file is cut")
    if not dict(document).get("traceEvents") or not is_cuda(document):
        pytest.skip("not of CUDA")
    # The rewritten form has a graph's id, one for all, by which replays are grouped.
    told, expected = form_of(form(text)), form_of(text)
    assert {**told, "graphs": None} == {**expected, "graphs": None}


def copy(kind: str, source: str, target: str, at: float, correlation: int) -> Event:
    kinds = {"copy kind": kind, "src kind": source, "dst kind": target}
    more = {"bytes": 1 << 20, "correlation": correlation, **kinds}
    return kernel(at, 100, "Memcpy", category="gpu_memcpy", **more)


@pytest.mark.parametrize(
    ("kind", "source", "target", "expected"),
    [
        ("HtoD", "pinned", "device", "Memcpy HtoD (Pinned -> Device)"),
        ("DtoH", "device", "pageable", "Memcpy DtoH (Device -> Pageable)"),
        ("PtoP", "device_static", "managed", "Memcpy PtoP (Device Static -> Managed)"),
        (9, "pageable", 1, "Memcpy HtoH (Pageable -> Pageable)"),
        (77, "novel", 3, "Memcpy Unknown (Unknown -> Device)"),
    ],
)
def test_names_of_copies(kind: Any, source: Any, target: Any, expected: str) -> None:
    trace = torchtraceap.load(trace_of(copy(kind, source, target, 0, 1)))
    assert [trace.strings[id] for id in trace.columns["name"]] == [expected]


def test_names_of_sets() -> None:
    sets = [
        kernel(at, 1, "Memset", category="gpu_memset", **{"memory kind": memory})
        for at, memory in enumerate([3, 0, 99])
    ]
    trace = torchtraceap.load(trace_of(*sets))
    names = [trace.strings[id] for id in trace.columns["name"]]
    assert names == ["Memset (Device)", "Memset (Unknown)", "Memset (Unknown)"]


def test_names_of_others_stay() -> None:
    """Of a kernel, and of a copy that says nothing."""
    plain = kernel(0, 1, "Memcpy", category="gpu_memcpy")
    other = kernel(5, 1, "my_copy", **{"copy kind": "HtoD"})
    trace = torchtraceap.load(trace_of(plain, other))
    names = [trace.strings[id] for id in trace.columns["name"]]
    assert names == ["Memcpy", "my_copy"]


def test_lanes_for_display_are_no_streams() -> None:
    args = {"original_stream": 9, "graph id": 3, "graph node id": 2}
    moved = kernel(0, 1, stream=61, **args)
    asked = kernel(5, 1, stream=9, annotated_stream=61)
    trace = torchtraceap.load(trace_of(moved, asked))
    assert trace.columns["stream"].tolist() == trace.columns["tid"].tolist() == [9, 9]


def test_categories_of_graphs_are_known() -> None:
    nodes = [
        kernel(0, 0, "EventRecord", category="graph_event_node"),
        kernel(1, 5, "HostNode: f", category="graph_host_node"),
    ]
    report = report_of(*launched(1, 0, 10, 50), *nodes)
    assert not any(n.kind == "unknown_category" for n in report.quality.warnings)
    (device,) = report.core.balance
    assert device.busy_ns == 50_000


# --- Spans as beginning and end -------------------------------------------------------


def halves(event: Event, *, names: bool = True, split: bool = False) -> list[Event]:
    """An event as two, args with the first or with the second."""
    args = event.get("args", {})
    where = {key: event[key] for key in ("pid", "tid")}
    begin = {key: value for key, value in event.items() if key not in ("dur", "args")}
    end = where | ({"name": event["name"]} if names else {})
    first = dict(list(args.items())[: len(args) // 2]) if split else args
    second = {key: value for key, value in args.items() if key not in first}
    return [
        {**begin, "ph": "B", **({"args": first} if first else {})},
        {
            **end,
            "ph": "E",
            "ts": event["ts"] + event["dur"],
            **({"args": second} if second else {}),
        },
    ]


def as_halves(events: list[Event], **how: bool) -> list[Event]:
    return [
        half
        for event in events
        for half in (halves(event, **how) if event["ph"] == "X" else [event])
    ]


def in_time(events: list[Event], **how: bool) -> list[Event]:
    """The same thread by thread, each half in order of time, as the format asks."""
    out, stack = [], []
    for event in sorted(
        events, key=lambda e: (str(e["pid"]), e["tid"], e["ts"], -e["dur"])
    ):
        where = event["pid"], event["tid"]
        while stack and (stack[-1][0] != where or stack[-1][1] <= event["ts"]):
            out.append(stack.pop()[2])
        first, last = halves(event, **how)
        out.append(first)
        stack.append((where, last["ts"], last))
    return out + [last for _, _, last in stack[::-1]]


def job() -> list[Event]:
    """Steps with operators in frames, launches, kernels, copies and a wait."""
    events = []
    for step in range(4):
        at = step * 10_000
        events += [
            profiler_step(step, at, 9_900),
            frame("train.py(12): step", at + 10, 9_000),
            op("aten::linear", at + 20, 500, **{"Input Dims": [[8, 8], [8, 8]]}),
            op("aten::addmm", at + 30, 400),
            op("aten::relu", at + 520, 100),
            op("aten::relu", at + 620, 100),
            annotation("loss", at + 720, 0),
            *launched(10 * step + 1, at + 40, at + 60, 2_000, grid=[4, 1, 1]),
            *launched(10 * step + 2, at + 530, at + 2_060, 3_000, "relu"),
            call("cudaMemcpyAsync", at + 800, 10, 10 * step + 3),
            kernel(
                at + 5_060,
                50,
                "Memcpy DtoH (Device -> Pageable)",
                category="gpu_memcpy",
                correlation=10 * step + 3,
                bytes=64,
            ),
            call("cudaStreamSynchronize", at + 820, 4_300, 10 * step + 4),
        ]
    return events


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_beginnings_and_ends_are_spans(names: bool, split: bool) -> None:
    events = job()
    two = (as_halves if names else in_time)(events, names=names, split=split)
    expected = form_of(trace_of(*events))
    assert form_of(trace_of(*two)) == expected
    for seed in range(3) if names else ():
        shuffled = random.Random(seed).sample(two, len(two))
        assert form_of(trace_of(*shuffled)) == expected, seed
    loaded = torchtraceap.load(trace_of(*two))
    assert set(loaded.columns["phase"]) == {b"X"}
    assert len(loaded) == len(events)
    assert loaded.warnings == []


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_halves_in_different_blocks(threads: int) -> None:
    """A span may begin in one thread's text and end in another's."""
    many = [op(f"aten::{i % 7}", 10 * i, 8, Sequence=i) for i in range(20_000)]
    outer = op("aten::all", 0, 200_000)
    content = trace_of(*as_halves([outer, *many]))
    trace = torchtraceap.load(content, threads=threads)
    assert trace.columns["dur"].tolist() == [200_000_000] + [8_000] * 20_000


def spans_of(*events: Event) -> list[tuple[str, int, int]]:
    trace = torchtraceap.load(trace_of(*events))
    columns = trace.columns
    spans = zip(columns["name"], columns["ts"], columns["dur"], strict=True)
    return [(trace.strings[n], ts // 1000, dur // 1000) for n, ts, dur in spans if n]


def half(phase: str, ts: int, name: str = "", cat: str = "cpu_op") -> Event:
    more = ({"name": name} if name else {}) | ({"cat": cat} if cat else {})
    return {"ph": phase, "ts": ts, "pid": 1, "tid": 1, **more}


def test_an_end_closes_the_innermost() -> None:
    a, b = half("B", 0, "a"), half("B", 2, "b")
    ends = [half("E", 5, cat=""), half("E", 9, cat="")]
    assert spans_of(a, b, *ends) == [("a", 0, 9), ("b", 2, 3)]
    recursive = [half("B", 0, "f"), half("B", 2, "f"), half("E", 5, "f")]
    assert spans_of(*recursive, half("E", 9, "f")) == [("f", 0, 9), ("f", 2, 3)]


@pytest.mark.parametrize("seed", range(6))
def test_what_happens_at_one_moment(seed: int) -> None:
    """Ends first, then beginnings, then what takes no time; names decide."""
    rows = [
        *(half("B", 0, "outer"), half("B", 0, "inner"), half("B", 0, "deep")),
        *(half("E", 3, "deep"), half("E", 4, "inner")),
        *(half("B", 4, "next"), half("E", 7, "next")),
        *(half("B", 7, "none"), half("E", 7, "none")),
        *(half("B", 7, "last"), half("E", 9, "last"), half("E", 9, "outer")),
    ]
    random.Random(seed).shuffle(rows)
    assert sorted(spans_of(*rows)) == [
        *(("deep", 0, 3), ("inner", 0, 4), ("last", 7, 2), ("next", 4, 3)),
        *(("none", 7, 0), ("outer", 0, 9)),
    ]


def test_what_has_no_other_half_is_counted() -> None:
    rows = [half("B", 5, "open"), half("E", 1), half("E", 2, cat="")]
    trace = torchtraceap.load(trace_of(op("aten::add", 0, 9), *rows))
    counted = {warning.kind: warning.count for warning in trace.warnings}
    assert counted == {"unclosed_span": 1, "stray_end": 2}
    assert sorted(trace.columns["phase"]) == [b"B", b"X"]
    report = torchtraceap.analyze(trace)
    kinds = {note.kind for note in report.quality.warnings}
    assert {"unclosed_span", "stray_end"} <= kinds
    assert report.quality.verdict == "degraded"


def test_spans_of_no_category_stay_as_they_are() -> None:
    """Other profilers' are in no figure, and Horovod's are read from the rows."""
    rows = [half("B", 0, "x", ""), half("E", 5, cat=""), half("E", 6, cat="")]
    trace = torchtraceap.load(trace_of(*rows))
    assert trace.columns["phase"].tolist() == [b"B", b"E", b"E"]
    assert trace.warnings == []


def test_args_of_both_halves() -> None:
    begin = half("B", 0, "cudaLaunchKernel", "cuda_runtime") | {"args": {"cbid": 211}}
    end = half("E", 5, cat="") | {"args": {"correlation": 7}}
    kernels = [kernel(10, 50, correlation=7)]
    report = report_of(begin, end, *kernels)
    assert report.quality.linking_rate == 1
    dims = {"Input Dims": [[2, 3], [3, 4]]}
    first, last = halves(op("aten::mm", 0, 5))
    trace = torchtraceap.load(trace_of(first, last | {"args": dims}))
    assert [json.loads(text) for text in trace.read_args([0])] == [dims]


def test_a_part_of_a_file() -> None:
    """Spans are whole before what is outside of it is left out."""
    events = job()
    whole, two = trace_of(*events), trace_of(*as_halves(events))
    for options in ({"time_range_us": (15_000, 25_000)}, {"steps": 2}):
        mine = torchtraceap.load(two, **options)
        theirs = torchtraceap.load(whole, **options)
        for name in ("ts", "dur", "correlation"):
            assert mine.columns[name].tolist() == theirs.columns[name].tolist()
    only = torchtraceap.load(two, categories=["cpu_op"])
    assert len(only) == len(torchtraceap.load(whole, categories=["cpu_op"]))


# --- Thousands of processes or devices ------------------------------------------------


@pytest.mark.parametrize("kind", ["processes", "devices"])
def test_too_many_are_refused(kind: str) -> None:
    def some(number: int) -> list[Event]:
        if kind == "processes":
            return [op("aten::add", i, 5, pid=i) for i in range(number)]
        return [
            event
            for i in range(number)
            for event in launched(i + 1, i, i + 9, 5, device=i)
        ]

    assert report_of(*some(2_048)).core.balance
    with pytest.raises(torchtraceap.TraceError, match=f"2049 {kind}") as refused:
        report_of(*some(2_049))
    assert refused.value.kind == f"too_many_{kind}"
