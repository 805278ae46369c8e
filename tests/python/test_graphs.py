# SPDX-License-Identifier: BSD-3-Clause
"""test_graphs.py: replays of CUDA graphs and their captures, by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli.program import main

from .trace_builder import (
    Event,
    annotation,
    call,
    frame,
    kernel,
    launch,
    launched,
    op,
    trace_of,
)

A100 = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]}
REPLAYS = 3


def product(ts: float, size: int = 4096) -> Event:
    """A product of square matrices in half precision."""
    return op(
        "aten::mm",
        ts,
        30,
        **{
            "Input Dims": [[size, size], [size, size]],
            "Input type": ["c10::Half", "c10::Half"],
        },
    )


def captured(launches: int = 2, line: int = 31) -> list[Event]:
    """A product and rectifiers, launched into a capture."""
    events = [
        frame(f"model.py({line}): forward", 0, 190),
        call("cudaStreamBeginCapture", 5, 1, 1),
        product(10),
        launch(15, 2),
    ]
    for i in range(launches - 1):
        events += [op("aten::relu", 50 + 20 * i, 15), launch(55 + 20 * i, 3 + i)]
    return [*events, call("cudaStreamEndCapture", 180, 1, 50)]


def replays(*, grid: int = 0, note: str = "", **more: Any) -> list[Event]:
    """Three replays, launched ahead: a product of 1.2 ms and a rectifier of 100 us."""
    if grid:
        more |= {"grid": [grid, 1, 1], "block": [128, 1, 1]}
    events = []
    for i in range(REPLAYS):
        ids = {"correlation": 100 + i, **more}
        begin = 1000 + 1350 * i
        long = kernel(begin, 1200, "gemm", **ids)
        if note:
            long["args"]["name"] = note  # As torch's annotations of graphs are written.
        short = kernel(begin + 1210, 100, "relu", **ids)
        events += [call("cudaGraphLaunch", 300 + 20 * i, 10, 100 + i), long, short]
    return events


def warm_up(batch: int, grid: int) -> bytes:
    """A capture trace whose warm-up has the kernels of `replays`."""
    shape = {"grid": [grid, 1, 1], "block": [128, 1, 1]}
    return trace_of(
        frame(f"model.py({batch}): forward", 0, 900),
        product(10, batch),
        *launched(1, 15, 50, 20, "gemm", **shape),
        op("aten::relu", 100, 15),
        *launched(2, 105, 150, 20, "relu", **shape),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Captures of two batch sizes by SGLang, of one rank and another."""
    place = tmp_path / "capture_traces"
    place.mkdir()
    for batch, grid in ((512, 8), (4096, 16)):
        data = gzip.compress(warm_up(batch, grid))
        (place / f"bs_{batch}_rank0.json.gz").write_bytes(data)
    (place / "bs_4096_rank1.json.gz").write_bytes(b"of another rank: not read")
    return place


def test_a_capture_in_the_trace_tells_operators_and_lines() -> None:
    trace = trace_of(*captured(), *replays(), **A100)
    report = torchtraceap.analyze(trace, detector="off")
    (graph,) = report.graphs
    assert (graph.launches, graph.nodes, graph.joined_by) == (3, 2, "count")
    assert graph.total_us == 3 * 1300
    assert graph.median_us == 1300
    assert graph.captured_share == 1
    assert (graph.capture, graph.note, graph.sized) == ("", "", True)
    # A call of each replay: 137.4 GFLOP in 1.2 ms, of 312 TFLOP/s.
    (row,) = (row for row in report.roofline if row.name == "aten::mm")
    assert (row.count, row.device_us, row.in_graph) == (3, 3600, True)
    assert row.efficiency == pytest.approx(440.5 / 1200, abs=1e-3)
    assert report.utilization[0].known_share == pytest.approx(12 / 13)
    # Good kernels take 440.5 / 0.75 + 3 us; the line is that of the capture.
    (finding,) = (f for f in report.findings if f.pattern == "slow_kernel")
    assert finding.wasted_us == pytest.approx(3 * (1200 - 590.4), rel=1e-2)
    assert finding.location is not None
    assert (finding.location.file, finding.location.recorded_line) == ("model.py", 31)
    assert finding.operator == "aten::mm"
    nodes = report.graph_nodes
    assert [(n.kernel, n.operator, n.count) for n in nodes] == [
        ("gemm", "aten::mm", 3),
        ("relu", "aten::relu", 3),
    ]
    assert nodes[0].inputs == "[4096, 4096] [4096, 4096]"


