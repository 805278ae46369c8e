# SPDX-License-Identifier: BSD-3-Clause
"""test_quality.py: a trace that lost records is never called sound, a sound one always.

Records are dropped from real traces: what a profiler does when its buffers are full.
"""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap._core import Quality

from .trace_builder import kernel, launch, report_of

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
def test_one_percent_is_counted(base: dict[str, Any], seed: int) -> None:
    report = without(base, 0.01, seed)
    assert "launches_without_work" in kinds(report.quality)
    assert "launches have no device event" in report.summary()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_five_percent_and_more_are_flagged(
    base: dict[str, Any], share: float, seed: int
) -> None:
    report = without(base, share, seed)
    assert report.quality.verdict == "degraded"
    assert report.quality.incomplete
    text = report.summary()
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
    assert "Findings: none can be given for this trace." in text
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


def test_lost_launches_lower_the_linking_rate(base: dict[str, Any]) -> None:
    """Every second launch is dropped, and with it what the host did."""
    form = copy.copy(base)
    launches = 0

    def keeps(event: dict[str, Any]) -> bool:
        nonlocal launches
        launches += (is_launch := "LaunchKernel" in str(event.get("name")))
        return not is_launch or launches % 2 == 0

    form["traceEvents"] = [e for e in base["traceEvents"] if keeps(e)]
    report = analyze(form)
    rate = report.quality.linking_rate
    assert rate is not None and 0.4 < rate < 0.6
    assert report.quality.verdict == "degraded" and not report.quality.incomplete
    assert "work_without_launch" in kinds(report.quality)
    assert "Launches are known of" in report.summary()
    assert "at most" not in report.summary()
