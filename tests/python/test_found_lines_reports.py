# SPDX-License-Identifier: BSD-3-Clause
"""test_found_lines_reports.py: what reports say with the source file and without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

from .trace_builder import LOADER, annotation, frame, op, report_of

NEXT = "torch/utils/data/dataloader.py(720): __next__"
TRAIN = """\
import gc

def main(loader, prof):
    for x, y in loader:
        step(x, y)
        gc.collect()
        prof.step()
"""
EVENTS = (
    frame("train.py(7): main", 0, 20_000),  # running: where prof.step() was called
    frame("torch/profiler/profiler.py(1227): step", 1, 10),
    frame(NEXT, 20, 9_000),
    annotation(LOADER, 21, 8_990),
    op("aten::mm", 9_100, 2_000),
    frame("<built-in function collect>", 12_000, 6_000),
)


@pytest.fixture
def reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[torchtraceap.Report, torchtraceap.Report]:
    """Reports made without the source file and with it."""
    monkeypatch.chdir(tmp_path)
    without = report_of(*EVENTS)
    assert without.findings
    Path("train.py").write_text(TRAIN)
    return without, report_of(*EVENTS)


def test_a_report_has_lines_or_the_function(reports: Any) -> None:
    without, found = reports
    for report, places in (
        (without, ["train.py in main()", "train.py in main()"]),
        (found, ["train.py:4", "train.py:6"]),
    ):
        assert [f.pattern for f in report.findings[:2]] == [
            "dataloader_bound",
            "gc_pause",
        ]
        assert [str(f.location) for f in report.findings[:2]] == places
    assert "train.py in main()  dataloader_bound" in without.summary()
    assert "train.py:7" not in without.summary()
    assert "train.py:6 main  " in found.summary()


def test_what_a_finding_is_does_not_hang_on_the_file(reports: Any) -> None:
    without, found = reports
    assert [f.id for f in without.findings] == [f.id for f in found.findings]
    for pair in torchtraceap.compare(without, found).findings:
        assert pair.before and pair.after


def test_every_output_copes_without_a_line(reports: Any) -> None:
    for report, line in zip(reports, (None, 4), strict=True):
        form = report.to_dict()["findings"][0]["location"]
        assert form == {
            "file": "train.py",
            "line": line,
            "function": "main",
            "recorded_line": 7,
            "recorded_at": "start",
            "user": True,
        }
        place = json.loads(report.to_sarif())["runs"][0]["results"][0]["locations"][0]
        region = place["physicalLocation"].get("region")
        assert region == (line and {"startLine": line})
        text = "train.py:4" if line else "train.py in main()"
        assert text in report.to_html() and text in report.to_markdown()


def test_a_finding_is_asked_for_by_either_line(reports: Any) -> None:
    without, found = reports
    for report, lines in ((without, [7]), (found, [4, 7])):
        for line in lines:
            assert torchtraceap.what_if(report, f"train.py:{line}").gain


def test_a_trace_is_at_hand_with_the_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "away").mkdir()
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}))
    monkeypatch.chdir(tmp_path / "away")
    first = torchtraceap.analyze(trace).findings[0]
    assert first.location is not None and first.location.line == 4