def test_another_number_of_launches_is_not_joined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(trace_of(*captured(launches=4), *replays(), **A100))
    assert main(["analyze", str(path), "--tables", "--no-detector"]) == 0
    assert "it has 2 kernels; captured were 4" in capsys.readouterr().out
    report = torchtraceap.analyze(path, detector="off")
    assert report.graphs[0].captured_share == 0
    assert not any(row.in_graph for row in report.roofline)


def test_of_two_batch_sizes_that_with_the_same_grids(folder: Path) -> None:
    for batch, grid in ((512, 8), (4096, 16)):
        trace = trace_of(*replays(grid=grid), **A100)
        report = torchtraceap.analyze(trace, capture=folder, detector="off")
        (graph,) = report.graphs
        assert graph.joined_by == "sequence"
        assert (graph.batch_size, graph.capture) == (batch, f"bs_{batch}_rank0.json.gz")
        assert report.graph_nodes[0].location is not None
        assert report.graph_nodes[0].location.recorded_line == batch
        (row,) = (row for row in report.roofline if row.in_graph)
        assert row.inputs == f"[{batch}, {batch}] [{batch}, {batch}]"


def test_vllm_tells_batch_and_mode_beside_the_files(folder: Path) -> None:
    for path in folder.glob("*rank1*"):
        path.unlink()
    rows = [{"file": "x/bs_4096_rank0.json.gz", "batch_size": 7, "mode": "FULL"}]
    (folder / "execution_details.json").write_text(json.dumps(rows))
    trace = trace_of(*replays(grid=16), **A100)
    # The folder around it does as well.
    report = torchtraceap.analyze(trace, capture=folder.parent, detector="off")
    assert (report.graphs[0].batch_size, report.graphs[0].mode) == (7, "FULL")


