# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_cuda.py: the plugin where there is a GPU: real stalls, on their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import other_project
from .other_project import Table, failed, passed
from .torch_forks import TorchForks

torch = pytest.importorskip("torch")

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


HEAD = "import pytest, step, torch\nfrom step import train_step\n"


# What waits, on which line, and of which kind.
WAITS = {
    "item": (15, "scalar_read"),
    "branch": (17, "scalar_read"),
    "nonzero": (22, "data_dependent_shape"),
    "copy": (25, "blocking_copy"),
    "wait": (28, "explicit"),
}
OF_WAIT = """
@pytest.fixture(autouse=True)
def warm():
    for _ in range(3):
        train_step(step.{what})
    torch.cuda.synchronize()

def test_{what}(no_sync_stalls):
    with no_sync_stalls():
        train_step(step.{what})

@pytest.mark.no_sync_stalls(warmup=1)
def test_marked_{what}(no_sync_stalls):
    for _ in range(2):
        train_step(step.{what})
        no_sync_stalls.step()

@pytest.mark.parametrize("name", ["step.py:{line}", "step.py", "{kind}"])
def test_allowed_{what}(no_sync_stalls, name):
    with no_sync_stalls(allow=[name]):
        train_step(step.{what})

def test_clean_{what}(no_sync_stalls):
    with no_sync_stalls():
        train_step()
"""


def of_wait(what: str, line: int, kind: str) -> Table:
    """Return what becomes of the tests of a wait."""
    allowed = (f"step.py:{line}", "step.py", kind)
    return {
        f"test_{what}": failed(
            f"step.py:{line}*[[]no_sync_stalls[]]",
            f"  step.py:{line}*s blocked",
            "FAILED no_sync_stalls [[]GPU: calls that blocked the CPU[]]",
            "Measured on the GPU*",
        ),
        f"test_marked_{what}": failed(f"step.py:{line}*"),
        **passed(f"test_clean_{what}"),
        **passed(*(f"test_allowed_{what}[{name}]" for name in allowed)),
    }


OTHERS = """
def test_recording(trace_check):
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

def test_nothing(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3).sum().item()

def test_nothing_skips(no_sync_stalls):
    with no_sync_stalls(unknown="skip"):
        torch.ones(3).sum().item()
"""
OF_OTHERS: Table = {
    "test_recording": failed(
        "step * launched * kernels, max_kernels_per_step = 1 [[]trace_check[]]",
        "passed trace_check max_kernels_per_step(*) [[]recorded on the GPU[]]",
        "passed trace_check min_busy(0.01) [[]recorded on the GPU[]]",
    ),
    "test_nothing": failed("Nothing was checked: the code ran nothing on *"),
    "test_nothing_skips": ("skipped", []),
}


def test_what_becomes_of_each_test(torch_forks: TorchForks, tmp_path: Path) -> None:
    files = {"step.py": STEP, "test_others.py": HEAD + OTHERS}
    table = dict(OF_OTHERS)
    for what, (line, kind) in WAITS.items():
        tests = OF_WAIT.format(what=what, line=line, kind=kind)
        files[f"test_{what}.py"] = HEAD + tests
        table |= of_wait(what, line, kind)
    ran = other_project.run(torch_forks, tmp_path, files, strict=False)
    ran.is_as(table)
