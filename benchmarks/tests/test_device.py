# SPDX-License-Identifier: BSD-3-Clause
"""test_device.py: the command for a machine with a GPU, rehearsed as on one without."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks import ROOT

DEVICE = ROOT / "benchmarks" / "device"
# Kept for the next run, like any build.
FOLDER = ROOT / "build" / "device-rehearsal"
NAMES = ["build", "machine", "tests", "probes", "scores", "live", "estimates", "pairs"]

pytestmark = pytest.mark.verify


def can_rehearse() -> bool:
    tools = all(map(shutil.which, ("unshare", "apt-get", "dpkg-deb")))
    isolated = ["unshare", "--net", "--mount", "true"]
    return tools and subprocess.run(isolated, capture_output=True).returncode == 0


@pytest.mark.timeout(3000)
@pytest.mark.skipif(not can_rehearse(), reason="needs root, unshare and apt-get")
def test_a_bare_machine_builds_tests_and_measures() -> None:
    shutil.rmtree(FOLDER / "out", ignore_errors=True)
    command = [DEVICE / "rehearse.sh", FOLDER, "--minutes", "40"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    out = FOLDER / "out"
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) <= 8
    assert sum(path.stat().st_size for path in files) < 40e6
    results = json.loads((out / "results.json").read_text("utf-8"))
    states = {step["name"]: step["state"] for step in results["steps"]}
    assert states == dict.fromkeys(NAMES, "passed")
    summary = (out / "summary.txt").read_text("utf-8").splitlines()
    assert summary[0].startswith("all steps passed. On cpu, ")
    assert len(summary) <= 50 and max(map(len, summary)) <= 98
    with tarfile.open(out / "logs.tar.gz") as tar:
        logs = [name.partition("-")[2] for name in tar.getnames()]
    assert sorted(logs) == sorted(f"{name}.log" for name in NAMES)
    found = {step["name"]: step["found"] for step in results["steps"]}
    assert all(
        check["holds"] for one in found.values() for check in one.get("checks", [])
    )
    assert len(found["estimates"]) > 6 and found["pairs"]["counts"]["recorded"] == 3
    # The libraries are those that were brought along.
    site = FOLDER / "tree" / "build" / "device-site" / "site-packages"
    (module,) = (site / "torchtraceap").glob("_core.*.so")
    linked = subprocess.run(["ldd", module], capture_output=True, text=True).stdout
    for library in ("libsimdjson", "libisal"):
        assert f"{library}.so" in linked
        assert f"=> {FOLDER}/packages/usr/lib" in linked.partition(library)[2]


# --- The steps' own rules, on steps that do nothing --------------------------------


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DEVICE))
    import run_steps

    def run(
        *scripts: tuple[str, str, float | None], minutes: str = "1", chosen: str = ""
    ) -> dict:
        def command(text: str):
            return lambda given, seconds: ["bash", "-c", text.format(out=given.out)]

        steps = tuple(
            run_steps.Step(key, f"step{key}", seconds, command(text))
            for key, text, seconds in scripts
        )
        monkeypatch.setattr(run_steps, "STEPS", steps)
        monkeypatch.setattr(run_steps, "KILL_AFTER_S", 0.5)
        monkeypatch.setattr(run_steps, "SLACK", 1)
        (tmp_path / "packages").mkdir(exist_ok=True)
        version = f"for CPython {sys.version_info[0]}.{sys.version_info[1]} on x86-64"
        (tmp_path / "packages" / "contents.txt").write_text(version)
        options = ["--out", str(tmp_path / "out"), "--minutes", minutes]
        options += ["--device", "cpu"]
        options += ["--packages", str(tmp_path / "packages")]
        options += ["--steps", chosen or "".join(key for key, _, _ in scripts)]
        code = run_steps.main(options)
        text = (tmp_path / "out" / "results.json").read_text("utf-8")
        summary = (tmp_path / "out" / "summary.txt").read_text("utf-8")
        steps_of = {one["name"]: one for one in json.loads(text)["steps"]}
        return {"code": code, "steps": steps_of, "summary": summary}

    return run


def test_a_step_that_fails_or_hangs_stops_no_other(runner) -> None:
    ended = runner(
        ("a", "echo no way; exit 3", 30),
        ("b", "trap '' TERM; sleep 1000 & sleep 1000", 9),
        ("c", 'echo \'{{"lines": ["all is well"]}}\' >{out}/stepc.json', None),
    )
    assert ended["code"] == 1
    states = [one["state"] for one in ended["steps"].values()]
    assert states == [
        "failed with exit code 3",
        "stopped at its limit of 9 s",
        "passed",
    ]
    assert "no way" in ended["summary"] and "all is well" in ended["summary"]
    assert ended["steps"]["stepb"]["seconds"] < 15


def test_without_time_a_step_is_not_begun(runner) -> None:
    ended = runner(("a", "sleep 2", 30), ("b", "true", 30), minutes="0.4")
    states = [one["state"] for one in ended["steps"].values()]
    assert states == ["passed", "not begun: no time was left"]


def test_what_a_step_leaves_behind_is_ended(runner, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    assert runner(("a", f"sleep 1000 & echo $! >{pid}", 30))["code"] == 0
    status = Path("/proc", pid.read_text().strip(), "status")
    # It may not have been collected yet.
    assert not status.exists() or "\nState:\tZ" in status.read_text("utf-8")


def test_a_second_run_keeps_what_it_does_not_run(runner, tmp_path: Path) -> None:
    steps = [("a", "echo one; exit 3", 30), ("b", "echo two", 30)]
    assert runner(*steps)["code"] == 1
    ended = runner(*steps, chosen="b")
    assert ended["code"] == 0 and list(ended["steps"]) == ["stepa", "stepb"]
    assert "NOT PASSED: stepa." in ended["summary"] and "  one" in ended["summary"]
    assert "stepa: failed with exit code 3, 0.0 s (an earlier run)" in ended["summary"]
    with tarfile.open(tmp_path / "out" / "logs.tar.gz") as tar:
        assert sorted(tar.getnames()) == ["a-stepa.log", "b-stepb.log"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--minutes", "0"], "--minutes is above 0"),
        (["--steps", "az"], "no step is called z"),
        (["--packages", "/nowhere"], "prepare.sh did not fill this folder"),
    ],
)
def test_usage(options: list[str], message: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", DEVICE / "run.sh", "--out", tmp_path, *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and message in done.stderr