def test_without_a_capture_tables_say_how_to_get_operators(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(trace_of(*replays(grid=16), **A100))
    command = ["analyze", str(path), "--tables", "--no-detector"]
    assert main(command) == 0
    assert "with --capture" in capsys.readouterr().out
    assert main([*command, "--capture", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "bs_4096_rank0.json.gz" in out
    assert "with --capture" not in out


def test_annotations_and_sites_of_graphs(form_of: Any) -> None:
    events = replays(note="attention", **{"graph id": 3})
    site = [
        frame("serve.py(7): replay", 290, 100),
        annotation("step[DECODE bs=4]", 295, 90),
    ]
    report = torchtraceap.analyze(trace_of(*site, *events), detector="off")
    (graph,) = report.graphs
    assert (graph.id, graph.annotation) == (3, "step[DECODE bs=4]")
    assert graph.location is not None
    assert (graph.location.file, graph.location.recorded_line) == ("serve.py", 7)
    (part,) = graph.parts
    assert (part.name, part.nodes, part.total_us) == ("attention", 1, 3600)
    assert graph.captured_share is None
    assert form_of(report)["graphs"][0]["parts"][0]["name"] == "attention"
    assert list(report.to_pandas().graph_parts["graph"]) == [0]
    assert list(report.to_pandas().graphs["file"]) == ["serve.py"]
    assert list(report.to_pandas().graph_nodes["annotation"]) == ["attention", ""]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (None, "there is no such folder"),
        ({}, "no .json or .json.gz is in it"),
        ({"bs_1.json": b"{"}, "bs_1.json"),
        ({"bs_1.json": b'{"traceEvents": []}'}, "none of its traces launches work"),
        ({"bs_1.json": b"", "execution_details.json": b"[]"}, "empty"),
    ],
)
def test_a_damaged_folder_is_an_error(
    files: dict[str, bytes] | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(trace_of(*replays()))
    folder = tmp_path / "captures"
    if files is not None:
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
    assert main(["analyze", str(path), "--capture", str(folder), "--no-detector"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    with pytest.raises(torchtraceap.TraceError, match=message):
        torchtraceap.analyze(path, capture=folder)


def test_ranks_of_a_job_take_the_captures_of_their_own_rank(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = gzip.compress(warm_up(4096, 16))
    (folder / "bs_4096_rank1.json.gz").write_bytes(capture)
    for rank in range(2):
        info = {"distributedInfo": {"rank": rank, "world_size": 2}}
        (tmp_path / f"rank{rank}.json").write_bytes(
            trace_of(*replays(grid=16), **A100, **info)
        )
    paths = [str(tmp_path / f"rank{rank}.json") for rank in range(2)]
    job = torchtraceap.analyze([tmp_path], capture=tmp_path, detector="off")
    for reports in (job, torchtraceap.analyze(paths, capture=folder, detector="off")):
        files = [report.graphs[0].capture for report in reports]
        assert files == ["bs_4096_rank0.json.gz", "bs_4096_rank1.json.gz"]
    (folder / "bs_4096_rank1.json.gz").write_bytes(capture[:-9])
    command = ["analyze", "--capture", str(folder), "--full", "--no-detector"]
    assert main([*command, str(tmp_path)]) == 0
    assert "bs_4096_rank1.json.gz: the gzip data ends in the middle" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("details", ["{", "[1]", '[{"file": "a", "batch_size": "1"}]'])
def test_damaged_details_are_noted_and_the_names_tell_the_batch(
    details: str, tmp_path: Path, folder: Path
) -> None:
    (folder / "execution_details.json").write_text(details)
    path = tmp_path / "trace.json"
    path.write_bytes(trace_of(*replays(grid=16), **A100))
    report = torchtraceap.analyze(path, capture=folder, detector="off")
    assert report.graphs[0].batch_size == 4096
    (note,) = (n for n in report.quality.warnings if n.kind == "capture_skipped")
    assert "is not a list of objects" in note.detail


def test_what_is_no_capture_is_noted_and_skipped(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".DS_Store", "._bs_4096_rank0.json.gz", "README.md"):
        (folder / name).write_bytes(b"not a trace")
    (folder / "config.json").write_text("{}")
    (folder / "bs_1024_rank0.json").write_bytes(warm_up(1024, 4)[:-1])  # It is cut.
    path = tmp_path / "trace.json"
    path.write_bytes(trace_of(*replays(grid=4), **A100))

    def skipped(**options: Any) -> tuple[str, list[str]]:
        report = torchtraceap.analyze(path, capture=folder, detector="off", **options)
        notes = [n for n in report.quality.warnings if n.kind == "capture_skipped"]
        return report.graphs[0].capture, [note.detail for note in notes]

    _, notes = skipped()
    assert len(notes) == 2
    assert "/bs_1024_rank0.json: " in notes[0] and "/config.json: " in notes[1]
    capture, notes = skipped(recover=True)
    assert capture == "bs_1024_rank0.json" and "config.json" in notes[0]
    command = ["analyze", str(path), "--capture", str(folder), "--tables"]
    assert main([*command, "--no-detector"]) == 0
    assert "config.json: " in " ".join(capsys.readouterr().err.split())
    assert main([*command, "--no-detector", "--recover"]) == 0
    assert "bs_1024_rank0.json" in capsys.readouterr().out
    with pytest.raises(TypeError, match="capture must be a folder"):
        torchtraceap.analyze(path, capture=3)  # type: ignore[call-overload]
