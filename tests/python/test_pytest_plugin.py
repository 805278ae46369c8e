# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_plugin.py: `no_sync_stalls`, the fixture and the marker, as the tests of
somebody else's project see them; what pytest lists; the plugin without torch.

One run of that project; the tables say what becomes of each of its tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from . import other_project
from .other_project import Table, failed, passed
from .torch_forks import TorchForks

torch = pytest.importorskip("torch")

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
HEAD = "import pytest, unittest, torch\nfrom step import train_step\n"

FIXTURE = """
def test_item(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
        train_step([])

def test_options(no_sync_stalls):
    with no_sync_stalls(allow=["step.py:12"]):
        train_step([])
    with no_sync_stalls(max_count=1):
        train_step([])
    with no_sync_stalls(warmup=1) as check:
        for log in ([], None):
            train_step(log)
            check.step()

def test_several_blocks(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
    with no_sync_stalls():
        train_step()
    with no_sync_stalls():
        bool(torch.ones(1))  # line 25

@pytest.mark.parametrize("end", ["fail", "skip", "xfail"])
def test_ends(no_sync_stalls, end):
    with no_sync_stalls():
        train_step([])
    getattr(pytest, end)("own")

def test_raises_inside(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
        raise KeyError("own")

@pytest.fixture
def before(no_sync_stalls):
    with no_sync_stalls():
        train_step([])

@pytest.fixture
def around(no_sync_stalls):
    with no_sync_stalls():
        yield

def test_before(before): raise AssertionError("not run")
def test_around(around): train_step([])

def test_no_with(no_sync_stalls):
    no_sync_stalls()
    train_step([])

def test_no_step(no_sync_stalls):
    with no_sync_stalls(warmup=2):
        train_step([])

def test_unused(no_sync_stalls): train_step([])
def test_skipped(no_sync_stalls): pytest.skip("not today")

@pytest.fixture
def mine(no_sync_stalls): return no_sync_stalls

def test_of_another_fixture(mine): pass

def test_nested(no_sync_stalls):
    with no_sync_stalls():
        with no_sync_stalls():
            pass

@pytest.mark.no_sync_stalls
def test_in_a_marked_test(trace_check):
    with trace_check():
        pass
"""
OF_FIXTURE: Table = {
    "test_item": failed(
        "step.py:12: * (aten::_local_scalar_dense) waits for *[[]no_sync_stalls[]]",
        "  step.py:12  * (aten::_local_scalar_dense)  ×2",
        "*- torchtraceap -*",
        "FAILED no_sync_stalls [[]no GPU: operators that would wait for one[]]",
        "*> log.append(loss.item())  # line 12",
        "*.item()*one value is read back to Python",
        "*instead: keep the value on the device*",
        "Checked on the CPU: *",
        "Not known here: how long; copies to the host*",
        "Not counted*optimizers' step counters.",
        "To tolerate a line: allow=['step.py:12']",
    ),
    **passed("test_options", "test_of_another_fixture"),
    "test_several_blocks": failed(
        "step.py:12: * and 1 more failing check",
        "test_fixture.py:25: * [[]no_sync_stalls[]]",
    ),
    # Its own error wins; that it is skipped later does not undo what failed.
    "test_ends[fail]": failed("E *own", "FAILED no_sync_stalls [[]no GPU*"),
    "test_ends[skip]": failed("step.py:12: *"),
    "test_ends[xfail]": ("xfailed", []),
    "test_raises_inside": failed("E * KeyError: 'own'"),
    # What they find is an error of the phase in which they end.
    "test_before": ("error", ["step.py:12: *"]),
    "test_around": ("error", ["step.py:12: *"]),
    # What watches nothing would look like a check.
    "test_no_with": failed("no_sync_stalls() was called, but watches nothing: write *"),
    "test_no_step": failed("nothing was checked: the block ended 2 calls of step()*"),
    "test_unused": failed("the test asks for no_sync_stalls, but watches nothing*"),
    "test_skipped": ("skipped", []),
    "test_nested": failed(
        ">           with no_sync_stalls():",
        "E * no_sync_stalls inside no_sync_stalls: code can be watched by one *",
    ),
    "test_in_a_marked_test": failed(
        "E * trace_check inside no_sync_stalls: code can be watched by one *"
    ),
}
# By a piece of the text that would be shown, if it were.
NOT_SHOWN = {
    "test_item": "pytest_plugin.py",  # The report is the message: no traceback.
    "test_ends[fail]": "Failed: step.py",
    "test_raises_inside": "contextlib",
    "test_before": "not run",
}

