# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_cuda.py: the plugin where there is a GPU: real stalls, on their lines."""

from __future__ import annotations

import pytest

from . import other_project

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.cuda
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

STEP = """
import torch

model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
data = torch.randn(4096, 2048, device="cuda")
host = torch.randn(4096, 2048)

def train_step(then=None):
    loss = model(data).pow(2).mean()
    loss.backward()
    if then is not None:
        then(loss)

def item(loss):
    loss.item()  # line 15

def branch(loss):
    if loss > 0:  # line 18, known only as that of its function, 17
        pass

def nonzero(loss):
    torch.nonzero(data)  # line 22

def copy(loss):
    host.to("cuda")  # line 25

def wait(loss):
    torch.cuda.synchronize()  # line 28
"""


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    return other_project.lay_out(pytester, monkeypatch, step=STEP)


def run(project: pytest.Pytester, tests: str) -> pytest.RunResult:
    head = "import pytest, step, torch\nfrom step import train_step\n"
    return other_project.run(project, head + tests, strict=False)


@pytest.mark.parametrize(
    ("what", "line", "kind"),
    [
        ("item", 15, "scalar_read"),
        ("branch", 17, "scalar_read"),
        ("nonzero", 22, "data_dependent_shape"),
        ("copy", 25, "blocking_copy"),
        ("wait", 28, "explicit"),
    ],
)
def test_a_stall_is_found_on_its_line(
    project: pytest.Pytester, what: str, line: int, kind: str
) -> None:
    result = run(
        project,
        f"""
@pytest.fixture(autouse=True)
def warm():
    for _ in range(3):
        train_step(step.{what})
    torch.cuda.synchronize()

def test_stalls(no_sync_stalls):
    with no_sync_stalls():
        train_step(step.{what})

@pytest.mark.no_sync_stalls(warmup=1)
def test_marked(no_sync_stalls):
    for _ in range(2):
        train_step(step.{what})
        no_sync_stalls.step()

@pytest.mark.parametrize("name", ["step.py:{line}", "step.py", "{kind}"])
def test_allowed(no_sync_stalls, name):
    with no_sync_stalls(allow=[name]):
        train_step(step.{what})

def test_clean(no_sync_stalls):
    with no_sync_stalls():
        train_step()
""",
    )
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        [
            "torchtraceap: 6 tests use its checks; on the GPU: *",
            f"step.py:{line}*[[]no_sync_stalls[]]",
            f"  step.py:{line}*µs blocked",
            "FAILED no_sync_stalls [[]GPU: calls that blocked the CPU[]]",
            "Measured on the GPU*",
            f"FAILED test_it.py::test_marked - Failed: step.py:{line}*",
        ]
    )


def test_a_recording_on_the_gpu(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(trace_check):
    with trace_check(warmup=2) as check:
        for _ in range(6):
            train_step(step.item)
            check.step()
    kernels = check.report.kernel_counts.steps
    assert kernels.max > 16
    check.max_kernels_per_step(kernels.max)
    check.max_kernels_per_step(1)
    check.min_busy(0.01)
    check.no("graph_break")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "step * launched * kernels, max_kernels_per_step = 1 [[]trace_check[]]",
            "passed trace_check max_kernels_per_step(*) [[]recorded on the GPU[]]",
            "passed trace_check min_busy(0.01) [[]recorded on the GPU[]]",
        ]
    )


def test_nothing_on_the_gpu_cannot_be_judged(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_fails(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum().item()

def test_skips(no_sync_stalls):
    with no_sync_stalls(unknown="skip"):
        torch.ones(3).sum().item()
""",
    )
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["Nothing was checked: the code ran nothing on *"])
