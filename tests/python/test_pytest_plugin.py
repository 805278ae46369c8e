# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_plugin.py: the fixture, as a test of somebody else's project sees it."""

from __future__ import annotations

import importlib.util

import pytest

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)

STEP = """
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())

def train_step(log=None):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if log is not None:
        log.append(loss.item())  # line 12
"""

TESTS = """
from step import train_step

def test_clean(no_sync_stalls):
    with no_sync_stalls():
        train_step()

def test_item(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
        train_step([])

def test_options(no_sync_stalls):
    with no_sync_stalls(allow=["step.py:12"]):
        train_step([])
    with no_sync_stalls(allow=["item"]):
        train_step([])
    with no_sync_stalls(max_count=1):
        train_step([])
    with no_sync_stalls(warmup=1) as check:
        for log in ([], None):
            train_step(log)
            check.step()
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(step=STEP, test_step=TESTS)
    pytester.syspathinsert()
    return pytester


def test_outcomes_and_message(project: pytest.Pytester) -> None:
    # The second is of an editable install's hook, see pyproject.toml.
    warnings = ["-Werror", "-Wignore:Module already imported so cannot be rewritten"]
    result = project.runpytest_inprocess(*warnings)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "no_sync_stalls: step.py:12: aten::_local_scalar_dense waits for the GPU*",
            "  step.py:12  aten::_local_scalar_dense  ×2",
            "*.item()*one value is read back to Python",
            "*instead: keep the value on the device*",
            "Checked on a machine without a GPU*",
            "Not known here: how long; copies to the host*",
            "To tolerate a line: allow=['step.py:12']",
            "Not counted*optimizers' step counters.",
            "FAILED test_step.py::test_item - Failed: no_sync_stalls: step.py:12*",
        ]
    )
    # The message is the report: no traceback into the plugin.
    assert "pytest_plugin.py" not in result.stdout.str()


def test_xdist(project: pytest.Pytester) -> None:
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    result = project.runpytest_subprocess("-n2")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*step.py:12*_local_scalar_dense*"])


def test_fixture_is_listed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--fixtures")
    result.stdout.fnmatch_lines(["no_sync_stalls*", "*fails the test if the code*"])


def test_without_torch(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile("def test_it(no_sync_stalls): raise AssertionError")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "torch" else find_spec(name, *more),
    )
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs PyTorch, and torch is not installed*"])
