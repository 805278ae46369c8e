# SPDX-License-Identifier: BSD-3-Clause
"""test_corpus.py: runs of a corpus, and their truth, whatever the source."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import build
import compact
import hook_places
import matched_work
import record
import runs
from hook_places import Operators, cut
from hook_times import REST, Steps, doubt, factors, moments
from matched_work import twin_moments
from window_bounds import bounds
from window_rows import labels

import torchtraceap

pytestmark = pytest.mark.verify
CORPUS = Path(runs.__file__).parent
#: Seconds, of programs that others run beside.
LONG = 900
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
    # A host that was on copies; one of a tenth of additions; one nobody knows.
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
    rows = [("mm", i, i + 1) for i in range(hook_places.MOST_OPERATORS // 2)]
    ours, theirs = operators(*rows), operators(*rows)
    hook = ("score", 0, len(rows) + 10)
    assert cut(ours, theirs, hook, hook, 10) is not None
    more = operators(*rows, ("mm", len(rows), len(rows) + 1))
    assert cut(more, theirs, hook, hook, 10) is None


def recorded(out: Path, *asked: object) -> dict[str, runs.Run]:
    """Record a pair, however busy the machine is; returns both runs by role."""
    asked = ("--out", out, "--count", 1, "--any", "--seconds", LONG, *asked)
    done = command("record.py", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    return {run.role: run for run in runs.read(out)}


@pytest.mark.timeout(LONG)
def test_recorded_pair_is_labeled_by_what_it_costs(tmp_path: Path) -> None:
    asked = ("--seed", 3, "--pairs", "unrolled_lstm")
    found = recorded(tmp_path, *asked)
    assert found.keys() == {"slow", "fixed"}
    slow, fixed = found["slow"], found["fixed"]
    assert (slow.twin, fixed.twin) == (fixed.name, slow.name)
    assert slow.recording == fixed.recording
    (cause,) = slow.causes
    assert cause.pattern == "small_grid" and cause.also == ("launch_bound",)
    assert fixed.causes == ()
    truth = runs.read_truth(tmp_path, slow.name)
    assert truth.keys() == {("small_grid", runs.HOST), (runs.ALL, runs.HOST)}
    moments = truth[runs.ALL, runs.HOST]
    before, after = moments[:, -1] - moments[:, 0]
    assert cause.saved == pytest.approx(1 - after / before)
    # The clock of the truth is the trace's.
    times = torchtraceap.load(runs.trace_path(tmp_path, slow.name)).columns["ts"]
    assert moments[0, 0] < np.median(times) < moments[0, -1]
    # What the fixed twin saves is nothing.
    (before, after) = runs.read_truth(tmp_path, fixed.name)[runs.ALL, runs.HOST]
    assert (before == after).all()
    written = [runs.written_at(tmp_path, run.name) for run in (slow, fixed)]
    assert recorded(tmp_path, *asked) == found
    assert written == [runs.written_at(tmp_path, run.name) for run in (slow, fixed)]


def test_steps_too_uneven_are_left_out_but_where_any_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "doubt", lambda *of: 0.5)
    monkeypatch.setattr(record, "ROUNDS", 1)
    monkeypatch.setattr(record, "MOST_ROUNDS", 1)
    (draw,) = record.draws(1, 1, {"loss_printed"})
    with pytest.raises(record.UnevenError, match="is the machine idle"):
        record.record_pair(tmp_path, draw)
    assert not list(runs.read(tmp_path))
    record.record_pair(tmp_path, draw, most_doubt=np.inf)
    assert {run.role for run in runs.read(tmp_path)} == {"slow", "fixed"}


def test_one_draw_that_is_left_out_is_no_reason_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[float] = []

    def uneven(out: Path, draw: record.Draw, most_doubt: float) -> str:
        asked.append(most_doubt)
        if len(asked) == 1:
            raise record.UnevenError("who knows")
        return "fine"

    monkeypatch.setattr(record, "record_pair", uneven)
    monkeypatch.setattr(record.Compiles, "backend", record.Compiles.backend)
    line = ["--out", str(tmp_path), "--count", "2"]
    assert record.main(line) == record.LEFT_OUT
    assert "left out: who knows" in capsys.readouterr().out
    assert record.main([*line, "--any"]) == 0
    assert asked == [record.MOST_DOUBT] * 2 + [np.inf] * 2


@pytest.mark.timeout(LONG)
def test_broken_graphs_are_recorded_when_all_is_compiled(tmp_path: Path) -> None:
    found = recorded(tmp_path, "--seed", 4, "--pairs", "graph_break_per_block")
    (cause,) = found["slow"].causes
    assert cause.pattern == "graph_break" and cause.also == ("launch_bound",)
    names = torchtraceap.load(runs.trace_path(tmp_path, found["slow"].name)).strings
    assert any(name.startswith("Torch-Compiled Region: 1/") for name in names)
    assert not any("compile_inner" in name for name in names)


def test_a_draw_that_takes_too_long_is_left_out() -> None:
    with pytest.raises(TimeoutError, match="longer than 1 s"), record.within(1):
        while True:
            pass
    patterns = {draw.pair.pattern for draw in record.draws(1, 200, set())}
    assert "graph_break" in patterns and "recompile_or_lazy_load" not in patterns


def test_a_build_stops_at_what_failed(tmp_path: Path) -> None:
    script = tmp_path / "ends.py"
    script.write_text("import sys; sys.exit(int(sys.argv[1]))\n")
    took: list[str] = []
    codes = [build.run_part(took, str(script), code) for code in ("0", "4", "1")]
    assert codes == [0, 0, 1]
    assert len(took) == 3
    runs.write(tmp_path, RUN, b"{}", {})
    assert build._all_made(tmp_path) == build.NOTHING_MADE
    for source in "SP":
        runs.write(tmp_path, replace(RUN, name=source, source=source), b"{}", {})
    assert build._all_made(tmp_path) == 0


def test_only_a_trial_takes_what_is_uneven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, tuple[str, ...]] = {}

    def noted(took: list[str], script: str, *arguments: str) -> int:
        asked[script] = arguments
        return 0

    monkeypatch.setattr(build, "run_part", noted)
    monkeypatch.setattr(build, "_all_made", lambda out: 0)
    for more, expected in (([], False), (["--small"], True)):
        assert build.main(["--out", str(tmp_path / str(expected)), *more]) == 0
        assert ("--any" in asked["record.py"]) == expected
    assert not any("--any" in asked[s] for s in asked if s != "record.py")


def test_a_folder_is_of_one_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "run_part", lambda *of: 0)
    monkeypatch.setattr(build, "_all_made", lambda out: 0)
    out = tmp_path / "corpus"
    (out / "runs").mkdir(parents=True)  # As of a corpus made before folders told.
    line = ["--out", str(out), "--seed", "3"]
    assert build.main([*line, "--small"]) == 0
    told = json.loads((out / "made_with.json").read_text("utf-8"))
    assert told == {"seed": 3, "small": True}
    assert build.main([*line, "--small"]) == 0
    for other in (line, ["--out", str(out), "--small"]):
        capsys.readouterr()
        assert build.main(other) == 2
        said = capsys.readouterr().err
        assert "was made with --seed 3 --small: ask for that, or" in said
        assert said.count("\n") == 1
    (out / "made_with.json").write_text("{}")
    assert build.main(line) == 2
    assert "is damaged" in capsys.readouterr().err


def test_what_is_no_folder_or_no_seed_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert build.main(["--out", str(file)]) == 2
    assert build.main(["--out", str(file / "inside")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "is a file, not a folder" in said[0]
    for main in (build.main, record.main):
        with pytest.raises(SystemExit, match="2"):
            main(["--out", str(tmp_path / "new"), "--seed", "-1"])
        assert "a seed is 0 or more, not '-1'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        record.main(["--out", str(file)])
    assert "is no folder" in capsys.readouterr().err
    assert file.read_text() == "mine" and not (tmp_path / "new").exists()


def test_ctrl_c_ends_a_build_and_its_parts(tmp_path: Path) -> None:
    line = [sys.executable, CORPUS / "build.py", "--out", tmp_path, "--small"]
    with subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        time.sleep(8)  # record.py is at work by then, or still starts.
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("stopped; the same command goes on\n")
    assert "build.py" not in said


def test_gates_read_a_run_at_least(tmp_path: Path) -> None:
    done = command("gates.py", tmp_path, "--most", "0")
    assert done.returncode == 2 and "--most is at least 1" in done.stderr


def test_who_is_stopped_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(file, **arrays) -> None:
        file.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", stopped)
    with pytest.raises(KeyboardInterrupt):
        compact._save(tmp_path / "a.npz", events=np.zeros(3))
    assert not (tmp_path / "a.npz").exists()


def test_parts_are_made_anew_when_their_code_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compact.code_hash()
    for name in compact.PARTS_CODE:
        (tmp_path / name).write_bytes((compact.CODE / name).read_bytes())
    monkeypatch.setattr(compact, "CODE", tmp_path)
    assert compact.code_hash() == before
    compact.fresh(tmp_path, tokens=False)
    part = compact.part_path(tmp_path, "a")
    part.write_bytes(b"")
    compact.fresh(tmp_path, tokens=False)
    assert part.exists()
    with (tmp_path / "window_rows.py").open("a") as file:
        file.write("# Another way.\n")
    compact.fresh(tmp_path, tokens=False)
    assert not part.exists()


@pytest.mark.timeout(LONG)
def test_gold_is_what_was_recorded(tmp_path: Path) -> None:
    recorded, out = tmp_path / "recorded", tmp_path / "corpus"
    asked = ("--device", "cpu", "--out", recorded, "--pairs", "unrolled_lstm.lstm")
    done = command("record_cuda.py", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    said = command("gold.py", recorded, "--out", out)
    assert said.stdout.startswith("2 runs of source G")
    found = {run.role: run for run in runs.read(out)}
    assert found.keys() == {"slow", "fixed"}
    spans = {}
    for role, run in found.items():
        steps = matched_work.steps_of(torchtraceap.load(runs.trace_path(out, run.name)))
        spans[role] = steps[-1][1] - steps[0][0]
    moments = runs.read_truth(out, found["slow"].name)[runs.ALL, runs.HOST]
    # Measured without the profiler; if that finds no saving, no window has any.
    (case,) = json.loads((recorded / "manifest.json").read_text())["cases"].values()
    costs = case["label"] != "negative"
    without = spans["fixed" if costs else "slow"]
    assert (moments[:, -1] - moments[:, 0]).tolist() == [spans["slow"], without]
    wrong = command("gold.py", tmp_path, "--out", out)
    assert wrong.returncode == 2 and "manifest.json is missing" in wrong.stderr


@pytest.mark.parametrize("file", ["runs/a.json", "runs/a.npz", "traces/a.json.gz"])
def test_a_damaged_run_is_named(tmp_path: Path, file: str) -> None:
    truth = {(runs.ALL, 0): np.array([[0, 10], [0, 5]])}
    runs.write(tmp_path, RUN, b'{"traceEvents": []}', truth)
    path = tmp_path / file
    path.write_bytes(path.read_bytes()[:9])
    done = command("compact.py", tmp_path, "--jobs", 1)
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr
