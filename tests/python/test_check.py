# SPDX-License-Identifier: BSD-3-Clause
"""test_check.py: ``torchtraceap check`` and compare, as a job in CI runs them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import torchtraceap
from torchtraceap.cli import main
from torchtraceap.gate.budget import read_budget

from .trace_builder import loader_trace


class Done(NamedTuple):
    """How the program ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]
BEFORE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
AFTER = "kineto2021-v100-resnet50-workers4.json.gz"
BUDGET = "min_busy = 0.6\n[patterns.dataloader_bound]\nmax_count = 0\n"


@pytest.fixture
def job(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two traces and a budget."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(data / BEFORE, "before.json.gz")
    shutil.copy(data / AFTER, "after.json.gz")
    shutil.copy(data / "cpu-macos-resnet18.json.gz", "cpu.json.gz")
    (tmp_path / "budget.toml").write_text(BUDGET)
    return tmp_path


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the program in this process; as a process of its own it is the same."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Done(code, *capsys.readouterr())

    return run


def test_exit_codes(job: Path, program: Run) -> None:
    within = program("check", "after.json.gz", "--budget", "budget.toml")
    assert (within.returncode, within.stderr) == (0, "")
    assert within.stdout == "after.json.gz: within budget (2 limits)\n"
    over = program("check", "before.json.gz", "after.json.gz", "--budget=budget.toml")
    assert over.returncode == 1
    lines = over.stdout.splitlines()
    assert lines[0] == "before.json.gz: over budget: 2 of 2 limits broken"
    assert any(line.startswith("  resnet50_profiler_api.py:42: ") for line in lines)
    assert lines[-1].startswith("after.json.gz: within budget")
    # A loader that is waited for shows without a device too, a wait for it does not.
    budget = BUDGET.replace("dataloader_bound", "sync_stall")
    Path("budget.toml").write_text(budget)
    untold = program("check", "cpu.json.gz", "--budget", "budget.toml")
    assert untold.returncode == 1
    limits = "min_busy, patterns.sync_stall.max_count"
    assert f"  undetermined: {limits}: the trace has no device" in untold.stdout
    assert "not known to be within budget: 2 of 2 undetermined" in untold.stdout
    Path("budget.toml").write_text("unknown = 'pass'\n" + budget)
    passes = program("check", "cpu.json.gz", "--budget", "budget.toml")
    assert passes.returncode == 0
    assert "2 undetermined, which may pass" in passes.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["after.json.gz"], "no budget or baseline is given. Use --budget FILE"),
        (["after.json.gz", "--budget", "no.toml"], "no.toml: No such file"),
        (["after.json.gz", "--config", "empty.toml"], "empty.toml limits nothing"),
        (["after.json.gz", "--budget", "empty.toml"], "empty.toml limits nothing"),
        (["no.json", "--budget", "budget.toml"], "no.json"),
        (["budget.toml", "--budget", "budget.toml"], "budget.toml"),
        (["after.json.gz", "--baseline", "no.json"], "no.json"),
        (["after.json.gz", "--baseline", "budget.toml"], "budget.toml"),
        (["after.json.gz", "cpu.json.gz", "--baseline", "before.json.gz"], "one trace"),
        (
            ["after.json.gz", "--budget", "budget.toml", "--json", "after.json.gz"],
            "would overwrite after.json.gz",
        ),
        (
            ["after.json.gz", "--budget", "budget.toml", "--markdown", "./budget.toml"],
            "would overwrite budget.toml",
        ),
        (["after.json.gz", "--write-budget", "after.json.gz"], "would overwrite"),
        (
            ["after.json.gz", "--budget", "budget.toml", "--sarif", "no/f.sarif"],
            "Give --sarif a file in a folder that exists",
        ),
        (["after.json.gz", "--write-budget", "b", "--headroom", "2"], "from 0 to 1"),
    ],
)
def test_bad_input_is_told(
    arguments: list[str], message: str, job: Path, program: Run
) -> None:
    Path("empty.toml").write_text("[budget]\n")
    before = {path.name: path.read_bytes() for path in job.iterdir()}
    done = program("check", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name: path.read_bytes() for path in job.iterdir()} == before


