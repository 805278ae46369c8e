# SPDX-License-Identifier: BSD-3-Clause
"""test_quality.py: a trace that lost records is never called sound, a sound one always;
files of other profilers are named, no trace of torch is.

Records are dropped from real traces: what a profiler does when its buffers are full.
"""

from __future__ import annotations

import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap._core import Quality

from .conftest import Cli
from .real_traces import DATA
from .trace_builder import kernel, launch, op, report_of, trace_of

BASES = [
    "h100-vit-nsfw-inference.json.gz",
    "mi300-torch-compile-triton.json.gz",
    pytest.param(
        "kineto2021-v100-resnet50-workers0-memory.json.gz", marks=pytest.mark.verify
    ),
]


@pytest.fixture(scope="module", params=BASES)
def base(request: pytest.FixtureRequest, data: Path) -> dict[str, Any]:
    form: dict[str, Any] = json.loads(
        gzip.decompress((data / request.param).read_bytes())
    )
    return form


def analyze(form: dict[str, Any]) -> torchtraceap.Report:
    return torchtraceap.analyze(json.dumps(form).encode())


def without(base: dict[str, Any], share: float, seed: int) -> torchtraceap.Report:
    """The report on `base` less a share of its kernels, at least one."""
    events = base["traceEvents"]
    kernels = [
        index
        for index, event in enumerate(events)
        if event.get("ph") == "X" and str(event.get("cat")).lower() == "kernel"
    ]
    count = math.ceil(share * len(kernels))
    lost = set(random.Random(seed).sample(kernels, count))
    kept = [event for index, event in enumerate(events) if index not in lost]
    return analyze({**base, "traceEvents": kept})


def kinds(quality: Quality) -> set[str]:
    return {note.kind for note in quality.warnings}


def test_a_whole_trace_is_not_flagged(base: dict[str, Any]) -> None:
    report = analyze(base)
    assert report.quality.verdict == "ok"
    assert not report.quality.incomplete
    assert report.quality.linking_rate == 1
    assert "launches_without_work" not in kinds(report.quality)
    assert "at most" not in report.summary()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.01, 0.05, 0.5])
def test_lost_kernels_are_counted_and_flagged_from_five_percent_on(
    base: dict[str, Any], share: float, seed: int
) -> None:
    report = without(base, share, seed)
    text = report.summary()
    assert "launches_without_work" in kinds(report.quality)
    assert "launches have no device event" in text
    if share < 0.05:
        return
    assert report.quality.verdict == "degraded"
    assert report.quality.incomplete
    assert "Quality: degraded" in text
    assert "busy at least" in text and "idle at most" in text
    assert "Unattributed: at most" in text
    if report.findings:
        assert "upper bounds" in text


def test_all_is_unusable(base: dict[str, Any]) -> None:
    work = {"kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset"}
    kept = [e for e in base["traceEvents"] if str(e.get("cat")).lower() not in work]
    report = analyze({**base, "traceEvents": kept})
    assert report.quality.verdict == "unusable" and report.quality.incomplete
    assert report.balance == () and report.findings == ()
    text = report.summary()
    assert "Findings: none, the trace is unusable." in text
    assert "busy" not in text and "idle" not in text


def test_a_trace_that_lost_records_is_not_called_healthy() -> None:
    """One that has no findings: whatever they would be may be missing."""

    def trace(lost: int) -> torchtraceap.Report:
        calls = [launch(i * 10, i + 1, dur=2) for i in range(20)]
        kept = [kernel(i * 10 + 3, 10, correlation=i + 1) for i in range(lost, 20)]
        return report_of(*calls, *kept)

    assert "Findings: none.\n" in trace(0).summary()
    lossy = trace(1)
    assert not lossy.findings
    assert "Findings: none, but device records are missing" in lossy.summary()


# --- Files of other profilers ---------------------------------------------------------

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
    writer: str, tmp_path: Path, cli: Cli
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
        code, out, err = cli(*command)
        assert (
            code == 2
            and not out
            and err.startswith(f"torchtraceap: {path}: This is a Chrome")
        )
        assert says in err and "Record the program with torch.profiler" in err
        assert 15 <= len(err) <= 2000 and len(err.splitlines()) == 1
    with pytest.raises(torchtraceap.TraceError) as told:
        torchtraceap.compare(path, path)
    assert told.value.kind == "other_profiler"
    assert str(told.value).endswith(told.value.hint)
    quality = torchtraceap.analyze(path).quality
    assert (quality.verdict, quality.reasons[0].kind) == ("unusable", "other_profiler")
    # What is in it can be looked at all the same.
    text = cli("inspect", path).fine()
    assert "unusable, for other_profiler\n  warning      other_profiler ×" in text


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
    report = torchtraceap.analyze(json.dumps(TORCHS[name]).encode())
    assert "other_profiler" not in kinds(report.quality)


def test_real_traces_are_torchs() -> None:
    for path in sorted(DATA.glob("*.json.gz")):
        quality = _core.judge(torchtraceap.load(path))
        assert "other_profiler" not in kinds(quality), path


def test_of_a_part_of_a_trace_nobody_knows() -> None:
    """What was left out may have been torch's."""
    part = json.dumps([op("mm", 1, 2), X | {"name": "a"}]).encode()
    report = torchtraceap.analyze(part, skip_categories=["cpu_op"])
    assert "other_profiler" not in kinds(report.quality)


@pytest.mark.parametrize("ending", ["nsys-rep", "ncu-rep", "qdrep", "qdstrm"])
def test_a_report_of_nsight_is_named(ending: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / f"report.{ending}"
    path.write_bytes(b"\x01\0\x02\0NVR\0" * 9)
    code, _, err = cli("analyze", path)
    assert code == 2
    assert "this is a report of Nsight" in err and "with torch.profiler" in err
    path.write_bytes(trace_of(op("aten::mm", 1, 2)))  # Told by content after all.
    cli("inspect", path).fine()
