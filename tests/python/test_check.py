# SPDX-License-Identifier: BSD-3-Clause
"""test_check.py: ``torchtraceap check`` and compare, as a job in CI runs them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.gate.budget import read_budget

from .conftest import Done
from .pages import blocks, page
from .trace_builder import loader_trace

Run = Callable[..., Done]
BEFORE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
AFTER = "kineto2021-v100-resnet50-workers4.json.gz"
BUDGET = "min_busy = 0.6\n[patterns.dataloader_bound]\nmax_count = 0\n"


@pytest.fixture
def job(here: Path, data: Path) -> Path:
    """A working folder with two traces and a budget."""
    shutil.copy(data / BEFORE, "before.json.gz")
    shutil.copy(data / AFTER, "after.json.gz")
    shutil.copy(data / "cpu-macos-resnet18.json.gz", "cpu.json.gz")
    (here / "budget.toml").write_text(BUDGET)
    return here


def test_exit_codes(job: Path, cli: Run) -> None:
    within = cli("check", "after.json.gz", "--budget", "budget.toml")
    assert (within.code, within.err) == (0, "")
    assert within.out == "after.json.gz: within budget (2 limits)\n"
    over = cli("check", "before.json.gz", "after.json.gz", "--budget=budget.toml")
    assert over.code == 1
    lines = over.out.splitlines()
    assert lines[0] == "before.json.gz: over budget: 2 of 2 limits broken"
    assert any(line.startswith("  resnet50_profiler_api.py:42: ") for line in lines)
    assert lines[-1].startswith("after.json.gz: within budget")
    # A loader that is waited for shows without a device too, a wait for it does not.
    budget = BUDGET.replace("dataloader_bound", "sync_stall")
    Path("budget.toml").write_text(budget)
    untold = cli("check", "cpu.json.gz", "--budget", "budget.toml")
    assert untold.code == 1
    limits = "min_busy, patterns.sync_stall.max_count"
    assert f"  undetermined: {limits}: the trace has no device" in untold.out
    assert "not known to be within budget: 2 of 2 undetermined" in untold.out
    Path("budget.toml").write_text("unknown = 'pass'\n" + budget)
    passes = cli("check", "cpu.json.gz", "--budget", "budget.toml")
    assert passes.code == 0
    assert "2 undetermined, which may pass" in passes.out


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
    arguments: list[str], message: str, job: Path, cli: Run
) -> None:
    Path("empty.toml").write_text("[budget]\n")
    before = {path.name: path.read_bytes() for path in job.iterdir()}
    done = cli("check", *arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert {path.name: path.read_bytes() for path in job.iterdir()} == before


def test_the_project_has_the_budget(job: Path, cli: Run) -> None:
    Path("pyproject.toml").write_text("[tool.torchtraceap.budget]\nmin_busy = 0.6\n")
    assert cli("check", "before.json.gz").code == 1
    assert cli("check", "after.json.gz").code == 0
    # A budget is not a setting, so analyze ignores it.
    assert cli("analyze", "cpu.json.gz").code == 0


def test_all_forms_say_the_same(job: Path, cli: Run) -> None:
    forms = ("json", "sarif", "markdown")
    options = [f"--{form}=out.{form}" for form in forms]
    traces = ("before.json.gz", "after.json.gz")
    done = cli("check", *traces, "--budget=budget.toml", *options)
    assert done.code == 1
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
def test_a_written_budget_is_kept(headroom: str, job: Path, cli: Run) -> None:
    """Also without headroom, by what it was made of; and not by something worse."""
    write = ("--write-budget", "new.toml", "--headroom", headroom)
    assert cli("check", "after.json.gz", *write).code == 0
    assert cli("check", "after.json.gz", "--budget=new.toml").code == 0
    assert cli("check", "before.json.gz", "--budget=new.toml").code == 1
    both = ("before.json.gz", "after.json.gz")
    assert cli("check", *both, *write).code == 0
    for name in both:
        assert cli("check", name, "--budget=new.toml").code == 0


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


def test_a_baseline(job: Path, cli: Run) -> None:
    cli("analyze", "before.json.gz", "--json", "before.json")
    for baseline in ("before.json", "before.json.gz"):
        done = cli("check", "after.json.gz", "--baseline", baseline, "--json=-")
        assert done.code == 1
        (trace,) = json.loads(done.out)["traces"]
        worse = {limit["limit"]: limit["passes"] for limit in trace["limits"]}
        assert worse == {
            "baseline.slower": True,
            "baseline.new": False,
            "baseline.grown": True,
        }
        assert trace["comparison"]["step_us"]["counts"]
    same = cli("check", "before.json.gz", "--baseline", "before.json")
    assert same.code == 0
    both = cli(
        "check", "before.json.gz", "--baseline=before.json", "--budget=budget.toml"
    )
    assert "over budget: 2 of 5 limits broken" in both.out


def test_the_folders_of_a_program_that_moved(job: Path, cli: Run) -> None:
    for name in ("main", "branch"):
        trace = loader_trace(file=f"/ci/{name}/train.py", waits_us=[5000] * 6)
        Path(f"{name}.json").write_bytes(trace)
    pair = ("main.json", "branch.json")
    roots = ("--root", "/ci/main", "--root", "/ci/branch")
    check = ("check", "branch.json", "--baseline", "main.json")
    for command in (("compare", *pair, "--fail-on", "new"), check):
        assert cli(*command).code == 1
        assert cli(*command, *roots).code == 0


def test_a_budget_may_say_what_becomes_of_an_unknown_baseline(
    job: Path, cli: Run
) -> None:
    """That needs no limit of its own."""
    Path("budget.toml").write_text("unknown = 'pass'\n")
    same = ("check", "cpu.json.gz", "--baseline", "cpu.json.gz")
    assert cli(*same).code == 1  # It has no steps: slower is undetermined.
    assert cli(*same, "--budget", "budget.toml").code == 0


def test_compare_by_exit_code(job: Path, cli: Run) -> None:
    pair = ("before.json", "after.json")
    for report in pair:
        cli("analyze", f"{report}.gz", "--json", report)
    assert cli("compare", *pair).code == 0
    assert cli("compare", *pair, "--fail-on", "slower").code == 0
    assert cli("compare", *pair, "--fail-on", "new,slower").code == 1
    assert cli("compare", *reversed(pair), "--fail-on=slower").code == 1
    cpu = ("compare", "cpu.json.gz", "cpu.json.gz")
    untold = cli(*cpu, "--fail-on", "slower")
    assert untold.code == 1
    assert "undetermined, for not both traces have steps" in untold.out
    assert cli(*cpu, "--fail-on", "new,grown").code == 0
    bad = cli("compare", *pair, "--fail-on", "worse")
    assert bad.code == 2
    assert "'worse' is not one of slower, new, grown" in bad.err
    missing = cli("compare", "before.json", "no.json")
    assert (missing.code, "no.json" in missing.err) == (2, True)
    Path("cut.json").write_text('{"schema_version": 1, "tool": {"name": "torchtraceap"')
    cut = cli("compare", "cut.json", "after.json")
    assert (cut.code, "is not a complete report" in cut.err) == (2, True)


def test_the_page_is_right(root: Path, job: Path, cli: Run) -> None:
    """Every command of it runs, what it shows is what is printed, Python runs."""
    text = page("ci")
    shutil.copy("before.json.gz", "trace.json.gz")
    for block in blocks(text, "toml"):
        if "[ranks]" not in block:  # tests/python/ranks/test_ranks_page.py has those.
            Path("budget.toml").write_text(block, encoding="utf-8")
    run = 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        lines = block.replace("\\\n", " ").splitlines()
        for number, line in enumerate(lines):
            command = re.match(r"\s*(?:\$ |- (?:run: )?|)(torchtraceap .*)", line)
            if language not in ("yaml", "console") or command is None:
                continue
            done = cli(*shlex.split(command[1])[1:])
            assert done.code in (0, 1), done.err
            run += 1
            shown = []
            for following in lines[number + 1 :]:
                if following.startswith("$ "):
                    break
                shown.append(following)
            if language == "console" and shown:
                assert done.out.startswith("\n".join(shown) + "\n")
    assert run == 6
    (job / "tests").symlink_to(root / "tests")
    for block in blocks(text, "python"):
        exec(compile(block, "ci.md", "exec"), {})


def test_the_workflows_are_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    github, gitlab = map(yaml.safe_load, blocks(page("ci"), "yaml"))
    steps = github["jobs"]["trace"]["steps"]
    assert [step.get("uses") for step in steps if "uses" in step] == [
        "actions/checkout@v4",
        "github/codeql-action/upload-sarif@v3",
    ]
    assert all("run" in step or "uses" in step for step in steps)
    assert gitlab["performance"]["artifacts"]["paths"] == ["summary.md"]
