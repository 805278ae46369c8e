# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_dry_stage.py: the dry run of a test with `no_sync_stalls` where there is
no GPU: when it begins and ends, and what it cannot run."""

from __future__ import annotations

import importlib.util

import pytest

torch = pytest.importorskip("torch")

from .dry_project import HEAD, LINE, run  # noqa: E402

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip(
        "these are dry runs, for machines without a GPU", allow_module_level=True
    )


# --- Where the dry run is on -------------------------------------------------------


def test_fixtures_of_the_test_and_of_more(dry_project: pytest.Pytester) -> None:
    """What outlives the test is made, and ended, as without a dry run."""
    result = run(
        dry_project,
        """
ends = []

def wide(scope):
    @pytest.fixture(scope=scope)
    def fixture():
        assert not on_gpu()
        yield torch.ones(2)
        assert not on_gpu()
        torch.ones(2)
        ends.append(scope)
    return fixture

of_module, of_class, of_session = map(wide, ("module", "class", "session"))

@pytest.fixture(scope="module", params=[1, 2])
def each(request):
    assert not on_gpu()
    yield request.param
    assert not on_gpu()

def setup_module():
    assert not on_gpu()

def teardown_module():
    assert not on_gpu() and sorted(ends) == ["class", "module", "session"][:2]

@pytest.fixture
def around():
    assert on_gpu()
    yield torch.ones(2, device="cuda")
    assert on_gpu()

@pytest.fixture
def before(request):
    assert on_gpu()
    value = request.getfixturevalue("of_module")
    assert on_gpu() and not value.is_cuda
    return value

class TestOne:
    @classmethod
    def setup_class(cls): assert not on_gpu()
    def setup_method(self): assert on_gpu()
    def teardown_method(self): assert on_gpu()
    def test_it(self, of_class, around, of_session, before, no_sync_stalls):
        assert on_gpu() and around.is_cuda
        with no_sync_stalls():
            around + 1

@pytest.mark.no_sync_stalls
def test_each(each, around):
    around + each

def test_others_in_between(each):
    assert not on_gpu()
""",
    )
    result.assert_outcomes(passed=5)


def test_unittest(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
class Base:
    @classmethod
    def setUpClass(cls): assert not on_gpu()
    @classmethod
    def tearDownClass(cls): assert not on_gpu()
    def tearDown(self): self.built[0].weight.sum().item()

@pytest.mark.no_sync_stalls
class TestUnit(Base, unittest.TestCase):
    def setUp(self): self.built = train.build()
    def test_clean(self): train.step(*self.built)
    def test_stalls(self): train.step(*self.built, log=[])
    def test_dlpack(self): self.built[0].weight.detach().__dlpack__()

@pytest.mark.no_sync_stalls
class TestAsync(Base, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.built = train.build()
    async def test_clean(self): train.step(*self.built)
    async def test_stalls(self): train.step(*self.built, log=[])
    async def test_dlpack(self): self.built[0].weight.detach().__dlpack__()
""",
    )
    result.assert_outcomes(passed=2, failed=4)
    for name in ("TestUnit", "TestAsync"):
        result.stdout.fnmatch_lines([f"FAILED *{name}::test_stalls - Failed: {LINE}*"])
        result.stdout.fnmatch_lines(
            [f"FAILED *{name}::test_dlpack - Failed: test_it.py:*it cannot be told*"]
        )


def test_async_functions(dry_project: pytest.Pytester) -> None:
    if importlib.util.find_spec("anyio") is None:
        pytest.skip("anyio, whose plugin runs them, is not installed")
    result = run(
        dry_project,
        """
@pytest.fixture
def anyio_backend(): return "asyncio"

@pytest.fixture
async def later():
    assert on_gpu()
    yield train.build()
    assert on_gpu()

@pytest.mark.anyio
@pytest.mark.no_sync_stalls
@pytest.mark.parametrize("log", [None, []])
async def test_it(later, log):
    train.step(*later, log=log)
""",
    )
    result.assert_outcomes(passed=1, failed=1)


