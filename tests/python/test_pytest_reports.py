# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_reports.py: what reaches pytest's reports of checks: JUnit, xdist, -v,
and runs without a terminal."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from .wait_heads import head

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

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

def test_trace(trace_check):
    trace_check({slow!r}).no("dataloader_bound")

def test_untold(trace_check):
    trace_check({cpu!r}, unknown="pass").min_busy(0.5)

def test_other():
    assert False
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, data: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    monkeypatch.setenv("COLUMNS", "200")
    slow = str(data / "kineto2021-v100-resnet50-workers0-memory.json.gz")
    cpu = str(data / "cpu-macos-resnet18.json.gz")
    pytester.makepyfile(test_it=TESTS.format(slow=slow, cpu=cpu))
    return pytester


def properties(path: Path) -> dict[str, dict[str, str]]:
    """The properties of each test in a JUnit file."""
    return {
        case.attrib["name"]: {
            one.attrib["name"].removeprefix("torchtraceap."): one.attrib["value"]
            for one in case.iter("property")
        }
        for case in ET.parse(path).iter("testcase")
    }


EXPECTED = {
    "test_clean": {"mode": "no GPU: operators that would wait for one", "stalls": "0"},
    "test_stalls": {
        "mine": "1",
        "mode": "no GPU: operators that would wait for one",
        "stalls": "2",
        "lines": f"test_it.py:4  {ITEM_HEAD}  ×2",
    },
    "test_trace": {
        "mode": "trace kineto2021-v100-resnet50-workers0-memory.json.gz",
        "stalls": "6",
        "lines": "resnet50_profiler_api.py:42 <module>  "
        "dataloader_bound (single_process)  ×6, 356 ms",
    },
    "test_untold": {
        "mode": "trace cpu-macos-resnet18.json.gz",
        "stalls": "0",
        "not_checked": "trace_check min_busy(0.5)",
    },
    "test_other": {},
}
SHOWN = [
    "*- torchtraceap -*",
    "FAILED no_sync_stalls [[]no GPU: operators that would wait for one[]]",
    f"    test_it.py:4  {ITEM_HEAD}  ×2",
    'FAILED trace_check no("dataloader_bound") *',
    "Checks that could not be made, of 1 test:",
    "  test_it.py::test_untold: trace_check min_busy(0.5)",
    "FAILED test_it.py::test_stalls - Failed: test_it.py:4: *",
    "FAILED test_it.py::test_trace - Failed: resnet50_profiler_api.py:42: *",
]


@pytest.mark.parametrize("family", ["xunit1", "xunit2"])
def test_junit(project: pytest.Pytester, family: str) -> None:
    options = ["--junitxml=out.xml", "-o", f"junit_family={family}"]
    if family == "xunit2":  # pytest's own fixture warns with it
        options += ["-W", "ignore:record_property is incompatible"]
    result = project.runpytest_inprocess(*options)
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(SHOWN)
    found = properties(project.path / "out.xml")
    assert float(found["test_trace"].pop("wasted_us")) == pytest.approx(356e3, rel=0.01)
    assert found == EXPECTED
    failures = [
        one.attrib["message"]
        for one in ET.parse(project.path / "out.xml").iter("failure")
    ]
    assert failures[0].startswith(f"Failed: test_it.py:4: {ITEM_HEAD}")


def test_xdist(project: pytest.Pytester) -> None:
    """Sections, properties and the summary come from the workers."""
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    result = project.runpytest_subprocess("-n2", "--junitxml=out.xml")
    result.assert_outcomes(passed=2, failed=3)
    for lines in (SHOWN[:3], SHOWN[3:4], SHOWN[4:6], SHOWN[6:7], SHOWN[7:]):
        result.stdout.fnmatch_lines(lines)
    found = properties(project.path / "out.xml")
    found["test_trace"].pop("wasted_us")
    assert found == EXPECTED


def test_verbose_counts_how_tests_were_checked(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("-v")
    result.stdout.fnmatch_lines(
        [
            "torchtraceap: 4 tests use its checks; *",
            "*= torchtraceap =*",
            "2 checked by: no GPU: operators that would wait for one",
            "1 checked by: trace kineto2021-v100-resnet50-workers0-memory.json.gz",
        ]
    )


def test_what_passed_is_shown_on_demand(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("-rP", "-k", "clean")
    result.assert_outcomes(passed=1, deselected=4)
    result.stdout.fnmatch_lines(
        [
            "*- torchtraceap -*",
            "passed no_sync_stalls [[]no GPU: operators that would wait for one[]]",
            "  nothing waits for the GPU (max_count=0)",
            "Checked on a machine without a GPU*",
        ]
    )


def test_nothing_is_said_where_nothing_is_checked(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("-v", "-k", "other")
    result.assert_outcomes(failed=1, deselected=4)
    assert "torchtraceap:" not in result.stdout.str()
    assert "- torchtraceap -" not in result.stdout.str()


@pytest.mark.parametrize("option", ["-p no:terminal", "-p no:junitxml", "--pdb"])
def test_without_other_parts_of_pytest(
    project: pytest.Pytester, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    result = project.runpytest_inprocess(*option.split(), "-k", "clean or untold")
    assert result.ret == 0
