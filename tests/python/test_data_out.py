# SPDX-License-Identifier: BSD-3-Clause
"""test_data_out.py: reports and events in pandas, Arrow, Parquet and NumPy."""

from __future__ import annotations

import builtins
import gc
import gzip
import json
import math
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import Report
from torchtraceap.views.table_columns import TABLES

from .trace_builder import kernel, op, report_of

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = "mi250-rocm62-tiny.json.gz"


# --- The forms agree, and say what the report and the file say ----------------------


def test_all_forms_have_the_same_tables(inference: Report, tmp_path: Path) -> None:
    frames, arrow = inference.to_pandas(), inference.to_arrow()
    inference.to_parquet(tmp_path)
    assert list(frames) == list(arrow) == list(TABLES) and "events" in frames
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}.parquet" for name in TABLES}
    for name in TABLES:
        frame, table = frames[name], arrow[name]
        stored = pq.read_table(tmp_path / f"{name}.parquet")
        assert list(frame.columns) == table.column_names, name
        assert len(frame) == table.num_rows, name
        assert stored.equals(table) and stored.schema.equals(table.schema), name
        for column in table.column_names[:9]:
            values = frame[column].tolist()
            missing = [bool(gap) for gap in frame[column].isna()]
            cells = table[column].to_pylist()
            assert missing == [cell is None for cell in cells], (name, column)
            known = [v for v, gap in zip(values, missing, strict=True) if not gap]
            assert known == [cell for cell in cells if cell is not None], (name, column)


def test_findings_are_those_of_the_report(slow_loader: Report) -> None:
    table = slow_loader.to_arrow().findings.to_pylist()
    first, found = table[0], slow_loader.findings[0]
    assert [row["id"] for row in table] == [f.id for f in slow_loader.findings]
    assert first["wasted_us"] == found.wasted_us
    assert first["recoverable_us"] == found.recoverable_us
    assert (first["file"], first["line"]) == ("resnet50_profiler_api.py", 42)
    nowhere = next(row for row in table if row["file"] is None)
    assert nowhere["line"] is None and nowhere["function"] is None


def test_events_are_those_of_the_file(inference: Report) -> None:
    with gzip.open(inference.trace.path) as file:
        raw = json.load(file)["traceEvents"]
    in_file = np.argsort(inference.loaded.columns["args_offset"])
    table = inference.to_arrow().events.take(in_file)
    assert table.num_rows == len(raw)
    names = table["name"].to_pylist()
    starts, durations = table["start_us"].to_pylist(), table["duration_us"].to_pylist()
    pids, phases = table["pid"].to_pylist(), table["phase"].to_pylist()
    assert names == [e["name"] for e in raw] and phases == [e["ph"] for e in raw]
    assert starts == [e.get("ts") for e in raw]
    assert durations == [e.get("dur") for e in raw]
    assert pids == [str(e["pid"]) for e in raw]
    kernels = table.filter(pa.compute.equal(table["category"], "kernel"))
    assert kernels.num_rows == sum(e.get("cat") == "kernel" for e in raw)


def test_what_an_event_does_not_have_is_missing() -> None:
    report = report_of(
        op("a", 1.5, 2),
        {"ph": "i", "name": "b", "pid": "rank 1", "tid": 2, "s": "t"},
        kernel(2, 1, correlation=5),
    )
    rows = report.to_arrow().events.to_pylist()
    by_name = {row["name"]: row for row in rows}
    assert by_name["a"]["start_us"] == 1.5 and by_name["a"]["start_ns"] == 1500
    assert by_name["a"]["device"] is None and by_name["a"]["correlation"] is None
    for time in ("start_us", "duration_us", "start_ns", "duration_ns"):
        assert by_name["b"][time] is None
    assert by_name["b"]["pid"] == "rank 1"
    ids = ("device", "stream", "correlation")
    assert [by_name["k"][name] for name in ids] == [0, 7, 5]
    frame = report.to_pandas().events.set_index("name")
    assert math.isnan(frame.loc["b", "start_us"])
    assert frame.loc["b", "start_ns"] is pd.NA and frame.loc["k", "stream"] == 7
    assert pd.api.types.is_float_dtype(frame["start_us"])


def test_a_process_or_thread_that_is_not_said_is_missing() -> None:
    bare = {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}
    for events in ([bare], [bare, {**bare, "pid": "rank 0", "tid": 3}]):
        report = report_of(*events)
        for column, known in (("pid", "rank 0"), ("tid", "3")):
            expected = [None, known][: len(events)]
            assert report.to_arrow().events[column].to_pylist() == expected
            frame = report.to_pandas().events[column]
            assert frame.isna().tolist() == [cell is None for cell in expected]
            assert "-1" not in frame.cat.categories


def test_categories_are_texts_also_without_rows() -> None:
    one = report_of(op("a", 1, 2)).to_pandas().events
    none = torchtraceap.analyze(b'{"traceEvents": []}').to_pandas().events
    for column in ("name", "category", "phase", "pid", "tid"):
        kinds = [frame[column].cat.categories.dtype for frame in (one, none)]
        assert kinds[0] == kinds[1], column


def test_kinds_do_not_depend_on_the_rows(slow_loader: Report) -> None:
    """Nor on whether processes are named by numbers or by texts."""
    texts = op("a", 1, 2, pid="rank 0", tid="main")
    others = [report_of(op("a", 1, 2)), report_of(texts)]
    frames, arrow = slow_loader.to_pandas(), slow_loader.to_arrow()
    assert not len(others[0].to_pandas().kernels) and len(frames.kernels)
    for other in others:
        for name, frame in other.to_pandas().items():
            kinds = {c: str(dtype) for c, dtype in frame.dtypes.items()}
            full = {c: str(dtype) for c, dtype in frames[name].dtypes.items()}
            assert kinds == full, name
            assert other.to_arrow()[name].schema.equals(arrow[name].schema), name
    assert str(frames.windows["pid"].dtype) == "string"
    assert str(frames.findings["line"].dtype) == "Int64"


