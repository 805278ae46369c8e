# SPDX-License-Identifier: BSD-3-Clause
"""conftest.py: reports of all kinds, and packages that are set to write to a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

from ..trace_builder import loader_trace

# Quotes, line ends, what separates labels, a half of a surrogate pair, thousands long.
HOSTILE = f'a"b\\c\n{{x="1"}} 2\n# TYPE evil gauge\u202e\0\ud800|`<b>{"n" * 3000}.py'


@pytest.fixture
def unusable(data: Path) -> torchtraceap.Report:
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    assert report.quality.verdict == "unusable"
    return report


@pytest.fixture
def hostile() -> torchtraceap.Report:
    report = torchtraceap.analyze(loader_trace(file=HOSTILE))
    assert report.findings[0].location
    return report


@pytest.fixture
def every(
    slow_loader: torchtraceap.Report,
    cpu_only: torchtraceap.Report,
    unusable: torchtraceap.Report,
    hostile: torchtraceap.Report,
) -> list[torchtraceap.Report]:
    """Findings on a device, none without a device, nothing at all, hostile names."""
    return [slow_loader, cpu_only, unusable, hostile]


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package, which is set to write to a folder, and to send nothing."""
    module = pytest.importorskip("wandb")
    module.teardown()  # It keeps the settings of its first use.
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    for kind in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR", "ARTIFACT_DIR"):
        monkeypatch.setenv(f"WANDB_{kind}", str(tmp_path))
    yield module
    module.teardown()


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    module = pytest.importorskip("mlflow")
    before = module.get_tracking_uri()
    module.set_tracking_uri(f"file:{tmp_path}/mlruns")
    yield module
    module.set_tracking_uri(before)
