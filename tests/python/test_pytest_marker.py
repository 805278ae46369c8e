# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_marker.py: `no_sync_stalls`, the marker, and classes, as the tests of
somebody else's project see them."""

from __future__ import annotations

import pytest

from .watched_project import run

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)


def test_the_marker_watches_the_whole_body(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
        """
@pytest.fixture
def warm():  # is no part of the body
    train_step([])
    yield
    train_step([])

@pytest.mark.no_sync_stalls
def test_stalls(): train_step([])

@pytest.mark.no_sync_stalls
def test_clean(warm): train_step()

@pytest.mark.no_sync_stalls(max_count=2, allow=["nothing"])
def test_options():
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
""",
    )
    result.assert_outcomes(passed=5, failed=2)
    result.stdout.fnmatch_lines(
        [
            "FAILED test_step.py::test_stalls - Failed: step.py:12*",
            "FAILED test_step.py::test_each[[]log2[]] - *",
        ]
    )


def test_classes(watched_project: pytest.Pytester) -> None:
    """Of unittest too, whose setUp and tearDown are no part of a test's body."""
    result = run(
        watched_project,
        """
@pytest.mark.usefixtures("no_sync_stalls")
class TestPlain:
    def test_stalls(self): train_step([])
    def test_clean(self): train_step()

@pytest.mark.usefixtures("no_sync_stalls")
class TestUnit(unittest.TestCase):
    def setUp(self): train_step([])
    def tearDown(self): train_step([])
    def test_stalls(self): train_step([])
    def test_clean(self): train_step()
    def test_own(self):
        train_step([])
        self.fail("own")

@pytest.mark.no_sync_stalls
class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): train_step([])
    async def test_stalls(self): train_step([])
    async def test_clean(self): train_step()
""",
        "--tb=short",
    )
    result.assert_outcomes(passed=3, failed=4)
    for name in ("TestPlain", "TestUnit", "TestAsync"):
        result.stdout.fnmatch_lines([f"FAILED *{name}::test_stalls - *step.py:12*"])
    result.stdout.fnmatch_lines(["FAILED *TestUnit::test_own - AssertionError: own"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("max=2", "no option 'max'; there are: over_us, max_count, *unknown"),
        ("max_count=-1", "max_count must be at least 0, but is -1"),
        ("over_us='50'", "over_us must be a number, but is of type str"),
        ("allow='item'", "allow must be a list of names, but is 'item'"),
        ("unknown='ignore'", "unknown must be one of *, but is 'ignore'"),
        ("50", "options need their names, such as max_count=1"),
    ],
)
def test_wrong_options_of_the_marker(
    watched_project: pytest.Pytester, options: str, problem: str
) -> None:
    result = run(
        watched_project,
        f"@pytest.mark.no_sync_stalls({options})\ndef test_it(): raise KeyError",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"marker no_sync_stalls: {problem}"])
    assert "KeyError" not in result.stdout.str()


def test_a_test_that_is_run_again_is_judged_anew(
    watched_project: pytest.Pytester,
) -> None:
    """As plugins for flaky tests do."""
    watched_project.makeconftest(
        """
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
    )
    result = run(
        watched_project,
        """
logs = [None, []]
@pytest.mark.no_sync_stalls
def test_it(): train_step(logs.pop())
""",
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=1)
    xml = (watched_project.path / "out.xml").read_text(encoding="utf-8")
    assert '"torchtraceap.stalls" value="0"' in xml


def test_the_marker_of_a_parameter_is_the_closest(
    watched_project: pytest.Pytester,
) -> None:
    """pytest itself puts it after that of the function."""
    result = run(
        watched_project,
        """
once = pytest.param(2, marks=pytest.mark.no_sync_stalls(max_count=1))

@pytest.mark.parametrize("number", [1, once])
@pytest.mark.no_sync_stalls
def test_marked(number):
    train_step([])
""",
        "-rfp",
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["PASSED *test_marked[[]2[]]"])
