# SPDX-License-Identifier: BSD-3-Clause
"""test_corpus.py: runs of a corpus, and their truth, whatever the source."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import runs
from hook_times import REST, Steps, factors, moments
from matched_work import twin_moments

import torchtraceap

pytestmark = pytest.mark.verify
CORPUS = Path(runs.__file__).parent
RUN = runs.Run("a", "R", "g", "slow", "pose", "hrnet", True, 1)


def command(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(CORPUS / script), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True)


def test_what_is_saved_of_windows() -> None:
    # From 100 to 200 nothing is left of the second half.
    moments = np.array([[100, 150, 200], [0, 50, 50]])
    begin = np.array([100, 150, 140, 0, 200])
    end = np.array([150, 200, 160, 100, 300])
    found = runs.saved_share(moments, begin, end)
    assert found == pytest.approx([0, 1, 0.5, 0, 0])


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    cause = runs.Cause("sync_stall", "item", 0.5, saved=0.25, line="a.py:3")
    run = runs.Run(**(vars(RUN) | {"causes": (cause,), "recording": {"steps": True}}))
    truth = {("sync_stall", 0): np.array([[0, 10], [0, 5]]), (runs.ALL, 0): None}
    truth[runs.ALL, 0] = truth["sync_stall", 0]
    assert not runs.exists(tmp_path, run.name)
    runs.write(tmp_path, run, b'{"traceEvents": []}', truth)
    assert runs.exists(tmp_path, run.name)
    assert list(runs.read(tmp_path)) == [run]
    back = runs.read_truth(tmp_path, run.name)
    assert back.keys() == truth.keys()
    assert (back[runs.ALL, 0] == truth[runs.ALL, 0]).all()


@pytest.mark.parametrize(
    "moments", [[[0, 10], [5, 0]], [[10, 0], [0, 5]], [[0], [0]], [0, 1]]
)
def test_truth_that_cannot_be_is_refused(tmp_path: Path, moments: list) -> None:
    with pytest.raises(ValueError, match="a: all@0"):
        runs.write(tmp_path, RUN, b"{}", {(runs.ALL, 0): np.array(moments)})
    assert not runs.exists(tmp_path, RUN.name)


def steps_of(*lengths: tuple[int, int, int]) -> Steps:
    """Steps of 1,000 ns, one after the other: fetch, then update, then the rest."""
    steps, at = Steps(), 0
    for fetch, update, rest in lengths:
        middle, end = at + fetch, at + fetch + update
        steps.hooks.append([("fetch", at, middle), ("update", middle, end)])
        steps.spans.append((at, end + rest))
        at = end + rest
    return steps


def test_hooks_that_differ_are_what_is_saved() -> None:
    slow = steps_of(*[(400 + i, 500 - i, 100) for i in range(8)])
    fixed = steps_of(*[(100 + i, 501 - i, 100) for i in range(8)])
    found = factors(slow, fixed)
    assert found == {"fetch": pytest.approx(103.5 / 403.5)}
    before, after = moments(slow, {"fetch": 0.25}, [0, 1], base_ns=0)
    assert list(before) == [
        0,
        0,
        400,
        400,
        900,
        1000,
        1000,
        1000,
        1401,
        1401,
        1900,
        2000,
    ]
    assert list(np.diff(after)) == [0, 100, 0, 500, 100, 0, 0, 100, 0, 499, 100]


def test_rest_of_a_step_counts_too() -> None:
    slow, fixed = steps_of(*[(10, 10, 80)] * 8), steps_of(*[(10, 10, 40)] * 8)
    assert factors(slow, fixed) == {REST: 0.5}


def trace_of(rows: list[tuple[str, str, int, int]]) -> torchtraceap.Trace:
    events = [
        {"ph": "X", "cat": c, "name": n, "ts": t, "dur": d, "pid": 1, "tid": 1}
        for c, n, t, d in rows
    ]
    return torchtraceap.load(json.dumps({"traceEvents": events}).encode())


def test_twins_are_matched_by_their_work() -> None:
    slow = trace_of([
        ("user_annotation", "ProfilerStep#1", 0, 100),
        ("cpu_op", "aten::mm", 10, 20),
        ("cpu_op", "aten::item", 30, 40),
        ("cpu_op", "aten::add", 70, 10),
    ])  # fmt: skip
    fixed = trace_of([
        ("user_annotation", "ProfilerStep#1", 1000, 60),
        ("cpu_op", "aten::mm", 1010, 20),
        ("cpu_op", "aten::add", 1030, 10),
    ])  # fmt: skip
    (found,) = twin_moments(slow, fixed).values()
    us = (found / 1000).tolist()
    assert us == [[0, 10, 30, 70, 80, 100], [1000, 1010, 1030, 1030, 1040, 1060]]
    with pytest.raises(ValueError, match="1 recorded steps beside 0"):
        twin_moments(slow, trace_of([("cpu_op", "aten::mm", 0, 1)]))


def test_recorded_pair_is_labeled_by_what_it_costs(tmp_path: Path) -> None:
    asked = ("--out", tmp_path, "--seed", 3, "--count", 1, "--pairs")
    assert command("record.py", *asked, "unrolled_lstm").returncode == 0
    found = {run.role: run for run in runs.read(tmp_path)}
    slow, fixed = found["slow"], found["fixed"]
    assert (slow.twin, fixed.twin) == (fixed.name, slow.name)
    assert slow.recording == fixed.recording
    (cause,) = slow.causes
    assert cause.pattern == "small_grid" and 0.05 < cause.saved < 1
    assert fixed.causes == ()
    # The clock of the truth is the trace's.
    begin, end = runs.read_truth(tmp_path, slow.name)[runs.ALL, runs.HOST][0, [0, -1]]
    times = torchtraceap.load(runs.trace_path(tmp_path, slow.name)).columns
    assert abs(times["ts"].min() - begin) < 0.2 * (end - begin)
    again = command("record.py", *asked, "unrolled_lstm")
    assert again.stdout == ""


def test_gold_is_what_was_recorded(tmp_path: Path) -> None:
    recorded, out = tmp_path / "recorded", tmp_path / "corpus"
    names = "loop_over_samples.cnn"
    command("record_cuda.py", "--device", "cpu", "--out", recorded, "--pairs", names)
    said = command("gold.py", recorded, "--out", out)
    assert said.stdout.startswith("2 runs of source G")
    found = {run.role: run for run in runs.read(out)}
    assert found.keys() == {"slow", "fixed"}
    before, after = runs.read_truth(out, found["slow"].name)[runs.ALL, runs.HOST]
    assert after[-1] - after[0] < 0.95 * (before[-1] - before[0])
    wrong = command("gold.py", tmp_path, "--out", out)
    assert wrong.returncode == 2 and "manifest.json is missing" in wrong.stderr
