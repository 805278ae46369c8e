# SPDX-License-Identifier: BSD-3-Clause
"""test_trace_check.py: the fixture `trace_check`, as the tests of somebody else's
project see it, of stored traces and of code that it records."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchtraceap

from . import other_project
from .other_project import Table, failed, passed
from .torch_forks import TorchForks
from .trace_builder import frame, launched, op, trace_of

try:
    import torch

    RECORDS = not torch.cuda.is_available()  # With a GPU: test_pytest_cuda.
except ImportError:
    RECORDS = False

TRACES = """
import pytest, torchtraceap
SLOW = {slow!r}      # on a GPU, fed by a slow loader
CPU = {cpu!r}        # without device work
DEGRADED = {degraded!r}
LOSSY = {lossy!r}    # launches work of which it has no record
"""
FILES = {
    "slow": "kineto2021-v100-resnet50-workers0-memory.json.gz",
    "cpu": "cpu-macos-resnet18.json.gz",
    "degraded": "cpu-laptop-vae-python-stacks.json.gz",
    "lossy": "a100-cupti-range-no-kernels.json.gz",
}
PLACE = "resnet50_profiler_api.py:42"
BUDGET = "max_step_us = 1000\n[patterns.zero_grad_fill]\nmax_count = 3\n"

# --- Stored traces -----------------------------------------------------------------

STORED = """
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

def test_names(trace_check):
    check = trace_check("evil.json", unknown="pass")
    check.no("*")
    check.max_gap_us(10)
    assert check.report.findings

def test_pattern(trace_check): trace_check(CPU).no("grph_break")
def test_limit(trace_check): trace_check(CPU).min_busy("a")
def test_file(trace_check): trace_check("nowhere.json")
def test_kind(trace_check): trace_check(7)
def test_block(trace_check): trace_check(CPU, warmup=2)
def test_unknown(trace_check): trace_check(CPU, unknown="maybe")
def test_options(trace_check): trace_check(torchtraceap.analyze(CPU), steps=2)
def test_several(trace_check): trace_check([CPU, CPU])
def test_nothing(trace_check): trace_check(CPU)
"""


OF_STORED: Table = {
    **passed("test_holds"),
    "test_breaks": failed(
        f"{PLACE}: dataloader_bound ×6, 221 ms (20.8 %)* and 6 more failing checks",
        f"  {PLACE} <module>  dataloader_bound (single_process)  ×6, 221 ms",
        "*- torchtraceap -*",
        'FAILED trace_check no("dataloader_bound") [[]trace kineto2021-v100-*[]]',
        "*The device idled 356 ms while the program waited for 6 batches*",
        "*instead: Load in the background*",
        'passed trace_check no("graph_break") [[]trace kineto2021-v100-*[]]',
        'FAILED trace_check budget("budget.toml") [[]trace kineto2021-v100-*[]]',
    ),
    "test_names": failed(),
    # Mistakes are named.
    "test_pattern": failed(
        "E *no finding has this pattern; did you mean 'graph_break'?"
    ),
    "test_limit": failed("E *ConfigError: *min_busy must be a number, but*"),
    "test_file": failed("E *FileNotFoundError: *nowhere.json*"),
    "test_kind": failed("E *TypeError: *"),
    "test_block": failed(
        "E *TypeError: warmup and stacks are for a block, not for a stored trace"
    ),
    "test_unknown": failed("E *ValueError: unknown must be one of *, but is 'maybe'"),
    "test_options": failed("E *TypeError: steps: the Report is made already"),
    "test_several": failed(
        "E *TypeError: trace_check takes one trace, not a list: call it for e*"
    ),
    "test_nothing": failed(
        'nothing was checked: add check.no("..."), or another [[]trace_check[]]'
    ),
}

# --- Undetermined -----------------------------------------------------------------

UNTOLD = """
@pytest.mark.parametrize("unknown", [None, "fail", "skip", "pass"])
def test_untold(trace_check, unknown):
    check = trace_check(CPU, **({"unknown": unknown} if unknown else {}))
    check.max_step_us(1e12)
    check.min_busy(0.5)
    check.no("sync_stall")

def test_degraded(trace_check):
    check = trace_check(DEGRADED, unknown="skip")
    check.min_busy(0.5)
    check.no("dataloader_bound")

def test_budget(trace_check):
    trace_check(CPU).budget({"unknown": "pass", "min_busy": 0.5})

def test_lossy(trace_check): trace_check(LOSSY).no('graph_break')

def test_host(trace_check):
    check = trace_check(CPU)
    check.no("graph_break")
    check.no("gc_pause")
