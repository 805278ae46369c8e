# SPDX-License-Identifier: BSD-3-Clause
"""test_analyze.py: what `load` and `analyze` take, return and refuse."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import analyze, load

TINY = "mi250-rocm62-tiny.json.gz"


@pytest.fixture
def tiny(data: Path) -> Path:
    return data / TINY


def test_sources_of_every_kind_say_the_same(tiny: Path, tmp_path: Path) -> None:
    packed = tiny.read_bytes()
    plain = tmp_path / "named.anyhow"
    plain.write_bytes(gzip.decompress(packed))
    expected = analyze(str(tiny)).to_dict()
    for source in (
        tiny,
        packed,
        bytearray(packed),
        memoryview(packed),
        gzip.decompress(packed),
        plain,
        load(tiny),
    ):
        got = analyze(source).to_dict()
        got["trace"]["path"] = expected["trace"]["path"]
        assert got == expected, type(source)


def test_several_paths_give_a_list_in_their_order(data: Path) -> None:
    names = [TINY, "cpu-macos-resnet18.json.gz"]
    for paths in ([data / n for n in names], (str(data / n) for n in names)):
        reports = analyze(paths)
        assert [os.path.basename(report.trace.path) for report in reports] == names
    assert len(analyze([])) == 0


def test_one_bad_trace_of_several_is_named(data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[1")
    with pytest.raises(torchtraceap.TraceError, match=r"bad\.json"):
        analyze([data / TINY, bad])


def test_max_events_sets_the_size_of_windows(tiny: Path) -> None:
    few, many = analyze(tiny), analyze(tiny, max_events=20)
    assert len(many.windows) > len(few.windows)
    assert max(window.events for window in many.windows) <= 20
    numpy_int: Any = np.int64(20)
    assert len(analyze(tiny, max_events=numpy_int).windows) == len(many.windows)
    assert len(analyze(tiny, max_events=2**32 - 1).windows) <= len(few.windows)


def test_a_report_is_no_trace(data: Path) -> None:
    report = torchtraceap.analyze(data / TINY)
    with pytest.raises(torchtraceap.TraceError, match=r"a report of.*--baseline"):
        torchtraceap.analyze(report.to_json().encode())


def test_the_result_of_a_dry_run_is_no_trace(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with torchtraceap.dry_run() as run:
        torch.ones(2, device="cuda").sum().item()
    (tmp_path / "dry.json").write_text(json.dumps(run.to_dict()))
    with pytest.raises(torchtraceap.TraceError, match=r"of a dry run.*--trace-out"):
        torchtraceap.compare(tmp_path / "dry.json", tmp_path / "dry.json")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        analyze(tmp_path / "gone.json")
    with pytest.raises(torchtraceap.TraceError, match="folder"):
        analyze(tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        *((source, type(source).__name__) for source in (None, 3, 1.5, object())),
        ({}, "json.dumps"),
        ({"traceEvents": []}, "json.dumps"),
        (io.BytesIO(b"{}"), "pass its path"),
        (io.StringIO("{}"), "pass its path"),
        (io.BufferedReader(io.BytesIO(b"{}")), "pass its path"),
    ],
)
def test_other_types_are_refused(source: Any, message: str) -> None:
    for refused in (analyze, load):
        with pytest.raises(TypeError, match=message):
            refused(source)


@pytest.mark.parametrize(
    ("max_events", "error", "text"),
    [
        (0, ValueError, "at least 1, but is 0"),
        (-3, ValueError, "at least 1, but is -3"),
        (10**30, ValueError, "at most 4294967295"),
        (1.5, TypeError, "an int, but is of type float"),
        ("5", TypeError, "an int, but is of type str"),
        (True, TypeError, "an int, but is of type bool"),
    ],
)
def test_a_wrong_max_events_is_refused(
    tiny: Path, max_events: Any, error: type[Exception], text: str
) -> None:
    for source in (tiny, [tiny], []):
        with pytest.raises(error, match=f"max_events must be {text}"):
            analyze(source, max_events=max_events)


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_a_file_name_that_is_no_utf8(tiny: Path, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\xff.json.gz"
    try:
        with open(path, "wb") as file:
            file.write(tiny.read_bytes())
    except OSError:
        pytest.skip("this file system takes no such names")
    report = analyze(os.fsdecode(path))
    assert report.trace.events == len(load(tiny))
    assert report.summary()
