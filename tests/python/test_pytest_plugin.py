# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_plugin.py: `no_sync_stalls`, the fixture and the marker, as the tests of
somebody else's project see them."""

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
# The second is of an editable install's hook, see pyproject.toml.
STRICT = [
    "-Werror",
    "-Wignore:Module already imported so cannot be rewritten",
    "--strict-markers",
]


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makepyfile(step=STEP)
    pytester.syspathinsert()
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    head = "import pytest, unittest\nfrom step import train_step\n"
    project.makepyfile(test_step=head + tests)
    return project.runpytest_inprocess(*STRICT, *options)


# --- The fixture -------------------------------------------------------------------


def test_outcomes_and_message(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
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
""",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "torchtraceap: 3 tests use its checks; no GPU here: *operators*",
            "step.py:12: aten::_local_scalar_dense waits for *[[]no_sync_stalls[]]",
            "  step.py:12  aten::_local_scalar_dense  ×2",
            "*- torchtraceap -*",
            "FAILED no_sync_stalls [[]no GPU: operators that would wait for one[]]",
            "*> log.append(loss.item())  # line 12",
            "*.item()*one value is read back to Python",
            "*instead: keep the value on the device*",
            "The code put nothing on a GPU, *",
            "Checked on a machine without a GPU*",
            "Not known here: how long; copies to the host*",
            "Not counted*optimizers' step counters.",
            "To tolerate a line: allow=['step.py:12']",
            "FAILED test_step.py::test_item - Failed: step.py:12*",
        ]
    )
    # The message is the report: no traceback into the plugin.
    assert "pytest_plugin.py" not in result.stdout.str()


def test_all_failing_blocks_are_reported(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
    with no_sync_stalls():
        train_step()
    with no_sync_stalls():
        bool(train_step.__globals__["torch"].ones(1))
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "step.py:12: * and 1 more failing check",
            "test_step.py:10: * [[]no_sync_stalls[]]",
        ]
    )


@pytest.mark.parametrize(
    ("body", "outcome", "line"),
    [
        ("assert False, 'own'", "failed", "E * own"),
        ("pytest.skip('too slow')", "failed", "step.py:12: *"),
        ("pytest.xfail('known')", "xfailed", "*1 xfailed*"),
    ],
)
def test_how_a_test_ends_otherwise(
    project: pytest.Pytester, body: str, outcome: str, line: str
) -> None:
    """Its own error wins; that it is skipped later does not undo what failed."""
    result = run(
        project,
        f"""
def test_it(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
    {body}
""",
    )
    result.assert_outcomes(**{outcome: 1})
    result.stdout.fnmatch_lines([line])
    if "assert" in body:  # What the check found is told all the same.
        assert "Failed: step.py" not in result.stdout.str()
        result.stdout.fnmatch_lines(["FAILED no_sync_stalls [[]no GPU*"])


def test_an_error_in_the_block_comes_through(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_it(no_sync_stalls):
    with no_sync_stalls():
        train_step([])
        raise KeyError("own")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * KeyError: 'own'"])
    assert "contextlib" not in result.stdout.str()


def test_blocks_in_fixtures(project: pytest.Pytester) -> None:
    """What they find is an error of the phase in which they end."""
    result = run(
        project,
        """
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
""",
    )
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_before*",
            "step.py:12: *",
            "*ERROR at teardown of test_around*",
            "step.py:12: *",
        ]
    )


def test_what_watches_nothing_fails(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_no_with(no_sync_stalls):
    no_sync_stalls()
    train_step([])

def test_no_step(no_sync_stalls):
    with no_sync_stalls(warmup=2):
        train_step([])
""",
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "no_sync_stalls() was called, but watches nothing: write `with *",
            "nothing was checked: the block ended 2 calls of step()*",
        ]
    )


def test_a_fixture_that_is_asked_for_and_not_used(project: pytest.Pytester) -> None:
    """It would look like a check; a skipped or a marked test needs none."""
    result = run(
        project,
        """
def test_unused(no_sync_stalls):
    train_step([])

def test_skipped(no_sync_stalls):
    pytest.skip("not today")

@pytest.mark.no_sync_stalls
def test_marked(no_sync_stalls):
    train_step()

@pytest.fixture
def mine(no_sync_stalls):
    return no_sync_stalls

def test_of_another_fixture(mine):
    pass
""",
    )
    result.assert_outcomes(failed=1, skipped=1, passed=2)
    result.stdout.fnmatch_lines(
        ["the test asks for no_sync_stalls, but watches nothing*"]
    )


def test_one_check_at_a_time(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
def test_nested(no_sync_stalls):
    with no_sync_stalls():
        with no_sync_stalls():
            pass

@pytest.mark.no_sync_stalls
def test_in_a_marked_test(trace_check):
    with trace_check():
        pass

def test_one_after_the_other(no_sync_stalls, trace_check):
    with no_sync_stalls():
        train_step()
    with trace_check() as check:
        train_step()
    check.max_step_us(60e6)
""",
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            ">           with no_sync_stalls():",
            "E * no_sync_stalls inside no_sync_stalls: code can be watched by one *",
            "E * trace_check inside no_sync_stalls: code can be watched by one *",
        ]
    )


# --- The marker --------------------------------------------------------------------


def test_the_marker_watches_the_whole_body(project: pytest.Pytester) -> None:
    result = run(
        project,
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


def test_classes(project: pytest.Pytester) -> None:
    """Of unittest too, whose setUp and tearDown are no part of a test's body."""
    result = run(
        project,
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
    project: pytest.Pytester, options: str, problem: str
) -> None:
    result = run(
        project,
        f"@pytest.mark.no_sync_stalls({options})\ndef test_it(): raise KeyError",
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"marker no_sync_stalls: {problem}"])
    assert "KeyError" not in result.stdout.str()


# --- Around it ---------------------------------------------------------------------


def test_fixtures_and_marker_are_listed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--fixtures")
    result.stdout.fnmatch_lines(
        ["no_sync_stalls*", "*fails the test if the code*", "trace_check*"]
    )
    result = pytester.runpytest_inprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.no_sync_stalls(over_us=50, *"])


def test_without_torch(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import pytest
        def test_fixture(no_sync_stalls): raise AssertionError
        @pytest.mark.no_sync_stalls
        def test_marker(): raise AssertionError
        def test_recording(trace_check):
            with trace_check(): raise AssertionError
        """
    )
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "torch" else find_spec(name, *more),
    )
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(
        [
            "*torch is not installed: stored traces can be checked, code cannot",
            "SKIPPED * test_without_torch.py:*needs PyTorch, and torch is not *",
        ]
    )


def test_a_test_that_is_run_again_is_judged_anew(project: pytest.Pytester) -> None:
    """As plugins for flaky tests do."""
    project.makeconftest(
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
        project,
        """
logs = [None, []]
@pytest.mark.no_sync_stalls
def test_it(): train_step(logs.pop())
""",
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=1)
    xml = (project.path / "out.xml").read_text(encoding="utf-8")
    assert '"torchtraceap.stalls" value="0"' in xml


def test_the_marker_of_a_parameter_is_the_closest(project: pytest.Pytester) -> None:
    """pytest itself puts it after that of the function."""
    result = run(
        project,
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


def test_what_is_allowed_must_be_names(project: pytest.Pytester) -> None:
    """Said where the block begins, not at its end."""
    result = run(
        project,
        """
def test_block(no_sync_stalls):
    with no_sync_stalls(allow=[88]):
        assert False, "too late"
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *allow must be a list of names, but one is of *int"]
    )
    result.stdout.no_fnmatch_line("*too late*")
