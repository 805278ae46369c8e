# SPDX-License-Identifier: BSD-3-Clause
"""test_own_files.py: files of ours where a trace is wanted are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.errors import TraceError


def test_a_report(data: Path) -> None:
    report = torchtraceap.analyze(data / "kineto2021-v100-resnet50-workers4.json.gz")
    with pytest.raises(TraceError, match=r"a report of torchtraceap.*--baseline"):
        torchtraceap.analyze(report.to_json().encode())


def test_the_result_of_a_dry_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with torchtraceap.dry_run() as run:
        torch.ones(2, device="cuda").sum().item()
    (tmp_path / "dry.json").write_text(json.dumps(run.to_dict()))
    with pytest.raises(TraceError, match=r"result of a dry run.*--trace-out"):
        torchtraceap.compare(tmp_path / "dry.json", tmp_path / "dry.json")
