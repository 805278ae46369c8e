# SPDX-License-Identifier: BSD-3-Clause
"""test_trace_check.py: the fixture `trace_check`, as the tests of somebody else's
project see it, of stored traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import torchtraceap

from . import other_project

pytest_plugins = ["pytester"]

HEAD = """
import pytest, torchtraceap
SLOW = {slow!r}      # on a GPU, fed by a slow loader
CPU = {cpu!r}        # without device work
DEGRADED = {degraded!r}
LOSSY = {lossy!r}    # launches work of which it has no record
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, data: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    files = {
        "slow": "kineto2021-v100-resnet50-workers0-memory.json.gz",
        "cpu": "cpu-macos-resnet18.json.gz",
        "degraded": "cpu-laptop-vae-python-stacks.json.gz",
        "lossy": "a100-cupti-range-no-kernels.json.gz",
    }
    paths = {name: str(data / file) for name, file in files.items()}
    pytester.makeconftest("")
    traces = HEAD.format(**paths)
    return other_project.lay_out(pytester, monkeypatch, columns=250, traces=traces)


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    return other_project.run(project, f"from traces import *\n{tests}", *options)


# --- Stored traces -----------------------------------------------------------------


def test_what_holds_passes(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_holds(trace_check):
    check = trace_check(SLOW)
    check.no("graph_break")
    check.no("dataloader_bound", max_count=6)
    check.no("dataloader_bound", over_us=1e6)
    check.no("dataloader_bound", allow=["resnet50_profiler_api.py:42"])
    check.no("dataloader_bound", max_wasted_us=400_000)
    check.no("zero_grad_fill", max_share=0.03)
    check.max_gap_us(70_000)
    check.min_busy(0.56)
    check.max_step_us(200_000)
    check.max_kernels_per_step(1462)
    check.max_wasted_share(0.9)
    check.budget({"min_busy": 0.5})
    assert check.report.trace.events == 75718
""",
    )
    result.assert_outcomes(passed=1)


def test_all_that_fails_is_reported(
    project: pytest.Pytester, slow_loader: torchtraceap.Report
) -> None:
    (Path(project.path) / "budget.toml").write_text(
        "max_step_us = 1000\n[patterns.zero_grad_fill]\nmax_count = 3\n"
    )
    result = run(
        project,
        """
def test_breaks(trace_check):
    check = trace_check(torchtraceap.analyze(SLOW))
    check.no("dataloader_bound")
    check.no("dataloader_bound", max_count=5)
    check.no("graph_break")
    check.no("*", allow=["*.py"])
    check.min_busy(0.8)
    check.max_gap_us(500)
    check.max_kernels_per_step(400)
    check.budget("budget.toml")
""",
    )
    result.assert_outcomes(failed=1)
    # The figures are those of the report.
    worst = max(slow_loader.findings, key=lambda finding: finding.wasted_us)
    assert (worst.pattern, worst.count) == ("dataloader_bound", 6)
    kernels = slow_loader.kernel_counts.steps
    assert kernels is not None
    place = "resnet50_profiler_api.py:42"
    result.stdout.fnmatch_lines(
        [
            "torchtraceap: 1 test uses its checks; *",
            f"{place}: dataloader_bound ×6, 356 ms (33.4 %)* and 6 more failing checks",
            f"  {place} <module>  dataloader_bound (single_process)  ×6, 356 ms",
            "*- torchtraceap -*",
            'FAILED trace_check no("dataloader_bound") [[]trace kineto2021-v100-*[]]',
            "*The device idled 356 ms while the program waited for 6 batches*",
            "*instead: Load in the background*",
            'passed trace_check no("graph_break") [[]trace kineto2021-v100-*[]]',
            'FAILED trace_check budget("budget.toml") [[]trace kineto2021-v100-*[]]',
            f"FAILED test_it.py::test_breaks - Failed: {place}: dataloader_bound ×6*",
        ]
    )
    # What costs most comes first, so their order is not that of the calls.
    for line in (
        f"{place}: dataloader_bound ×6, *max_count = 5 [[]trace_check[]]",
        "device 0 was busy for 56.6 % of 1.07 s, min_busy = 0.8 [[]trace_check[]]",
        f"{place}: device 0 paused for *, max_gap_us = 500 [[]trace_check[]]",
        f"step * launched {kernels.max:,} kernels, max_kernels_per_step = 400 *",
        "step 8 took 181 ms, max_step_us = 1000; and 1 more limit *",
    ):
        result.stdout.fnmatch_lines([line])
    assert "Evidence" not in result.stdout.str()


def test_evidence_is_for_the_verbose(project: pytest.Pytester) -> None:
    result = run(
        project,
        "def test_it(trace_check): trace_check(SLOW).no('dataloader_bound')",
        "-v",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  Evidence of resnet50_profiler_api.py:42 <module>  dataloader_bound*",
            "    +*ms: enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "    see docs/patterns/dataloader_bound.md",
        ]
    )


def test_mistakes_are_named(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_pattern(trace_check): trace_check(CPU).no("grph_break")
def test_allow(trace_check): trace_check(CPU).no("graph_break", allow="item")
def test_share(trace_check): trace_check(CPU).min_busy(80)
def test_file(trace_check): trace_check("nowhere.json")
def test_kind(trace_check): trace_check(7)
def test_block(trace_check): trace_check(CPU, warmup=2)
def test_unknown(trace_check): trace_check(CPU, unknown="maybe")
def test_options(trace_check): trace_check(torchtraceap.analyze(CPU), steps=2)
def test_several(trace_check): trace_check([CPU, CPU])
def test_nothing(trace_check): trace_check(CPU)
""",
    )
    result.assert_outcomes(failed=10)
    result.stdout.fnmatch_lines(
        [
            "E *no finding has this pattern; did you mean 'graph_break'?",
            "E *ValueError: allow must be a list of names, but is 'item'",
            "E *min_busy must be at most 1, but is 80",
            "E *FileNotFoundError: *nowhere.json*",
            "E *TypeError: *",
            "E *TypeError: warmup and stacks are for a block, not for a stored trace",
            "E *ValueError: unknown must be one of *, but is 'maybe'",
            "E *TypeError: steps: the Report is made already",
            "E *TypeError: trace_check takes one trace: call it for each",
            'nothing was checked: add check.no("..."), or another [[]trace_check[]]',
        ]
    )