"""
NOT_TOLD = failed(
    "min_busy = 0.5 is undetermined: the trace has no device work *",
    "NOT CHECKED trace_check min_busy(0.5) [[]trace cpu-macos-*[]]",
)
OF_UNTOLD: Table = {
    "test_untold[None]": NOT_TOLD,
    "test_untold[fail]": NOT_TOLD,
    "test_untold[skip]": ("skipped", []),
    # A failure counts more than an undetermined limit.
    "test_degraded": failed(
        "vae_mnist_working_w_profiler.py in <module>: dataloader_bound*",
        "*- torchtraceap -*",
        "NOT CHECKED trace_check min_busy(0.5)*",
        "*The trace is degraded, so what was found may be wrong or not*",
    ),
    **passed("test_budget", "test_host", "test_untold[pass]"),
    "test_lossy": failed(
        "patterns.graph_break.max_count = 0 is undetermined: *",
        "NOT CHECKED *[[]trace a100-cupti-range-no-kernels.json.gz, unusable[]]",
        "The trace is unusable: *",
    ),
}

# --- Code that is recorded ---------------------------------------------------------

STEP = """
import time, torch
model = torch.nn.Linear(4, 1)

class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        torch.linalg.svd(torch.randn(120, 120))
        return torch.randn(4)

def batches():
    return torch.utils.data.DataLoader(Slow(), batch_size=2)

def train_step(batch):
    model(batch).sum().backward()
"""
LIVE = """
from step import *

def test_recorded(trace_check):
    with trace_check(warmup=2) as check:
        for batch in batches():
            train_step(batch)
            check.step()  # line 7, in which the recording begins
    steps = [step.number for step in check.report.steps]
    assert steps == [2, 3], steps
    check.no("graph_break")
    check.no("dataloader_bound")

def test_median(trace_check):
    with trace_check() as check:
        time.sleep(0.1)
        train_step(torch.ones(2, 4))
        check.step()
    check.budget({"max_median_step_us": 80000})

def test_needs_a_gpu(trace_check):
    with trace_check() as check:
        train_step(torch.ones(2, 4))
    check.no("graph_break")
    check.no("sync_stall")
    check.max_kernels_per_step(10)

def test_too_early(trace_check):
    with trace_check() as check:
        check.no("graph_break")

def test_no_block(trace_check):
    trace_check().no("graph_break")

def test_no_steps(trace_check):
    with trace_check(warmup=2):
        train_step(torch.ones(2, 4))

def test_another_profiler(trace_check):
    with trace_check() as check:
        with torch.profiler.profile():
            train_step(torch.ones(2, 4))

def test_no_check(trace_check):
    with trace_check():
        train_step(torch.ones(2, 4))

def test_own(trace_check):
    with trace_check():
        raise KeyError("own")

def test_again(trace_check):
    with trace_check() as check:
        train_step(torch.ones(2, 4))
    check.no("graph_break")
