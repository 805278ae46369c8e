# SPDX-License-Identifier: BSD-3-Clause
"""test_corpus.py: runs of a corpus, and their truth, whatever the source."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torchtraceap
from benchmarks.lab.corpus import hook_times, runs
from benchmarks.lab.corpus.gold import twin_moments
from benchmarks.lab.corpus.hook_times import (
    REST,
    Operators,
    Steps,
    cut,
    doubt,
    factors,
    moments,
)
from benchmarks.lab.corpus.window_rows import bounds, labels

pytestmark = pytest.mark.verify
RUN = runs.Run("a", "R", "g", "slow", "pose", "hrnet", True, 1)


def test_what_is_saved_of_windows() -> None:
    # From 100 to 200 nothing is left of the second half.
    moments = np.array([[100, 150, 200], [0, 50, 50]])
    begin = np.array([100, 150, 140, 0, 200])
    end = np.array([150, 200, 160, 100, 300])
    found = runs.saved_share(moments, begin, end)
    assert found == pytest.approx([0, 1, 0.5, 0, 0])


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    cause = runs.Cause("sync_stall", "item", 0.5, saved=0.25, line="a.py:3")
    cause = replace(cause, also=("pageable_copy",))
    run = replace(RUN, causes=(cause,), recording={"steps": True}, held_out=True)
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


def test_hooks_that_differ_by_chance_or_hardly_are_no_saving() -> None:
    # One hook of three differs as one in 140 alike does: too often; by 2 % of a step.
    lengths = [4000, 4010, 4020, 4030, 4040, 4050, 4060, 4070]
    other = [3900, 3910, 3920, 3930, 3940, 3950, 4025, 4035]
    slow = steps_of(*[(n, 300, 100) for n in lengths])
    fixed = steps_of(*[(n, 300, 100) for n in other])
    assert factors(slow, fixed) == {}
    # 1 % of the step, in each of its steps.
    slow, fixed = steps_of(*[(110, 800, 90)] * 8), steps_of(*[(100, 800, 90)] * 8)
    assert factors(slow, fixed) == {}


def test_uneven_steps_leave_a_doubt() -> None:
    even = steps_of(*[(400 + n % 3, 500, 100) for n in range(9)])
    uneven = steps_of(*[(100 * n, 500, 100) for n in range(1, 10)])
    assert doubt(even, even, {}) < 0.005
    # Quartiles 300 and 700 of a median step of 1,100: 371 / 3 a median, 1.96 of which.
    assert doubt(uneven, even, {}) == pytest.approx(1.96 * 371 / 3 / 1100, rel=0.01)
    # What was found to differ is no longer in doubt.
    assert doubt(uneven, even, {"fetch"}) == 0


def operators(*rows: tuple[str, int, int]) -> Operators:
    names, begin, end = zip(*rows, strict=True)
    return Operators(np.array(names, object), np.array(begin), np.array(end))


def test_a_hook_saves_where_the_twin_has_nothing() -> None:
    ours = operators(("mm", 10, 30), ("item", 50, 80), ("add", 90, 100))
    theirs = operators(("mm", 1010, 1030), ("add", 1040, 1050))
    hook, other = ("score", 0, 110), ("score", 1000, 1060)
    # 60 ns from mm to add are 10 in the twin: what is saved is taken from there.
    assert cut(ours, theirs, hook, other, 50) == [
        (10, 10), (30, 20), (90, 10), (100, 10), (110, 10),
    ]  # fmt: skip
    assert cut(ours, theirs, hook, other, 20)[2] == (90, 40)
    # More than that was measured: the rest comes from everywhere.
    lengths = [length for _, length in cut(ours, theirs, hook, other, 80)]
    assert sum(lengths) == 30 and lengths[2] < 10
    assert cut(ours, operators(("sub", 1, 2)), hook, other, 50) is None


def test_python_between_the_same_operators_is_found_by_its_length() -> None:
    ours = operators(("mm", 10, 30), ("add", 90, 100))
    theirs = operators(("mm", 1010, 1030), ("add", 1040, 1050))
    found = cut(ours, theirs, ("score", 0, 110), ("score", 1000, 1060), 30)
    assert found == [(10, 10), (30, 20), (90, 30), (100, 10), (110, 10)]


def test_moments_follow_the_pieces_of_a_hook() -> None:
    slow = steps_of((400, 500, 100))
    pieces = {(0, 0): [(100, 100), (300, 0), (400, 100)]}
    before, after = moments(
        slow, {}, [0], 0, lambda step, place: pieces.get((step, place))
    )
    assert np.interp([50, 100, 200, 300, 400, 1000], before, after).tolist() == [
        50, 100, 100, 100, 200, 800,
    ]  # fmt: skip


def windows_of(run: runs.Run, truth: dict, most: dict, count: int) -> dict:
    """Return labels of windows of 100 ns on device 0, by pattern."""
    names = ["sync_stall", "launch_bound", "missed_cuda_graph", "small_grid"]
    begin = 100 * np.arange(count)
    device = np.zeros(count, int)
    most = {name: np.array(bound) for name, bound in most.items()}
    found = labels(truth, run, names, begin, begin + 100, device, most)[0]
    return dict(zip(names, found.T.tolist(), strict=True))


def test_what_nobody_took_out_is_unknown_where_it_could_matter() -> None:
    run = replace(RUN, unknown=("small_grid",))
    truth = {("small_grid", 0): np.array([[0, 100, 200, 400], [0, 90, 190, 390]])}
    found = windows_of(run, truth, {"small_grid": [0.3, 0.01, 0.02, 0.5]}, 4)
    expected = pytest.approx([0.1, 0, np.nan, np.nan], nan_ok=True)
    assert found["small_grid"] == expected
    assert found["sync_stall"] == [0, 0, 0, 0]
    assert all(np.isnan(v).all() for v in windows_of(
        replace(run, complete=False), {}, {"small_grid": [0.0]}, 1
    ).values())  # fmt: skip


def test_what_a_fix_removes_besides_saves_at_most_what_the_cause_does() -> None:
    causes = (runs.Cause("launch_bound", "x", 1.0, also=("missed_cuda_graph",)),)
    truth = {("launch_bound", 0): np.array([[0, 100, 200, 300], [0, 60, 160, 259]])}
    found = windows_of(replace(RUN, causes=causes), truth, {}, 3)
    assert found["launch_bound"] == pytest.approx([0.4, 0, 0.01])
    assert found["missed_cuda_graph"] == pytest.approx([np.nan, 0, 0], nan_ok=True)
    # What is known of it stays.
    truth["missed_cuda_graph", 0] = np.array([[0, 300], [0, 300]])
    found = windows_of(replace(RUN, causes=causes), truth, {}, 3)
    assert found["missed_cuda_graph"] == [0, 0, 0]


def test_bounds_are_shares_of_the_window_that_such_work_takes() -> None:
    rows = [
        ("kernel", "direct_copy_kernel", 0, 30), ("kernel", "elementwise", 30, 20),
        ("kernel", "sgemm", 50, 50),
        ("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 150, 100),
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 260, 40),
    ]  # fmt: skip
    events = [
        {"ph": "X", "cat": c, "name": n, "ts": t, "dur": d, "pid": 0, "tid": 7,
         "args": {"device": 0, "stream": 7, "correlation": i}}
        for i, (c, n, t, d) in enumerate(rows)
    ]  # fmt: skip
    trace = torchtraceap.load(json.dumps({"traceEvents": events}).encode())
    columns = ["busy", "elementwise", "reductions", "matrix", "op_copies",
               "elementwise_time", "matrix_time", "op_copy_time"]  # fmt: skip
    # A host busy with copies; one with a tenth of additions; an unknown one.
    features = np.array([
        [1, 0, 0, 0, 1, 0, 0, 1], [0.5, 0.1, 0, 0, 0, 0.05, 0, 0],
        [0.9, *[np.nan] * 7], [np.nan] * 8,
    ])  # fmt: skip
    begin = np.array([0, 100_000, 200_000, 0])
    device = np.array([0, 0, 0, runs.HOST])
    found = bounds(trace, columns, features, begin, begin + 100_000, device)
    assert found["redundant_d2d"] == pytest.approx([0.3, 0.5, 0.6, 1])
    # Late on additions and what goes with them: that counts too.
    assert found["fusible_chain"] == pytest.approx([0.2, 0.25, 0.1, 1])
    # No operator is a batched product.
    assert found["unfused_attention"] == pytest.approx([0, 0, 0, 1])
    # Where no bound is known a run may name the pattern all the same.
    assert "small_grid" not in found


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


def test_of_too_many_operators_a_hook_is_not_cut() -> None:
    rows = [("mm", i, i + 1) for i in range(hook_times.MOST_OPERATORS // 2)]
    ours, theirs = operators(*rows), operators(*rows)
    hook = ("score", 0, len(rows) + 10)
    assert cut(ours, theirs, hook, hook, 10) is not None
    more = operators(*rows, ("mm", len(rows), len(rows) + 1))
    assert cut(more, theirs, hook, hook, 10) is None