def test_names_of_a_trace_cannot_forge_lines(project: pytest.Pytester) -> None:
    evil = "\x1b[2J\n\u202eevil"
    host, device = {"pid": 1, "tid": 1}, {"pid": 0, "tid": 7}
    events = [
        {"cat": "python_function", "name": f"{evil}.py(7): step{evil}", "ts": 0,
         "dur": 9000, "args": {"Python id": 1}, **host},
        {"cat": "cpu_op", "name": evil, "ts": 100, "dur": 900, **host},
    ]  # fmt: skip
    for n, start in enumerate((110, 800, 5000)):
        ids = {"correlation": n + 1, "External id": n + 1}
        events += [
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start, "dur": 5,
             "args": ids, **host},
            {"cat": "kernel", "name": evil, "ts": start + 10, "dur": 20,
             "args": {"device": 0, "stream": 7, **ids}, **device},
        ]  # fmt: skip
    path = Path(project.path) / "evil.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", **e} for e in events]}))
    result = run(
        project,
        """
def test_it(trace_check):
    check = trace_check("evil.json", unknown="pass")
    check.no("*")
    check.max_gap_us(10)
    assert check.report.findings
""",
        "-v",
    )
    text = result.stdout.str()
    result.assert_outcomes(failed=1)
    assert "evil" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert not any(line.startswith("evil") for line in text.splitlines())


# --- What cannot be told -----------------------------------------------------------

DEVICE_SIDE = """
def test_it(trace_check):
    check = trace_check(CPU{option})
    check.max_step_us(1e12)
    check.min_busy(0.5)
    check.no("sync_stall")
"""


@pytest.mark.parametrize(
    ("option", "command_line", "outcome"),
    [
        ("", [], "failed"),
        (", unknown='skip'", [], "skipped"),
        (", unknown='pass'", [], "passed"),
        ("", ["--traceap-unknown=skip"], "skipped"),
        ("", ["--traceap-unknown=pass"], "passed"),
        (", unknown='fail'", ["--traceap-unknown=pass"], "failed"),
    ],
)
def test_a_check_that_cannot_be_made_is_never_silent(
    project: pytest.Pytester, option: str, command_line: list[str], outcome: str
) -> None:
    result = run(project, DEVICE_SIDE.format(option=option), *command_line)
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines(
        [
            "*= torchtraceap =*",
            "Checks that could not be made, of 1 test:",
            '  test_it.py::test_it: *trace_check min_busy(0.5); *no("sync_stall")',
        ]
    )
    if outcome == "failed":
        result.stdout.fnmatch_lines(
            [
                "min_busy = 0.5 cannot be told: the trace has no device work *",
                "NOT CHECKED trace_check min_busy(0.5) [[]trace cpu-macos-*[]]",
            ]
        )
    if outcome == "skipped":
        assert "pytest_plugin.py" not in result.stdout.str()


def test_what_fails_counts_more_than_what_cannot_be_told(
    project: pytest.Pytester,
) -> None:
    result = run(
        project,
        """
def test_it(trace_check):
    check = trace_check(DEGRADED, unknown="skip")
    check.min_busy(0.5)
    check.no("dataloader_bound")
""",
    )
    result.assert_outcomes(failed=1)
    failure, _, section = result.stdout.str().partition("- torchtraceap -")
    assert "vae_mnist_working_w_profiler.py:159: dataloader_bound" in failure
    assert "cannot be told" not in failure
    assert "NOT CHECKED trace_check min_busy(0.5)" in section
    assert "The trace is degraded, so what was found may be wrong or not" in section


def test_a_budget_may_say_what_becomes_of_it(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(trace_check):
    trace_check(CPU).budget({"unknown": "pass", "min_busy": 0.5})
""",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Checks that could not be made, of 1 test:"])


def test_a_recording_with_losses_is_said_to_have_them(
    project: pytest.Pytester,
) -> None:
    result = run(
        project, "def test_it(trace_check): trace_check(LOSSY).no('graph_break')"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "patterns.graph_break.max_count = 0 cannot be told: *",
            "NOT CHECKED *[[]trace a100-cupti-range-no-kernels.json.gz, unusable[]]",
            "The trace is unusable: *",
        ]
    )


def test_patterns_of_the_host_can_be_told_without_a_device(
    project: pytest.Pytester, data: Path, root: Path
) -> None:
    known = {p.name: p.on_host for p in torchtraceap._core.patterns()}
    docs = (root / "docs" / "pytest.md").read_text(encoding="utf-8")
    assert ", ".join(name for name, on_host in known.items() if on_host) in docs
    for path in data.glob("*.json.gz"):
        report = torchtraceap.analyze(path, recover=True)
        if not report.trace.working_devices:
            assert all(known[finding.pattern] for finding in report.findings)
    result = run(
        project,
        """
def test_it(trace_check):
    check = trace_check(CPU)
    check.no("graph_break")
    check.no("gc_pause")
""",
    )
    result.assert_outcomes(passed=1)
    assert "could not be made" not in result.stdout.str()