"""
OF_LIVE: Table = {
    "test_recorded": failed(
        # The path is whole if a profiler ran in this process before.
        "*test_live.py*: dataloader_bound ×*, *[[]trace_check[]]",
        'passed trace_check no("graph_break") [[]recorded without a GPU[]]',
        "Recorded without a GPU: the times are those of the CPU's own work*",
    ),
    # A step that is only begun falsifies no median.
    "test_median": failed("*max_median_step_us = 80000*"),
    "test_needs_a_gpu": ("skipped", []),
    "test_too_early": failed(
        "E *there is no recording to check yet: record one with *"
    ),
    "test_no_block": failed("E *there is no recording to check yet: record one with *"),
    "test_no_steps": failed(
        "E *nothing was recorded: the block ended 2 calls of step() before *"
    ),
    "test_another_profiler": failed(
        "E *nothing was recorded: the code under test uses torch's profiler *"
    ),
    "test_no_check": failed(
        'nothing was checked: add check.no("..."), or another, to the block *'
    ),
    "test_own": failed("E *KeyError: 'own'"),
    "test_again": ("passed", []),
}


def evil_trace() -> str:
    """A trace whose names would forge lines if they were shown as they are."""
    evil = "\x1b[2J\n\u202eevil"
    starts = (110, 800, 5000)
    launches = [launched(n, at, at + 10, 20, evil) for n, at in enumerate(starts, 1)]
    return trace_of(
        frame(f"{evil}.py(7): step{evil}", 0, 9000),
        op(evil, 100, 900),
        *(event for launch in launches for event in launch),
    ).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def ran(torch_forks: TorchForks, folder: Path, data: Path) -> other_project.Ran:
    paths = {name: str(data / file) for name, file in FILES.items()}
    files = {
        "budget.toml": BUDGET,
        "evil.json": evil_trace(),
        "traces.py": TRACES.format(**paths),
        "test_stored.py": f"from traces import *\n{STORED}",
        "test_untold.py": f"from traces import *\n{UNTOLD}",
        **({"step.py": STEP, "test_live.py": LIVE} if RECORDS else {}),
    }
    return other_project.run(torch_forks, folder, files, "-rfs")


def test_what_becomes_of_each_test(ran: other_project.Ran) -> None:
    ran.is_as({**OF_STORED, **OF_UNTOLD, **(OF_LIVE if RECORDS else {})})


def test_all_that_fails_is_reported(
    ran: other_project.Ran, slow_loader: torchtraceap.Report
) -> None:
    # The figures are those of the report.
    worst = max(slow_loader.findings, key=lambda finding: finding.wasted_us)
    assert (worst.pattern, worst.count) == ("dataloader_bound", 6)
    kernels = slow_loader.kernel_counts.steps
    assert kernels is not None
    shown = pytest.LineMatcher(ran.shown["test_breaks"].splitlines())
    # What costs most comes first, so their order is not that of the calls.
    for line in (
        f"{PLACE}: dataloader_bound ×6, *max_count = 5 [[]trace_check[]]",
        "device 0 was busy for 56.6 % of 1.07 s, min_busy = 0.8 [[]trace_check[]]",
        f"{PLACE}: device 0 paused for *, max_gap_us = 500 [[]trace_check[]]",
        f"step * launched {kernels.max:,} kernels, max_kernels_per_step = 400 *",
        "step 8 took 181 ms, max_step_us = 1000; and 1 more limit *",
    ):
        shown.fnmatch_lines([line])
    assert "Evidence" not in ran.text
    failure, _, _ = ran.shown["test_degraded"].partition("- torchtraceap -")
    assert "undetermined" not in failure


def test_what_is_said_of_all(ran: other_project.Ran) -> None:
    ran.says(
        f"FAILED test_stored.py::test_breaks - Failed: {PLACE}: dataloader_bound ×6*"
    )
    ran.says(
        "*= torchtraceap =*",
        "Checks that could not be made, of * tests:",
        '  test_untold.py::test_untold*: *trace_check min_busy(0.5); *no("sync_stall")',
        "  test_untold.py::test_budget: *",
    )
    if RECORDS:
        ran.says(
            '*::test_needs_a_gpu: trace_check no("sync_stall"); *max_kernels_per_s*',
            "SKIPPED [[]1[]] test_live.py:*: *sync_stall* is undetermined: *",
        )
    assert "test_host" not in ran.text
    assert "pytest_plugin.py" not in ran.text


@pytest.mark.parametrize(
    ("unknown", "outcome"), [("skip", "skipped"), ("pass", "passed")]
)
def test_the_command_line_may_say_what_becomes_of_the_unknown(
    torch_forks: TorchForks,
    ran: other_project.Ran,
    folder: Path,
    unknown: str,
    outcome: str,
) -> None:
    """Of tests that do not say so themselves; nor is it ever silent."""
    tests = ["test_untold.py::test_untold", f"--traceap-unknown={unknown}"]
    again = other_project.run(torch_forks, folder, {}, *tests)
    again.is_as(
        {
            "test_untold[None]": (outcome, []),
            "test_untold[fail]": NOT_TOLD,
            "test_untold[skip]": ("skipped", []),
            "test_untold[pass]": ("passed", []),
        }
    )
    again.says("Checks that could not be made, of 4 tests:")


def test_evidence_is_for_the_verbose_and_names_forge_no_lines(
    torch_forks: TorchForks, ran: other_project.Ran, folder: Path
) -> None:
    verbose = ["-v", "test_stored.py", "-k", "test_breaks or test_names"]
    again = other_project.run(torch_forks, folder, {}, *verbose)
    again.says(
        "  Evidence of resnet50_profiler_api.py:42 <module>  dataloader_bound*",
        "    +*ms: enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "    see docs/patterns/dataloader_bound.md",
    )
    assert "evil" in again.shown["test_names"]
    assert not {"\x1b", "\u202e"} & set(again.text)
    assert not any(line.startswith("evil") for line in again.text.splitlines())


def test_host_patterns_are_known_without_a_device(data: Path, root: Path) -> None:
    known = {p.name: p.on_host for p in torchtraceap._core.patterns()}
    docs = " ".join((root / "docs/pytest.md").read_text(encoding="utf-8").split())
    assert ", ".join(name for name, on_host in known.items() if on_host) in docs
    for path in data.glob("*.json.gz"):
        report = torchtraceap.analyze(path, recover=True)
        if not report.trace.working_devices:
            assert all(known[finding.pattern] for finding in report.findings)
