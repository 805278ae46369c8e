# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_speed.py: one command measures what the detector costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import DATA

pytest.importorskip("torch")

import torchtraceap
from benchmarks.analysis import detector_speed
from benchmarks.lab import pages

pytestmark = pytest.mark.verify
torch_part: Any = pytest.importorskip("torchtraceap._torch")
TINY = DATA / "mi250-rocm62-tiny.json.gz"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network that learned nothing."""
    features = torchtraceap.analyze(TINY).features()
    arrays = torch_part.Arrays(features.windows, features.tokens, features.token_begin)
    network = torch_part.Network(torch_part.Config(width=32, layers=1, hidden=32))
    network.fit_columns([arrays])
    path = tmp_path_factory.mktemp("speed") / "w.safetensors"
    network.save(str(path), training=False)
    return path


@pytest.mark.timeout(900)  # Twelve processes, however busy the machine is.
def test_all_is_measured_and_written(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    asked = [str(TINY), "--weights", str(weights), "--rounds", "1", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["detector_speed.py", *asked, "--page"])
    assert detector_speed.main() == 0
    results = json.loads((tmp_path / "detector_speed.json").read_text("utf-8"))
    (row,) = results["traces"]
    events = torchtraceap.analyze(TINY).trace.events
    assert (row["events"], row["windows"]) == (events, 3)
    assert all(row[part] > 0 for part in ("without", "features", "network", "whole"))
    small, large = results["growth"]
    assert small["windows"] == 3 < large["windows"]
    assert all(
        row[of] >= 0 for row in (small, large) for of in ("grown_bytes", "used_bytes")
    )
    assert results["first"]["torch"] > 0
    page = (tmp_path / "detector_speed.md").read_text("utf-8")
    for part in (results["machine"]["commit"], "torch", TINY.name.partition(".")[0]):
        assert part in page


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    line = [
        sys.executable,
        "-m",
        detector_speed.__name__,
        str(TINY),
        "--weights",
        str(tmp_path / "none"),
    ]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 2 and f"{tmp_path / 'none'}: no such file" in done.stderr


def test_memory_of_scoring_is_over_what_was_there(weights: Path) -> None:
    given = {"weights": weights, "rounds": 1, "batch_tokens": 256}
    told = detector_speed.once("memory", TINY, 1, **given)
    assert 0 <= told["grown_bytes"] < 200e6 < 2 * told["before_bytes"]
