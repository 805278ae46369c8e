# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_reports.py: what reaches pytest's reports of checks: JUnit, xdist, -v,
and runs without a terminal."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from . import other_project
from .torch_forks import TorchForks
from .wait_heads import head

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)

ITEM_HEAD = head(".item()")
TESTS = """
import pytest, torch

def reads():
    torch.ones(3).sum().item()  # line 4

def test_clean(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum()

@pytest.mark.no_sync_stalls
def test_stalls(record_property):
    record_property("mine", 1)
    reads()
    reads()

@pytest.mark.no_sync_stalls(device="dry")
def test_dry():
    torch.ones(3, device="cuda").sum()

def test_trace(trace_check):
    trace_check({slow!r}).no("dataloader_bound")

def test_untold(trace_check):
    trace_check({cpu!r}, unknown="pass").min_busy(0.5)

def test_other():
    assert False
"""
CPU = "no GPU: operators that would wait for one"
SLOW = "kineto2021-v100-resnet50-workers0-memory.json.gz"
EXPECTED = {
    "test_clean": {"mode": CPU, "stalls": "0"},
    "test_stalls": {
        "mine": "1",
        "mode": CPU,
        "stalls": "2",
        "lines": f"test_it.py:4  {ITEM_HEAD}  ×2",
    },
    "test_dry": {"mode": "dry run: operators that would wait for a GPU", "stalls": "0"},
    "test_trace": {
        "mode": f"trace {SLOW}",
        "stalls": "6",
        "lines": "resnet50_profiler_api.py:42 <module>  "
        "dataloader_bound (single_process)  ×6, 221 ms",
    },
    "test_untold": {
        "mode": "trace cpu-macos-resnet18.json.gz",
        "stalls": "0",
        "not_checked": "trace_check min_busy(0.5)",
    },
    "test_other": {},
}
# In this order, of which xdist keeps that within each test.
SHOWN = [
    [
        "*- torchtraceap -*",
        "FAILED no_sync_stalls [[]no GPU: operators that would wait for one[]]",
        f"    test_it.py:4  {ITEM_HEAD}  ×2",
    ],
    ['FAILED trace_check no("dataloader_bound") *'],
    [
        "Checks that could not be made, of 1 test:",
        "  test_it.py::test_untold: trace_check min_busy(0.5)",
    ],
    ["FAILED test_it.py::test_stalls - Failed: test_it.py:4: *"],
    ["FAILED test_it.py::test_trace - Failed: resnet50_profiler_api.py:42: *"],
]
ON_CPU = "--traceap-device=cpu"
# pytest's own fixture warns with the newer of the two forms of JUnit files.
OWN_WARNING = ["-W", "ignore:record_property is incompatible"]


@pytest.fixture
def files(data: Path) -> dict[str, str]:
    cpu = str(data / "cpu-macos-resnet18.json.gz")
    return {"test_it.py": TESTS.format(slow=str(data / SLOW), cpu=cpu)}


def check(ran: other_project.Ran) -> None:
    assert list(ran.outcomes.values()).count("failed") == 3
    for lines in SHOWN:
        ran.says(*lines)
    wasted_us = float(ran.properties["test_trace"].pop("wasted_us"))
    assert wasted_us == pytest.approx(221e3, rel=0.01)
    assert ran.properties == EXPECTED


def test_one_process(
    torch_forks: TorchForks, tmp_path: Path, files: dict[str, str]
) -> None:
    options = [ON_CPU, "-v", "-rfP", *OWN_WARNING]
    ran = other_project.run(torch_forks, tmp_path, files, *options)
    check(ran)
    ran.says(*(line for lines in SHOWN[:2] for line in lines))
    ran.says(
        "*= torchtraceap =*",
        "2 checked by: no GPU: operators that would wait for one",
        f"1 checked by: trace {SLOW}",
    )
    clean = pytest.LineMatcher(ran.shown["test_clean"].splitlines())
    clean.fnmatch_lines(
        [
            "*- torchtraceap -*",
            "passed no_sync_stalls [[]no GPU: operators that would wait for one[]]",
            "  nothing waits for the GPU (max_count=0)",
            "Checked on the CPU: *",
        ]
    )


def test_xdist(torch_forks: TorchForks, tmp_path: Path, files: dict[str, str]) -> None:
    """Sections, properties and the summary come from the workers."""
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    options = [ON_CPU, "-n1", "-ojunit_family=xunit1"]
    check(other_project.run(torch_forks, tmp_path, files, *options, strict=False))


def test_nothing_is_reported_if_nothing_is_checked(
    torch_forks: TorchForks, tmp_path: Path, files: dict[str, str]
) -> None:
    ran = other_project.run(torch_forks, tmp_path, files, "-v", "-k", "other")
    assert ran.outcomes == {"test_other": "failed"}
    assert "torchtraceap:" not in ran.text
    assert "- torchtraceap -" not in ran.text


@pytest.mark.parametrize("option", ["-p no:terminal -p no:junitxml", "--pdb"])
def test_without_other_parts_of_pytest(
    torch_forks: TorchForks, tmp_path: Path, files: dict[str, str], option: str
) -> None:
    options = [ON_CPU, *option.split(), "-k", "clean or untold"]
    ended = other_project.start(torch_forks, tmp_path, files, *options)
    assert ended.code == 0, ended.out + ended.err