def test_how_a_test_ends_otherwise(dry_project: pytest.Pytester) -> None:
    """Whatever happens, the dry run ends with the test."""
    result = run(
        dry_project,
        """
@pytest.fixture
def broken():
    raise KeyError("own")

def test_setup(no_sync_stalls, broken): pass
def test_then(): assert not on_gpu()
@pytest.mark.no_sync_stalls
def test_error(built): train.step(*built); assert built[0].weight.sum().item() is None
def test_after_that(): assert not on_gpu()
@pytest.mark.no_sync_stalls
def test_skip(): pytest.skip("not today")
@pytest.mark.xfail(raises=ZeroDivisionError)
@pytest.mark.no_sync_stalls
def test_xfail(): 1 / 0
def test_raises(built, no_sync_stalls):
    with pytest.raises(KeyError), no_sync_stalls():
        train.step(*built, log=[])
        raise KeyError
def test_last(): assert not on_gpu()
""",
    )
    result.assert_outcomes(passed=4, failed=1, errors=1, skipped=1, xfailed=1)
    # Values are not those of a GPU: whoever sees this error has to know.
    result.stdout.fnmatch_lines(
        ["*test_error*", "This test ran dry, as there is no GPU here: *"]
    )


def test_xdist(dry_project: pytest.Pytester) -> None:
    if importlib.util.find_spec("xdist") is None:
        pytest.skip("pytest-xdist is not installed")
    dry_project.makepyfile(
        test_it=HEAD
        + """
@pytest.mark.no_sync_stalls
@pytest.mark.parametrize("log", [None, None, [], []])
def test_it(built, log): train.step(*built, log=log)
"""
    )
    result = dry_project.runpytest_subprocess("-n1")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["Checked in a dry run: *"])


# --- What cannot be run dry --------------------------------------------------------

DLPACK = """
@pytest.fixture
def data():
    return torch.ones(3, device="cuda").__dlpack__()  # line 14

def test_fixture(data, no_sync_stalls): pass

def test_block(no_sync_stalls):
    with no_sync_stalls():
        torch.ones(3, device="cuda").__dlpack__()  # line 20
    raise KeyError("not reached")

@pytest.mark.no_sync_stalls
def test_marked():
    torch.ones(3, device="cuda").__dlpack__()  # line 25

def test_outside_of_a_block(no_sync_stalls):
    torch.ones(3, device="cuda").__dlpack__()  # line 28
"""


@pytest.mark.parametrize(
    ("unknown", "outcomes"),
    [
        ("fail", {"failed": 3, "errors": 1}),
        ("skip", {"skipped": 4}),
        ("pass", {"passed": 3, "skipped": 1}),
    ],
)
def test_what_cannot_be_run_dry(
    dry_project: pytest.Pytester, unknown: str, outcomes: dict[str, int]
) -> None:
    result = run(dry_project, DLPACK, f"--traceap-unknown={unknown}", "-rA")
    result.assert_outcomes(**outcomes)
    result.stdout.fnmatch_lines(["Checks that could not be made, of 4 tests:"])
    for line in (14, 20, 25, 28):
        result.stdout.fnmatch_lines(
            [f"*test_it.py:{line}: it cannot be told: __dlpack__ needs memory *"]
        )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*During handling*")
    result.stdout.no_fnmatch_line("*not reached*")


def test_a_dry_run_inside_is_refused(dry_project: pytest.Pytester) -> None:
    result = run(
        dry_project,
        """
def test_it(no_sync_stalls):
    with torchtraceap.dry_run():
        pass

@pytest.mark.no_sync_stalls(device="cpu")
def test_cpu():
    with torchtraceap.dry_run() as run:
        torch.ones(3, device="cuda") + 1
    run.assert_launches(max_per_step=2)
""",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       with torchtraceap.dry_run():*",
            "E *a dry run is under way already, begun by no_sync_stalls, *",
        ]
    )


def test_a_profiler_and_a_recording_inside(dry_project: pytest.Pytester) -> None:
    """torch's own records the CPU alone, trace_check what runs without a dry run."""
    result = run(
        dry_project,
        """
from torch.profiler import ProfilerActivity

def test_it(built, no_sync_stalls, trace_check):
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with no_sync_stalls(), torch.profiler.profile(activities=activities) as prof:
        train.step(*built)
    assert prof.events()
    with trace_check() as check:
        assert not on_gpu()
        torch.ones(3).sum()
    assert on_gpu()
    check.max_step_us(60e6)
""",
        "-rP",
    )
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Of this run: torch's profiler recorded the CPU *"])
    assert "CUDA event" not in result.stderr.str()
