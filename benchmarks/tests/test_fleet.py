# SPDX-License-Identifier: BSD-3-Clause
"""test_fleet.py: nights of a fleet are recordings of their day, and a fault is seen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.verify
pytest.importorskip("duckdb")

import torchtraceap
from benchmarks import DATA
from benchmarks.fleet.make import FACTORS, SLOW, night_of, write_fleet
from benchmarks.fleet.run import Fleet, differences
from torchtraceap.fleets.queries import connected

SOURCES = ("mi250-rocm62-tiny.json.gz", "nccl-rank000of128-sampled.json.gz")


def test_a_night_is_a_recording_of_its_day(tmp_path: Path) -> None:
    assert write_fleet(tmp_path / "all", [DATA / name for name in SOURCES], 9) == 10
    torchtraceap.fleet(tmp_path / "all", tmp_path / "out")
    query = "SELECT url, strftime(time, '%Y-%m-%d'), time_from, span_us FROM traces"
    rows = connected(str(tmp_path / "out")).execute(query).fetchall()
    for url, day, time_from, span_us in rows:
        path = Path(url)
        assert path.parent.name == f"night-{day}" and time_from == "trace"
        recorded = torchtraceap.analyze(DATA / path.name).trace.span_us
        assert min(abs(span_us / recorded - factor) for factor in FACTORS) < 0.001
    assert len(rows) == 10 and FACTORS.index(max(FACTORS)) == SLOW


def test_a_poisoned_trace_is_seen_beside_an_undisturbed_run(tmp_path: Path) -> None:
    whole = tmp_path / "traces"
    write_fleet(whole, [DATA / name for name in SOURCES], 4)
    fleet = Fleet(tmp_path, 10**9, whole)
    source = fleet.part(4)
    fleet.run(source, tmp_path / "wanted", ray=False)
    shutil.copyfile(DATA / SOURCES[0], source / night_of(0) / "poison.json.gz")
    ran = fleet.run(source, tmp_path / "out", ray=False)
    assert (ran["done"], ran["failed"]) == (5, 1)
    found = differences(tmp_path / "out", tmp_path / "wanted")
    assert found == {"twice": 0, "lost": 0, "more": 1, "traces": 5}