def test_names_that_are_read_alike_are_one_category() -> None:
    """Two broken texts are read as the same; pandas takes no category twice."""
    trace = b'{"traceEvents": [%s]}' % b", ".join(
        b'{"ph": "X", "pid": %s, "tid": 1, "ts": 1, "dur": 1, "name": "%s"}' % pair
        for pair in ((b'"1"', b"\\ud800"), (b"1", b"\\ud801"), (b"1", b"a"))
    )
    report = torchtraceap.analyze(trace)
    names = report.to_pandas().events["name"]
    assert names.cat.categories.is_unique
    assert report.to_pandas().events["pid"].tolist() == ["1", "1", "1"]
    assert report.to_arrow().events["name"].to_pylist() == names.tolist()
    assert [report.loaded.name(row) for row in range(3)] == names.tolist()


# --- Made when asked for, without copies and loops ------------------------------------


def test_tables_are_made_one_by_one(
    slow_loader: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_events(report: Report) -> Any:
        raise AssertionError("events were not requested")

    monkeypatch.setitem(TABLES, "events", no_events)
    tables = slow_loader.to_pandas()
    assert tables.findings is tables["findings"] and len(tables) == len(TABLES)
    with pytest.raises(AssertionError, match="not requested"):
        _ = tables.events
    with pytest.raises(AttributeError, match="there are: windows, labels, "):
        _ = tables.window
    with pytest.raises(KeyError):
        tables["window"]


def test_events_are_not_looped_over(slow_loader: Report) -> None:
    """Count the lines of the package that run."""
    lines = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal lines
        if "torchtraceap" not in frame.f_code.co_filename:
            return None
        lines += event == "line"
        return count

    for form in (slow_loader.to_arrow, slow_loader.to_pandas):
        _ = form().events  # What is imported is not counted.
        lines, before = 0, sys.gettrace()
        sys.settrace(count)
        try:
            table = form().events
        finally:
            sys.settrace(before)
        assert len(table) > 70_000
        assert 20 < lines < 1000


def test_numpy_columns_are_views_that_keep_the_trace(data: Path) -> None:
    trace = torchtraceap.load(data / TINY)
    columns, again = trace.columns, trace.columns
    copies = {name: column.copy() for name, column in columns.items()}
    for name, column in columns.items():
        assert len(column) == len(trace)
        assert column.ctypes.data == again[name].ctypes.data, name
        assert not column.flags.owndata and not column.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            column[0] = column[1]
        with pytest.raises(ValueError, match="WRITEABLE"):
            column.flags.writeable = True
    kept = columns["ts"]
    del trace, columns, again, column
    gc.collect()
    np.zeros(1 << 20)  # So that memory that was given back would be another's.
    assert (kept == copies["ts"]).all()


def test_arrow_shares_the_memory_of_the_trace(data: Path) -> None:
    report = torchtraceap.analyze(data / TINY)
    columns = report.loaded.columns
    table = report.to_arrow().events
    shared = {"start_ns": "ts", "duration_ns": "dur", "correlation": "correlation"}
    for name, column in shared.items():
        (chunk,) = table[name].chunks
        assert chunk.buffers()[1].address == columns[column].ctypes.data
    (chunk,) = table["name"].chunks
    assert chunk.indices.buffers()[1].address == columns["name"].ctypes.data
    expected = [None if t == np.iinfo("i8").min else int(t) for t in columns["ts"]]
    del report, columns, chunk
    gc.collect()
    np.zeros(1 << 20)
    assert table["start_ns"].to_pylist() == expected


# --- Folders of tables ----------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny(data: Path) -> Report:
    return torchtraceap.analyze(data / TINY)


def test_a_folder_of_other_things_is_left_alone(tiny: Report, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    events = folder / "events.parquet"
    tiny.to_parquet(folder)  # Made, with those above it.
    first = events.read_bytes()
    events.write_text("old")
    tiny.to_parquet(folder)  # Its own tables are replaced.
    assert events.read_bytes() == first
    (folder / "notes.txt").write_text("mine")
    events.write_text("kept")
    with pytest.raises(ValueError, match=r"holds notes\.txt, which is none of"):
        tiny.to_parquet(folder)
    assert events.read_text() == "kept"
    with pytest.raises(OSError):
        tiny.to_parquet(folder / "notes.txt")


def test_neither_a_trace_nor_what_a_link_leads_to_is_overwritten(
    tiny: Report, data: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "events.parquet"
    trace.write_bytes((data / TINY).read_bytes())
    before = trace.read_bytes()
    with pytest.raises(ValueError, match="is the trace itself"):
        torchtraceap.analyze(trace).to_parquet(tmp_path)
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "findings.parquet").symlink_to(trace)
    with pytest.raises(ValueError, match=r"holds findings\.parquet"):
        tiny.to_parquet(folder)
    assert trace.read_bytes() == before


def test_what_is_missing_is_told_by_its_extra(
    tiny: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith(("pandas", "pyarrow")):
            raise ImportError(f"No module named '{name}'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"torchtraceap\[pandas\]"):
        tiny.to_pandas()
    with pytest.raises(ImportError, match=r"to_arrow needs .*torchtraceap\[arrow\]"):
        tiny.to_arrow()
    with pytest.raises(ImportError, match=r"to_parquet needs .*torchtraceap\[arrow\]"):
        tiny.to_parquet(tmp_path / "new")
    assert not (tmp_path / "new").exists()
