# SPDX-License-Identifier: BSD-3-Clause
"""test_pytest_plugin.py: `no_sync_stalls`, the fixture, as the tests of somebody else's
project see it; and what pytest lists and what is there without torch."""

from __future__ import annotations

import importlib.util

import pytest

from .watched_project import run

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]

if torch.cuda.is_available():
    pytest.skip("these watch a run without a GPU", allow_module_level=True)


# --- The fixture -------------------------------------------------------------------


def test_outcomes_and_message(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
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
            "step.py:12: * (aten::_local_scalar_dense) waits for *[[]no_sync_stalls[]]",
            "  step.py:12  * (aten::_local_scalar_dense)  ×2",
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


def test_all_failing_blocks_are_reported(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
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
    watched_project: pytest.Pytester, body: str, outcome: str, line: str
) -> None:
    """Its own error wins; that it is skipped later does not undo what failed."""
    result = run(
        watched_project,
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


def test_an_error_in_the_block_comes_through(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
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


def test_blocks_in_fixtures(watched_project: pytest.Pytester) -> None:
    """What they find is an error of the phase in which they end."""
    result = run(
        watched_project,
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


def test_what_watches_nothing_fails(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
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


def test_a_fixture_that_is_asked_for_and_not_used(
    watched_project: pytest.Pytester,
) -> None:
    """It would look like a check; a skipped or a marked test needs none."""
    result = run(
        watched_project,
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


def test_one_check_at_a_time(watched_project: pytest.Pytester) -> None:
    result = run(
        watched_project,
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


def test_what_is_allowed_must_be_names(watched_project: pytest.Pytester) -> None:
    """Said where the block begins, not at its end."""
    result = run(
        watched_project,
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
