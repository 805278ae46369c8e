# SPDX-License-Identifier: BSD-3-Clause
"""test_merged_ranks.py: a file of two ranks, each with a device 0, wherever it is read.

How they are told apart, tests/cpp/pipeline/test_merged_ranks.cpp tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.cli import main
from torchtraceap.gate.budget import Budget

from .trace_builder import Event, kernel, launch, op, trace_of

STEPS = 20


def rank(label: str, late: float, busy: float) -> Iterator[Event]:
    """What SGLang's merger makes of a rank: all its pids become texts."""
    pid = f"{label} 4000"
    for i in range(STEPS):
        at = i * 1000 + late
        yield op("aten::mm", at, 900, pid=pid)
        yield launch(at + 10, i + 1, pid=pid)
        yield kernel(at + 50, busy, correlation=i + 1, pid=f"{label} 0")


@pytest.fixture
def merged() -> bytes:
    return trace_of(*rank("[TP00]", 0, 300), *rank("[TP01]", 37, 600))


def test_they_are_called_by_their_process(
    merged: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "merged.json"
    path.write_bytes(merged)
    page = tmp_path / "page.html"
    assert main(["analyze", str(path), "--tables", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    for label in ("[TP00]", "[TP01]"):
        assert f"Device 0 of process {label} 4000: busy" in out
        assert f"Device 0 of process {label} 4000" in page.read_text()
    assert "devices of several processes under one number" in " ".join(out.split())
    alone = torchtraceap.analyze(trace_of(*rank("[TP00]", 0, 300)))
    assert "Device 0: busy" in alone.summary()


def test_a_budget_names_the_one_that_breaks_it(merged: bytes) -> None:
    report = torchtraceap.analyze(merged)
    (broken,) = Budget(min_busy=0.5).check(report)
    assert broken.message.startswith("device 0 of process [TP00] 4000 was busy for")
    (broken,) = Budget(max_gap_us=500).check(report)
    assert "device 0 of process [TP00] 4000 paused for 700" in broken.message


def test_a_rule_of_ones_own_claims_the_right_one(merged: bytes) -> None:
    @torchtraceap.rule(side="gpu", summary="Long.", advice="Shorten.")
    def long_kernels(view: torchtraceap.RuleView) -> Iterator[torchtraceap.Claim]:
        assert len(set(view.devices)) == 2
        for row in view.rows(category="kernel"):
            if view.columns["dur"][row] > 500_000:
                yield torchtraceap.Claim(int(row))

    report = torchtraceap.analyze(merged, rules=[long_kernels])
    excess = [row.excess_us["long_kernels"] for row in report.balance]
    assert excess == [0, STEPS * 600.0]
