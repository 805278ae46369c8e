# SPDX-License-Identifier: BSD-3-Clause
"""test_pftrace.py: Perfetto's packets are read and written as JSON is.

Perfetto's own protos, in the package `perfetto`, make and read them here.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import TraceError, analyze, load

from .cuspy import cuspy_form
from .pftrace import (
    BEGIN,
    COUNTER,
    END,
    INSTANT,
    Packets,
    annotate,
    pb,
    slices_form,
    torch_form,
)
from .real_traces import DATA

FILES = sorted(path for path in DATA.glob("*.json.gz"))
RECORDED = DATA / "h100-vit-nsfw-inference.json.gz"
SMALL = DATA / "a100-event-sync-3streams-tiny.json.gz"


def number(text: str) -> float:
    return int(float(text)) if float(text).is_integer() else float(text)


def rows(trace: Any) -> Counter[tuple[Any, ...]]:
    """Return the events of a trace: without those that name processes and threads, and
    arrows without their names, which Perfetto's do not have."""
    columns = trace.columns
    args = trace.read_args(range(len(trace)))
    return Counter(
        (
            phase,
            trace.category_names[columns["category"][row]],
            trace.name(row) if phase not in "sf" else "",
            int(columns["ts"][row]),
            int(columns["dur"][row]),
            trace.identity(int(columns["pid"][row])),
            trace.identity(int(columns["tid"][row])),
            json.dumps(
                json.loads(args[row] or "{}", parse_float=number), sort_keys=True
            ),
        )
        for row, phase in enumerate(columns["phase"].tobytes().decode())
        if phase != "M"
    )


def facts(report: Any) -> Any:
    """Return the JSON form of a report without what a file's size and path decide."""

    def strip(form: Any) -> Any:
        if isinstance(form, list):
            return [strip(each) for each in form]
        if not isinstance(form, dict):
            return form
        own = ("path", "index", "events") if "path" in form else ("path", "index")
        return {key: strip(value) for key, value in form.items() if key not in own}

    return strip(report.to_dict())


def loaded(packets: Packets, **options: Any) -> Any:
    return load(packets.bytes(), **options)


def one_slice(annotation: Callable[[Any], None] = lambda event: None) -> Packets:
    packets = Packets()
    packets.thread(1, 0, 10, 11, "main")
    annotation(packets.slice(1000, 3500, 1, "aten::add"))
    return packets


# --- Written and read again ----------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:24])
def test_a_written_trace_has_the_same_report(path: Path, tmp_path: Path) -> None:
    written = tmp_path / "trace.pftrace"
    torchtraceap._core.write_pftrace(str(path), str(written))
    assert facts(analyze(written)) == facts(analyze(path))
    first, second = rows(load(path)), rows(load(written))
    lost = Counter(row[0] for row in (first - second).elements())
    assert not lost - Counter(i=1)  # whose thread has no name


def test_deeply_nested_args_are_read_back(tmp_path: Path) -> None:
    """The reader follows 64 levels; deeper ones are written as text of JSON."""
    nested = "[" * 90 + "]" * 90
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1}
    trace = {"traceEvents": [event | {"ts": 1, "dur": 5, "args": {"deep": 0}}]}
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(trace).replace('"deep": 0', f'"deep": {nested}'))
    out = tmp_path / "deep.pftrace"
    torchtraceap._core.write_pftrace(str(path), str(out))
    (args,) = load(out).read_args([0])
    assert json.loads(args) == {"deep": json.loads(nested)}