# Of classes of unittest: dry_tests.py.
MARKER = """
@pytest.fixture
def warm():  # not part of the body
    train_step([])
    yield
    train_step([])

@pytest.mark.no_sync_stalls
def test_stalls(): train_step([])

@pytest.mark.no_sync_stalls
def test_warm(warm, no_sync_stalls): train_step()

@pytest.mark.no_sync_stalls(max_count=2, allow=["nothing"])
def test_options_of_the_marker():
    train_step([])
    train_step([])

@pytest.mark.no_sync_stalls(warmup=2)
def test_warmup(no_sync_stalls):
    for log in ([], [], None):
        train_step(log)
        no_sync_stalls.step()

@pytest.mark.parametrize("log", [
    None, [], pytest.param([1], marks=pytest.mark.no_sync_stalls),
])
def test_each(log): train_step(log)

once = pytest.param(2, marks=pytest.mark.no_sync_stalls(max_count=1))

@pytest.mark.parametrize("number", [1, once])
@pytest.mark.no_sync_stalls
def test_closest(number): train_step([])

@pytest.mark.usefixtures("no_sync_stalls")
class TestPlain:
    def test_stalls(self): train_step([])
    def test_clean(self): train_step()
"""
STALLS = failed("step.py:12: *")
OF_MARKER: Table = {
    "test_stalls": STALLS,
    **passed("test_warm", "test_options_of_the_marker", "test_warmup"),
    **passed("test_each[None]", "test_each[log1]"),
    "test_each[log2]": STALLS,
    # pytest itself puts the marker of a parameter after that of the function.
    "test_closest[1]": STALLS,
    **passed("test_closest[2]", "TestPlain.test_clean"),
    "TestPlain.test_stalls": STALLS,
}

# Options of the marker, and the messages about them.
WRONG = {
    "max=2": "no option 'max'; there are: over_us, max_count, *unknown",
    "max_count=-1": "max_count must be at least 0, but is -1",
    "warmup=-1": "warmup must be at least 0, but is -1",
    "over_us=-1": "over_us must be a number from 0 on, but is -1.0",
    "over_us='50'": "over_us must be a number, but is of type str",
    "allow='item'": "allow must be a list of names, but is 'item'",
    "unknown='ignore'": "unknown must be one of *, but is 'ignore'",
    "device='gpu'": "device must be one of * but is 'gpu'",
    "50": "options need their names, such as max_count=1",
}
MARKED_WRONG = "".join(
    f"@pytest.mark.no_sync_stalls({options})\ndef test_wrong_{n}(): raise KeyError\n"
    for n, options in enumerate(WRONG)
)
OF_WRONG: Table = {
    f"test_wrong_{n}": ("error", [f"marker no_sync_stalls: {problem}"])
    for n, problem in enumerate(WRONG.values())
}

# As plugins for flaky tests do: a test that is run again is judged again.
RERUN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(
        nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem, log=False)
    item._initrequest()
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
FLAKY = """
logs = [None, []]
@pytest.mark.no_sync_stalls
def test_rerun(): train_step(logs.pop())
"""
ALL: Table = {**OF_FIXTURE, **OF_MARKER, **OF_WRONG, **passed("test_rerun")}


@pytest.fixture(scope="module")
def ran(
    torch_forks: TorchForks, tmp_path_factory: pytest.TempPathFactory
) -> other_project.Ran:
    files = {
        "step.py": STEP,
        "test_fixture.py": HEAD + FIXTURE,
        "test_marker.py": HEAD + MARKER,
        "test_wrong.py": HEAD + MARKED_WRONG,
        "rerun/conftest.py": RERUN,
        "rerun/test_flaky.py": HEAD + FLAKY,
    }
    folder = tmp_path_factory.mktemp("project")
    options = ["--strict-markers", "--traceap-device=cpu"]
    return other_project.run(torch_forks, folder, files, *options)


def test_what_becomes_of_each_test(ran: other_project.Ran) -> None:
    ran.is_as(ALL)
    for name, text in NOT_SHOWN.items():
        assert text not in ran.shown[name]


def test_what_is_said_of_all(ran: other_project.Ran) -> None:
    ran.says(
        "*ERROR at setup of test_before*",
        "*ERROR at teardown of test_around*",
        "FAILED test_fixture.py::test_item - Failed: step.py:12*",
    )


def test_a_test_that_is_run_again_counts_once(ran: other_project.Ran) -> None:
    assert ran.properties["test_rerun"]["stalls"] == "0"


# --- Around it ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "lines"),
    [
        (
            "--fixtures",
            ["no_sync_stalls*", "*fails the test if the code*", "trace_check*"],
        ),
        ("--markers", ["@pytest.mark.no_sync_stalls(over_us=50, *"]),
    ],
)
def test_fixtures_and_marker_are_listed(
    torch_forks: TorchForks, tmp_path: Path, option: str, lines: list[str]
) -> None:
    ended = other_project.start(torch_forks, tmp_path, {}, option)
    pytest.LineMatcher(ended.out.splitlines()).fnmatch_lines(lines)


HIDDEN = """
import importlib.util

find_spec = importlib.util.find_spec
importlib.util.find_spec = (
    lambda name, *more: None if name == "torch" else find_spec(name, *more))
"""
NEEDS_TORCH = """
from pathlib import Path

import pytest
def test_fixture(no_sync_stalls): raise AssertionError
@pytest.mark.no_sync_stalls
def test_marker(): raise AssertionError
def test_recording(trace_check):
    with trace_check(): raise AssertionError
"""


def test_without_torch(torch_forks: TorchForks, tmp_path: Path) -> None:
    files = {"conftest.py": HIDDEN, "test_it.py": NEEDS_TORCH}
    ran = other_project.run(torch_forks, tmp_path, files, "-rs")
    assert list(ran.outcomes.values()) == ["skipped"] * 3
    ran.says(
        "SKIPPED * test_it.py:*needs PyTorch, and torch is not *",
    )
