# SPDX-License-Identifier: BSD-3-Clause
"""test_other_profilers.py: files of other profilers are named, no trace of torch is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.cli import main

from .real_traces import DATA
from .trace_builder import op, trace_of

X = {"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": 9}
NAMES = {"ph": "M", "pid": 1, "tid": 1, "ts": 0}
# As each writes it; of torch's own words, only those that programs that use torch have.
OTHERS: dict[str, tuple[str, Any]] = {
    "Chrome": (
        "looks like one of Chrome",
        {
            "traceEvents": [
                NAMES | {"name": "thread_name", "args": {"name": "CrRendererMain"}},
                X | {"cat": "blink,benchmark", "name": "LocalFrameView::layout"},
            ],
            "metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"},
        },
    ),
    "VizTracer": (
        "looks like one of VizTracer",
        {
            "traceEvents": [X | {"cat": "FEE", "name": "forward (torch/nn/x.py:1)"}],
            "viztracer_metadata": {"version": "1.0"},
        },
    ),
    "py-spy": (
        "looks like one of py-spy",
        [X | {"ph": ph, "cat": "py-spy", "name": "step"} for ph in "BE"],
    ),
    "TensorFlow": (
        "looks like one of TensorFlow or JAX",
        {
            "displayTimeUnit": "ns",
            "traceEvents": [
                NAMES | {"name": "process_name", "args": {"name": "/device:GPU:0"}},
                X | {"name": "MatMul"},
            ],
        },
    ),
    "somebody's": (
        "(they have mine, yours)",
        [X | {"cat": c} for c in ("mine", "yours")],
    ),
}


@pytest.mark.parametrize("writer", OTHERS)
def test_a_trace_of_another_profiler_is_refused(
    writer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    says, document = OTHERS[writer]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    budget = tmp_path / "budget.toml"
    for command in (
        ["analyze", path],
        ["whatif", path],
        ["check", path, "--write-budget", budget],
        ["compare", path, DATA / "mi250-rocm62-tiny.json.gz"],
    ):
        assert main([str(word) for word in command]) == 2
        out, err = capsys.readouterr()
        assert not out and err.startswith(f"torchtraceap: {path}: This is a Chrome")
        assert says in err and "Record the program with torch.profiler" in err
        assert 15 <= len(err) <= 2000 and len(err.splitlines()) == 1
    with pytest.raises(torchtraceap.TraceError) as told:
        torchtraceap.compare(path, path)
    assert told.value.kind == "other_profiler"
    assert str(told.value).endswith(told.value.hint)
    quality = torchtraceap.analyze(path).quality
    assert (quality.verdict, quality.reasons[0].kind) == ("unusable", "other_profiler")
    # What is in it can be looked at all the same.
    assert main(["inspect", str(path)]) == 0
    assert "unusable, for other_profiler\n  warning      other_profiler ×" in (
        capsys.readouterr().out
    )


# Torch's traces, down to what little an old or a damaged one may have.
TORCHS: dict[str, Any] = {
    "an operator": [op("aten::mm", 1, 2)],
    "title case": [X | {"cat": "Operator", "name": "conv"}],
    "torch 1.4, without categories": [
        X | {"name": "conv2d", "pid": "CPU functions", "args": {}}
    ],
    "a step alone": [X | {"name": "ProfilerStep#3"}],
    "a header and markers": {"schemaVersion": 1, "traceEvents": [X | {"name": "a"}]},
    "a header at the end": {"traceEvents": [X], "deviceProperties": []},
    "the profiler's own": [X | {"name": "PyTorch Profiler (0)", "pid": "Spans"}],
    "nothing": {"traceEvents": []},
    "names of threads only": [NAMES | {"name": "thread_name", "args": {"name": "a"}}],
}


@pytest.mark.parametrize("name", TORCHS)
def test_a_trace_of_torch_is_not(name: str) -> None:
    assert not is_foreign(torchtraceap.analyze(json.dumps(TORCHS[name]).encode()))


def is_foreign(report: torchtraceap.Report) -> bool:
    return "other_profiler" in {note.kind for note in report.quality.warnings}


def test_real_traces_are_torchs() -> None:
    for path in sorted(DATA.glob("*.json.gz")):
        quality = _core.judge(torchtraceap.load(path))
        assert "other_profiler" not in {note.kind for note in quality.warnings}, path


def test_of_a_part_of_a_trace_nobody_knows() -> None:
    """What was left out may have been torch's."""
    part = json.dumps([op("mm", 1, 2), X | {"name": "a"}]).encode()
    assert not is_foreign(torchtraceap.analyze(part, skip_categories=["cpu_op"]))


@pytest.mark.parametrize("ending", ["nsys-rep", "ncu-rep", "qdrep", "qdstrm"])
def test_a_report_of_nsight_is_named(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"report.{ending}"
    path.write_bytes(b"\x01\0\x02\0NVR\0" * 9)
    assert main(["analyze", str(path)]) == 2
    err = capsys.readouterr().err
    assert "this is a report of Nsight" in err and "with torch.profiler" in err
    path.write_bytes(trace_of(op("aten::mm", 1, 2)))  # Told by content after all.
    assert main(["inspect", str(path)]) == 0