def test_the_project_has_the_budget(job: Path, program: Run) -> None:
    Path("pyproject.toml").write_text("[tool.torchtraceap.budget]\nmin_busy = 0.6\n")
    assert program("check", "before.json.gz").returncode == 1
    assert program("check", "after.json.gz").returncode == 0
    # A budget is not a setting, so analyze ignores it.
    assert program("analyze", "cpu.json.gz").returncode == 0


def test_all_forms_say_the_same(job: Path, program: Run) -> None:
    forms = ("json", "sarif", "markdown")
    options = [f"--{form}=out.{form}" for form in forms]
    traces = ("before.json.gz", "after.json.gz")
    done = program("check", *traces, "--budget=budget.toml", *options)
    assert done.returncode == 1
    form = json.loads(Path("out.json").read_text())
    assert form["passes"] is False
    assert [trace["passes"] for trace in form["traces"]] == [False, True]
    found = [limit["limit"] for limit in form["traces"][0]["limits"]]
    assert found == ["min_busy", "patterns.dataloader_bound.max_count"]
    results = [
        [result["ruleId"] for result in run["results"]]
        for run in json.loads(Path("out.sarif").read_text())["runs"]
    ]
    assert results == [["dataloader_bound"], []]
    markdown = Path("out.markdown").read_text("utf-8")
    assert "1 of 2 traces over budget" in markdown
    assert "`resnet50_profiler_api.py:42`" in markdown
    assert "within budget (2 limits)" in markdown


@pytest.mark.parametrize("headroom", ["0", "0.1"])
def test_a_written_budget_is_kept(headroom: str, job: Path, program: Run) -> None:
    """Also without headroom, by what it was made of; and not by something worse."""
    write = ("--write-budget", "new.toml", "--headroom", headroom)
    assert program("check", "after.json.gz", *write).returncode == 0
    assert program("check", "after.json.gz", "--budget=new.toml").returncode == 0
    assert program("check", "before.json.gz", "--budget=new.toml").returncode == 1
    assert (
        program("check", *("before.json.gz", "after.json.gz"), *write).returncode == 0
    )
    for name in ("before.json.gz", "after.json.gz"):
        assert program("check", name, "--budget=new.toml").returncode == 0


def test_a_budget_written_of_any_trace_is_kept(data: Path, tmp_path: Path) -> None:
    from torchtraceap.gate.ratchet import budget_toml

    for path in sorted(data.glob("*.json.gz")):
        report = torchtraceap.analyze(path)
        if report.quality.verdict == "unusable":
            with pytest.raises(ValueError, match="unusable"):
                budget_toml([report], 0.0)
            continue
        (tmp_path / "b.toml").write_text(budget_toml([report], 0.0))
        budget = read_budget(tmp_path / "b.toml")
        assert [v.message for v in budget.check(report)] == []


def test_a_baseline(job: Path, program: Run) -> None:
    program("analyze", "before.json.gz", "--json", "before.json")
    for baseline in ("before.json", "before.json.gz"):
        done = program("check", "after.json.gz", "--baseline", baseline, "--json=-")
        assert done.returncode == 1
        (trace,) = json.loads(done.stdout)["traces"]
        worse = {limit["limit"]: limit["passes"] for limit in trace["limits"]}
        assert worse == {
            "baseline.slower": True,
            "baseline.new": False,
            "baseline.grown": True,
        }
        assert trace["comparison"]["step_us"]["counts"]
    same = program("check", "before.json.gz", "--baseline", "before.json")
    assert same.returncode == 0
    both = program(
        "check", "before.json.gz", "--baseline=before.json", "--budget=budget.toml"
    )
    assert "over budget: 2 of 5 limits broken" in both.stdout


