# SPDX-License-Identifier: BSD-3-Clause
"""test_pairs_page.py: the page on predicted gains says what it leaves out."""

from __future__ import annotations

import json
from typing import Any

import pytest

import torchtraceap
from benchmarks import RESULTS, ROOT

pytest.importorskip("torch")

pytestmark = pytest.mark.verify


from benchmarks.replay import run_pairs
from benchmarks.replay.predicting import Prediction, compared, step_less_events
from benchmarks.replay.run_pairs import gained_more, gained_nothing, not_found


def measured(slow: float, predicted: float, fixed: float) -> dict[str, Any]:
    return compared(Prediction(slow, predicted, slow, predicted), fixed)


GAINED = measured(10, 8, 9)
GAINED_MORE = measured(10, 8, 7)
GAINED_NOTHING = measured(10, 8, 11)
NOT_FOUND = measured(10, 10, 12)


def cells(*rows: dict[str, Any]) -> dict[str, str]:
    line = run_pairs.row_of("x", list(rows))
    return dict(zip(run_pairs.HEAD, line, strict=True))


def test_rounds_without_a_gain_are_counted_in_the_cell() -> None:
    row = cells(GAINED, GAINED_NOTHING, GAINED_MORE)
    assert row["error, gain %"] == "+33 (-33 to +100); 1 of 3 gained nothing"
    assert row["gained more"] == "1 of 3"
    assert cells(GAINED_NOTHING)["error, gain %"] == "-; 1 of 1 gained nothing"
    assert cells(GAINED)["error, gain %"] == "+100"


def test_rounds_without_a_finding_are_in_no_median() -> None:
    row = cells(GAINED, NOT_FOUND)
    assert row["predicted"] == "8.0; found in 1 of 2"
    assert row["measured"] == "9.0"
    assert row["gained more"] == "0 of 1"
    assert "In 1 of 2 rounds nothing" in not_found([GAINED, NOT_FOUND])
    assert "10.0 -> 12.0 ms" in not_found([GAINED, NOT_FOUND])
    assert not_found([GAINED]) == ""
    none = cells(NOT_FOUND)
    assert none["predicted"] == "nothing found"
    assert none["error, step %"] == none["gained more"] == none["naive"] == "-"


def test_rounds_are_counted_by_what_came_of_them() -> None:
    rows = [GAINED, GAINED_MORE, GAINED_NOTHING]
    assert (gained_nothing(rows), gained_more(rows)) == (1, 1)


def test_a_step_less_its_events_is_as_kept() -> None:
    results = json.loads((RESULTS / "replay_pairs.json").read_text())
    kept = results["recorded"]["less_events"]
    slow = ROOT / "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
    report = torchtraceap.analyze(slow)
    assert step_less_events(report, "dataloader_bound") == pytest.approx(kept)