def test_perfetto_reads_what_is_written(tmp_path: Path) -> None:
    written = tmp_path / "trace.pftrace"
    torchtraceap._core.write_pftrace(str(RECORDED), str(written))
    trace = pb.Trace.FromString(written.read_bytes())
    names: dict[int, str] = {}
    tracks: dict[int, Any] = {}
    opened: dict[int, list[tuple[int, str]]] = {}
    found: Counter[tuple[str, int, int]] = Counter()
    for packet in trace.packet:
        names.update((n.iid, n.name) for n in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        event = packet.track_event
        if event.type == BEGIN:
            begin = (packet.timestamp, names[event.name_iid])
            opened.setdefault(event.track_uuid, []).append(begin)
        elif event.type == END:
            begin = opened[event.track_uuid].pop()
            found[begin[1], begin[0], packet.timestamp - begin[0]] += 1
    assert not any(opened.values())
    assert all(
        track.parent_uuid in tracks for track in tracks.values() if track.parent_uuid
    )
    assert found == Counter(row[2:5] for row in rows(load(RECORDED)) if row[0] == "X")


def test_outputs_with_that_name_are_packets(tmp_path: Path) -> None:
    report = analyze(SMALL)
    plain, packed = tmp_path / "copy.pftrace", tmp_path / "copy.pftrace.gz"
    report.to_perfetto(plain)
    report.to_perfetto(packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert pb.Trace.FromString(plain.read_bytes()).packet
    report.to_perfetto(tmp_path / "copy.json")
    copy = rows(load(tmp_path / "copy.json"))
    assert {row for row in copy if row[0] == "X"} == {
        row for row in rows(load(packed)) if row[0] == "X"
    }
    assert "C" in {row[0] for row in rows(load(packed))}


def test_a_folder_of_ranks_may_have_packets(tmp_path: Path) -> None:
    for rank in (0, 1):
        text = gzip.decompress(SMALL.read_bytes())
        text = text.replace(b'"rank": 0', b'"rank": %d' % rank)
        written = tmp_path / f"rank{rank}_trace.pftrace"
        torchtraceap._core.write_pftrace(text, str(written))
    assert [row.rank for row in analyze(tmp_path).ranks] == [0, 1]


# --- What torch writes ---------------------------------------------------------------


@pytest.mark.parametrize("form", [torch_form, slices_form])
@pytest.mark.parametrize("path", [RECORDED, SMALL], ids=["h100", "a100"])
def test_torchs_packets_have_the_report_of_its_json(
    form: Callable[[bytes], bytes], path: Path
) -> None:
    text = gzip.decompress(path.read_bytes())
    # The packets describe no device, and name no launch's operator.
    document = json.loads(cuspy_form(text))
    del document["deviceProperties"]
    by_json = analyze(json.dumps(document).encode())
    by_packets = analyze(form(text))
    assert [s.balance for s in by_packets.steps] == [s.balance for s in by_json.steps]
    assert [(f.pattern, f.count, f.wasted_us) for f in by_packets.findings] == [
        (f.pattern, f.count, f.wasted_us) for f in by_json.findings
    ]
    kinds = Counter(row[1] for row in rows(load(form(text))) if row[0] == "X")
    expected = Counter(row[1] for row in rows(load(text)) if row[0] == "X")
    del expected["Trace"], expected["overhead"]
    assert kinds == expected
    assert not load(form(text)).warnings


def test_counters_of_a_device_are_rows() -> None:
    trace = load(torch_form(gzip.decompress(SMALL.read_bytes())))
    found = sorted(row for row in rows(trace) if row[0] == "C")
    assert [(row[2], row[3], row[5], row[7]) for row in found[:2]] == [
        ("Power (W)", 1000, "GPU 0 Counters", '{"": 350.5}'),
        ("Power (W)", 1001, "GPU 0 Counters", '{"": 351.5}'),
    ]
    assert len(found) == 6


# --- What packets may say ------------------------------------------------------------


def test_args_are_what_annotations_are() -> None:
    args = {
        "External id": 7,
        "half": 0.5,
        "yes": True,
        "text": 'a "quoted"\n\x01 line é',
        "list": [[1, 2], [], {"deep": [3.25, "x"]}],
        "large": 2**64 - 1,
        "none": None,
    }

    def fill(event: Any) -> None:
        annotate(event, {key: args[key] for key in ("External id", "half", "yes")})
        annotate(event, {"text": args["text"]})
        event.debug_annotations.add(
            name="list", legacy_json_value=json.dumps(args["list"])
        )
        event.debug_annotations.add(name="large", uint_value=2**64 - 1)
        event.debug_annotations.add(name="none", string_value="null")

    (row,) = rows(loaded(one_slice(fill)))
    assert json.loads(row[7]) == args
    assert row[:7] == ("X", "cpu_op", "aten::add", 1000, 2500, 10, 11)


def interned(packets: Packets) -> None:
    data = packets.add().interned_data
    data.debug_annotation_names.add(iid=4, name="key")
    data.debug_annotation_string_values.add(iid=9, str=b"value")
    data.event_categories.add(iid=2, name="cpu_op")
    event = packets.slice(1, 2, 1, "x")
    event.category_iids.append(2)
    event.debug_annotations.add(name_iid=4, string_value_iid=9)


def described_later(packets: Packets) -> None:
    packets.slice(1, 2, 5, "x").categories.append("cpu_op")
    packets.thread(5, 0, 10, 11, "main")


def on_a_child(packets: Packets) -> None:
    child = packets.add().track_descriptor
    child.uuid, child.parent_uuid, child.name = 6, 1, "overlapping"
    packets.event(1, BEGIN, 1, "x").categories.append("cpu_op")
    packets.event(2, BEGIN, 6, "y").categories.append("cpu_op")
    packets.event(3, END, 1)
    packets.event(5, END, 6)


def in_another_clock(packets: Packets) -> None:
    snapshot = packets.add().clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=1_000_000)
    snapshot.clocks.add(
        clock_id=64, timestamp=0, is_incremental=True, unit_multiplier_ns=1000
    )
    packets.add().trace_packet_defaults.timestamp_clock_id = 64
    packets.event(3, BEGIN, 1, "x").categories.append("cpu_op")
    packets.event(4, END, 1)


def compressed(packets: Packets) -> None:
    inner = Packets()
    inner.slice(1, 2, 1, "x").categories.append("cpu_op")
    data = zlib.compress(inner.bytes())
    packets.trace.packet.add(compressed_packets=data)


def ended_in_order_of_beginnings(packets: Packets) -> None:
    """As torch writes groups: with an overlap and a slice of no length."""
    for begin, name in ((0, "a"), (10, "b"), (20, "c")):
        packets.event(begin, BEGIN, 1, name).categories.append("cpu_op")
    for end in (15, 30, 20):
        packets.event(end, END, 1)


def with_args_at_the_end(packets: Packets) -> None:
    packets.event(1, BEGIN, 1, "x").categories.append("cpu_op")
    annotate(packets.event(3, END, 1), {"key": "value"})


@pytest.mark.parametrize(
    ("add", "expected"),
    [
        (interned, [("x", 1, 1, '{"key": "value"}')]),
        (described_later, [("x", 1, 1, "{}")]),
        (on_a_child, [("x", 1, 2, "{}"), ("y", 2, 3, "{}")]),
        (in_another_clock, [("x", 1_003_000, 4000, "{}")]),
        (compressed, [("x", 1, 1, "{}")]),
        (
            ended_in_order_of_beginnings,
            [("a", 0, 15, "{}"), ("b", 10, 20, "{}"), ("c", 20, 0, "{}")],
        ),
        (with_args_at_the_end, [("x", 1, 2, '{"key": "value"}')]),
    ],
)
def test_forms_of_packets(
    add: Callable[[Packets], None], expected: list[tuple[Any, ...]]
) -> None:
    packets = Packets()
    packets.name("unused")
    packets.thread(1, 0, 10, 11, "main")
    add(packets)
    found = sorted((row[2], row[3], row[4], row[7]) for row in rows(loaded(packets)))
    assert found == expected
    assert {row[5:7] for row in rows(loaded(packets))} == {(10, 11)}


def test_flows_instants_and_counters() -> None:
    packets = one_slice(lambda event: event.flow_ids.append(5))
    packets.slice(5000, 6000, 1, "aten::mul").terminating_flow_ids.append(5)
    packets.event(7000, INSTANT, 1, "mark")
    track = packets.add().track_descriptor
    track.uuid, track.parent_uuid, track.name = 9, 1, "power"
    track.counter.unit_multiplier = 10
    packets.event(8000, COUNTER, 9).counter_value = 3
    found = {row[0]: row for row in rows(loaded(packets)) if row[0] != "X"}
    assert sorted(found) == ["C", "f", "i", "s"]
    assert found["C"][2:4] == ("power", 8000) and found["C"][7] == '{"": 30}'
    assert found["s"][3] == 1000 and found["f"][3] == 5000


# --- Bad files -----------------------------------------------------------------------


def test_a_cut_file_gives_what_precedes_the_cut() -> None:
    data = slices_form(gzip.decompress(SMALL.read_bytes()))
    whole = rows(load(data))
    for cut in range(1, len(data), 97):
        try:
            load(data[:cut])
        except TraceError as error:
            assert error.kind in ("pftrace_truncated", "empty")
            assert error.hint
        if cut > 4000:
            part = load(data[:cut], recover=True)
            closed = Counter(r for r in rows(part) if r[0] == "X")
            assert not closed - whole


def unknown_text(packets: Packets) -> None:
    packets.event(1, BEGIN, 1).name_iid = 77


def nested(packets: Packets) -> None:
    annotation = packets.event(1, BEGIN, 1, "x").debug_annotations.add(name="k")
    for _ in range(80):
        annotation = annotation.array_values.add()


def twice_compressed(packets: Packets) -> None:
    inner = Packets()
    inner.trace.packet.add(compressed_packets=b"x")
    packets.trace.packet.add(compressed_packets=zlib.compress(inner.bytes()))


def huge(packets: Packets) -> None:
    data = zlib.compress(bytes(1 << 26))
    packets.trace.packet.add(compressed_packets=data)


@pytest.mark.parametrize("add", [unknown_text, nested, twice_compressed, huge])
def test_a_bad_packet_is_refused_or_skipped(add: Callable[[Packets], None]) -> None:
    packets = one_slice()
    add(packets)
    packets.slice(9000, 9500, 1, "aten::mul")
    with pytest.raises(TraceError) as refused:
        loaded(packets)
    assert refused.value.kind == "pftrace_damaged"
    assert refused.value.offset > 0 and "byte" in str(refused.value)
    trace = loaded(packets, recover=True)
    assert {row[2] for row in rows(trace) if row[0] == "X"} == {
        "aten::add",
        "aten::mul",
    }
    (warning,) = trace.warnings
    assert (warning.kind, warning.count) == ("pftrace_damaged", 1)


def test_halves_without_the_other_are_counted() -> None:
    packets = one_slice()
    packets.event(4000, END, 1)
    packets.event(5000, BEGIN, 1, "aten::mul").categories.append("cpu_op")
    kinds = {warning.kind: warning.count for warning in loaded(packets).warnings}
    assert kinds == {"unclosed_span": 1, "stray_end": 1}


def test_odd_tracks_end_nothing() -> None:
    packets = one_slice()
    for uuid, parent in ((20, 21), (21, 20), (22, 22)):
        track = packets.add().track_descriptor
        track.uuid, track.parent_uuid, track.name = uuid, parent, f"circle {uuid}"
        packets.slice(1, 2, uuid, "x")
    for uuid in range(1000, 21_000):
        packets.event(uuid, INSTANT, uuid)
    assert len(rows(loaded(packets))) == 20_004


@pytest.mark.parametrize(
    "text", [b"\n{}", b"\n[]", b"\n", b"\n {}", b"\n\n[", b"\n\t{"]
)
def test_json_after_an_empty_line_is_json(text: bytes) -> None:
    try:
        load(text)
    except TraceError as error:
        assert not error.kind.startswith("pftrace")
