# SPDX-License-Identifier: BSD-3-Clause
"""test_pairs_page.py: gains of fixes, predicted and measured; one pair, run shortly."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from benchmarks import RESULTS
from torchtraceap import edits

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")

from benchmarks.lab.corpus.workloads import peer
from benchmarks.pairs import run
from benchmarks.pairs.chosen import chosen
from benchmarks.pairs.page import cells, context, drawing, holds, ratios
from benchmarks.pairs.predicting import Prediction, predict

# Loader workers are forked from a process with threads, which Python 3.12 warns about.
pytestmark = [pytest.mark.verify, pytest.mark.filterwarnings("ignore")]


def row(measured: float, noise: float = 0.0, **predicted: Any) -> dict[str, Any]:
    said = dataclasses.asdict(Prediction(**predicted))
    about = {"pattern": "gc_pause", "slow_ms": 10.0, "others": 0.0}
    return about | said | {"measured": measured, "noise": noise}


RANGE = dict(low=0.1, middle=0.2, high=0.4, replayed=0.4, edit="hide")


def test_a_range_holds_but_for_noise() -> None:
    assert holds(row(0.4, **RANGE)) and holds(row(0.1, **RANGE))
    assert not holds(row(0.45, **RANGE)) and holds(row(0.45, noise=0.06, **RANGE))
    assert not holds(row(0.05, **RANGE)) and not holds(row(0.05))
    assert cells("x", row(0.45, **RANGE))[7] == "**45.0 %**"
    assert cells("x", row(0.01, noise=0.02))[4:8] == [
        "nothing found", "0.0 %", "0.0 %", "1.0 %",
    ]  # fmt: skip


def test_a_refused_gain_is_not_judged() -> None:
    results = {
        "natural": {"a": row(0.5, **RANGE)},
        "pairs": {"b": row(0.9, edit="hide", refusal="too short"), "c": row(0.3)},
    }
    told = context(results)
    # Of one range, which does not hold; pairs without findings count only there.
    measured = [target["measured"] for target in told["targets_of"]]
    assert measured == [0, pytest.approx(0.3), 0.5]
    assert told["refused"] == ["b"] and told["missed"] == 1 and told["loud"] == 0
    assert [line[2] for line in told["ratios"]] == ["1", "1"]
    assert next(ratios([row(0.5, **RANGE)]))[3:] == ["1.25"] * 5


def test_rounds_that_others_disturbed_are_left_out() -> None:
    slow = {"plain_slow": 9.0, "plain_fixed": 9.0, "slow": 10.0}
    quiet = [slow | {"fixed": ms, "others": 0.0} for ms in (8.0, 6.0)]
    loud = slow | {"fixed": 1.0, "others": 0.5}
    told = run.summary([loud, *quiet])
    assert told["measured"] == pytest.approx(0.3) and told["rounds"] == 2
    assert told["noise"] == pytest.approx(0.05)
    assert run.summary([loud, quiet[0]])["rounds"] == 2


def test_the_drawing_is_of_the_kept_figures() -> None:
    results = json.loads((RESULTS / "pairs.json").read_text("utf-8"))
    assert drawing(results) == (RESULTS / "pairs.svg").read_text("utf-8")
    assert len(results["pairs"]) >= 24 and set(results["pairs"]) <= set(chosen())


@pytest.fixture(scope="module")
def reductions() -> Any:
    """Both traces of a pair whose fix lets a slow link work beside the backward pass,
    and how long the link works in a step."""
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch was built without gloo")
    if dist.is_initialized():
        pytest.skip("the process is in a process group already")
    pair = chosen()["sums_after_backward"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer, "BYTES_A_SECOND", 5e6)
        row, traces = run.measured(pair, 0, 4)
    sent = sum(p.nbytes for p in run.Training(run.lab_of(pair)).model.parameters())
    reports = [torchtraceap.analyze(traces[side], quiet=True) for side in run.SIDES]
    return row, *reports, 1e3 * sent / 5e6


def test_a_pair_is_run_and_predicted(reductions: Any) -> None:
    row, slow, fixed, link_ms = reductions
    assert row["slow_ms"] > link_ms and row["fixed_ms"] > link_ms
    said = predict(slow, "comm_exposed")
    assert said.found and not said.refusal
    assert 0 <= said.low <= said.middle <= said.high
    # The link carries one bucket after the other, whatever is beside it.
    assert 0 < said.replayed <= 1 - link_ms / row["slow_ms"]
    assert predict(slow, "gc_pause") == Prediction()
    assert predict(fixed, "comm_exposed").replayed < said.replayed


def saved_us(report: torchtraceap.Report, edit: Any) -> float:
    result = torchtraceap.what_if(report, edit)
    return result.replayed_span_us - result.changed_span_us


def test_collectives_are_named_to_be_overlapped(reductions: Any) -> None:
    _, slow, fixed, link_ms = reductions
    by_name = saved_us(slow, edits.overlap("gloo:*"))
    # Another finding may have some of the waits: a step that took far longer.
    assert 0 < saved_us(slow, "comm_exposed") < 1.05 * by_name
    # Those of the fixed program begin when they can.
    assert saved_us(fixed, edits.overlap("gloo:*")) == 0
    for report in (slow, fixed):
        result = torchtraceap.what_if(report)
        assert math.isclose(result.replayed_span_us, result.span_us, rel_tol=1e-6)
        assert result.critical_path["communication"] > 1e3 * link_ms


def test_traces_are_kept(tmp_path: Path) -> None:
    run.keep(tmp_path / "a", "x", {"slow": b"1", "fixed": b"2"})
    assert (tmp_path / "a" / "x.slow.json.gz").read_bytes() == b"1"