def test_the_folders_of_a_program_that_moved(job: Path, program: Run) -> None:
    for name in ("main", "branch"):
        trace = loader_trace(file=f"/ci/{name}/train.py", waits_us=[5000] * 6)
        Path(f"{name}.json").write_bytes(trace)
    pair = ("main.json", "branch.json")
    roots = ("--root", "/ci/main", "--root", "/ci/branch")
    check = ("check", "branch.json", "--baseline", "main.json")
    for command in (("compare", *pair, "--fail-on", "new"), check):
        assert program(*command).returncode == 1
        assert program(*command, *roots).returncode == 0


def test_a_budget_may_say_what_becomes_of_an_unknown_baseline(
    job: Path, program: Run
) -> None:
    """That needs no limit of its own."""
    Path("budget.toml").write_text("unknown = 'pass'\n")
    same = ("check", "cpu.json.gz", "--baseline", "cpu.json.gz")
    assert program(*same).returncode == 1  # It has no steps: slower is undetermined.
    assert program(*same, "--budget", "budget.toml").returncode == 0


def test_compare_by_exit_code(job: Path, program: Run) -> None:
    pair = ("before.json", "after.json")
    for report in pair:
        program("analyze", f"{report}.gz", "--json", report)
    assert program("compare", *pair).returncode == 0
    assert program("compare", *pair, "--fail-on", "slower").returncode == 0
    assert program("compare", *pair, "--fail-on", "new,slower").returncode == 1
    assert program("compare", *reversed(pair), "--fail-on=slower").returncode == 1
    cpu = ("compare", "cpu.json.gz", "cpu.json.gz")
    untold = program(*cpu, "--fail-on", "slower")
    assert untold.returncode == 1
    assert "undetermined, for not both traces have steps" in untold.stdout
    assert program(*cpu, "--fail-on", "new,grown").returncode == 0
    bad = program("compare", *pair, "--fail-on", "worse")
    assert bad.returncode == 2
    assert "'worse' is not one of slower, new, grown" in bad.stderr
    missing = program("compare", "before.json", "no.json")
    assert (missing.returncode, "no.json" in missing.stderr) == (2, True)
    Path("cut.json").write_text('{"schema_version": 1, "tool": {"name": "torchtraceap"')
    cut = program("compare", "cut.json", "after.json")
    assert (cut.returncode, "is not a complete report" in cut.stderr) == (2, True)


def test_the_page_is_right(root: Path, job: Path, program: Run) -> None:
    """Every command of it runs, what it shows is what is printed, Python runs."""
    text = (root / "docs" / "ci.md").read_text("utf-8")
    shutil.copy("before.json.gz", "trace.json.gz")
    for block in re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S):
        if "[ranks]" not in block:  # tests/python/ranks/test_ranks_page.py has those.
            Path("budget.toml").write_text(block, encoding="utf-8")
    run = 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        lines = block.replace("\\\n", " ").splitlines()
        for number, line in enumerate(lines):
            command = re.match(r"\s*(?:\$ |- (?:run: )?|)(torchtraceap .*)", line)
            if language not in ("yaml", "console") or command is None:
                continue
            done = program(*shlex.split(command[1])[1:])
            assert done.returncode in (0, 1), done.stderr
            run += 1
            shown = []
            for following in lines[number + 1 :]:
                if following.startswith("$ "):
                    break
                shown.append(following)
            if language == "console" and shown:
                assert done.stdout.startswith("\n".join(shown) + "\n")
    assert run == 6
    (job / "tests").symlink_to(root / "tests")
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        exec(compile(block, "ci.md", "exec"), {})


def test_the_workflows_are_yaml(root: Path) -> None:
    yaml = pytest.importorskip("yaml")
    text = (root / "docs" / "ci.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    github, gitlab = (yaml.safe_load(block) for block in blocks)
    steps = github["jobs"]["trace"]["steps"]
    assert [step.get("uses") for step in steps if "uses" in step] == [
        "actions/checkout@v4",
        "github/codeql-action/upload-sarif@v3",
    ]
    assert all("run" in step or "uses" in step for step in steps)
    assert gitlab["performance"]["artifacts"]["paths"] == ["summary.md"]
