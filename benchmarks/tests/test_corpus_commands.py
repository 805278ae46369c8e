# SPDX-License-Identifier: BSD-3-Clause
"""test_corpus_commands.py: what the commands of a corpus write, resume and refuse."""

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

from benchmarks import DATA, ROOT

pytest.importorskip("torch")

import torchtraceap
from benchmarks.lab.corpus import build, compact, gold, record, runs
from tests.python.alarms import ctrl_c_is_heard as ctrl_c_is_heard

pytestmark = pytest.mark.verify
TINY = DATA / "kineto2021-computeProperties-tiny.json.gz"
MODULE = [sys.executable, "-m"]
#: Seconds, of programs that others run beside.
LONG = 900
RUN = runs.Run("a", "R", "g", "slow", "pose", "hrnet", True, 1)


def command(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    line = [*MODULE, f"{build.LAB}corpus.{script}", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, cwd=ROOT)


def recorded(out: Path, *asked: object) -> dict[str, runs.Run]:
    """Record a pair, however busy the machine is; returns both runs by role."""
    asked = ("--out", out, "--count", 1, "--any", "--seconds", LONG, *asked)
    done = command("record", *asked)
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


def test_a_build_stops_at_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends.py").write_text("import sys; sys.exit(int(sys.argv[1]))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(build, "LAB", "")
    took: list[str] = []
    codes = [build.run_part(took, "ends", code) for code in ("0", "4", "1")]
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
        assert ("--any" in asked["corpus.record"]) == expected
    assert not any("--any" in asked[s] for s in asked if s != "corpus.record")


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


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_a_build_and_its_parts(tmp_path: Path) -> None:
    line = [*MODULE, build.__name__, "--out", tmp_path, "--small"]
    with subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=ROOT
    ) as process:
        time.sleep(8)  # record.py is at work by then, or still starts.
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("stopped; the same command goes on\n")
    assert "build.py" not in said


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
    done = command("record_cuda", *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    said = command("gold", recorded, "--out", out)
    assert said.stdout.startswith("2 runs of source G")
    found = {run.role: run for run in runs.read(out)}
    assert found.keys() == {"slow", "fixed"}
    spans = {}
    for role, run in found.items():
        steps = gold.steps_of(torchtraceap.load(runs.trace_path(out, run.name)))
        spans[role] = steps[-1][1] - steps[0][0]
    moments = runs.read_truth(out, found["slow"].name)[runs.ALL, runs.HOST]
    # Measured without the profiler; if that finds no saving, no window has any.
    (case,) = json.loads((recorded / "manifest.json").read_text())["cases"].values()
    costs = case["label"] != "negative"
    without = spans["fixed" if costs else "slow"]
    assert (moments[:, -1] - moments[:, 0]).tolist() == [spans["slow"], without]
    wrong = command("gold", tmp_path, "--out", out)
    assert wrong.returncode == 2 and "manifest.json is missing" in wrong.stderr


@pytest.mark.parametrize("file", ["runs/a.json", "runs/a.npz", "traces/a.json.gz"])
def test_a_damaged_run_is_named(tmp_path: Path, file: str) -> None:
    truth = {(runs.ALL, 0): np.array([[0, 10], [0, 5]])}
    runs.write(tmp_path, RUN, b'{"traceEvents": []}', truth)
    path = tmp_path / file
    path.write_bytes(path.read_bytes()[:9])
    done = command("compact", tmp_path, "--jobs", 1)
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_corpus_is_labeled_by_rules_whatever_detector_there_is() -> None:
    # compact.py as it is started, not as the tests are, which switch it off anyway.
    asks = (
        "import os, torchtraceap as t; import benchmarks.lab.corpus.compact; "
        f"print(t.analyze({str(TINY)!r}).detection.status, "
        "os.environ['TORCHTRACEAP_DETECTOR'])"
    )
    line = [sys.executable, "-c", asks]
    # It would be refused if it were asked.
    wished = os.environ | {"TORCHTRACEAP_DETECTOR": "/no/weights.safetensors"}
    done = subprocess.run(line, capture_output=True, text=True, env=wished, cwd=ROOT)
    assert done.stdout.split() == ["off", "off"], done.stderr
