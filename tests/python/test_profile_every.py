# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_every.py: ``torchtraceap.profile(every=N)``, in loops that are run.

When cycles begin is tested by a made-up clock: test_pace.py.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from .small_work import CPU, steps_of, work  # noqa: E402

ALWAYS = {"every": 10, "overhead": 1, "active": 2, "quiet": True}


def loop(steps: int, **options: Any) -> Any:
    with torchtraceap.profile(**options) as prof:
        for _ in range(steps):
            work()
            prof.step()
    return prof


def profile_elsewhere() -> None:
    with torch.profiler.profile(activities=CPU):
        work()


def test_every_ten_steps(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    prof = loop(45, folder=tmp_path, formats=["json"], keep=3, **ALWAYS)
    assert steps_of(prof) == [[22, 23], [32, 33], [42, 43]]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"report-step{step}.json" for step in (14, 24, 34, 4, 44)
    ]
    assert [cycle.step for cycle in prof.overhead.cycles] == [1, 11, 21, 31, 41]
    for cycle in prof.overhead.cycles:
        assert cycle.collecting > 0
        assert cycle.analyzing > 0
    assert 0 < prof.overhead.share < 1
    assert prof.overhead == prof.overhead  # it is over
    assert not recwarn.list


def test_a_budget_puts_the_next_one_further_off(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No cycle is paid for by a millionth of so short a run."""
    prof = loop(60, every=10, overhead=1e-6, active=2)
    assert steps_of(prof) == [[2, 3]]
    assert prof.overhead.every > 10
    assert prof.overhead.share > prof.overhead.budget
    out = " ".join(capsys.readouterr().out.split())
    assert "Profiling a cycle cost" in out
    assert "to have cost no more than the budget." in out


@pytest.mark.parametrize(("wait", "first"), [(0, [1, 2]), (5, [6, 7])])
def test_where_the_first_one_begins(wait: int, first: list[int]) -> None:
    prof = loop(18, wait=wait, **ALWAYS)
    assert steps_of(prof) == [first, [step + 10 for step in first]]


def test_so_many_of_them() -> None:
    prof = torchtraceap.profile(repeat=2, **ALWAYS)
    with prof:
        for step in range(40):
            work()
            prof.step()
            assert prof.is_running == (step < 13)
    assert steps_of(prof) == [[2, 3], [12, 13]]


def test_without_a_limit_on_reports_there_is_one_on_memory() -> None:
    """torch would keep the events of all cycles."""
    with pytest.raises(ValueError, match="acc_events keeps the events of all cycles"):
        torchtraceap.profile(every=10, acc_events=True)


@pytest.mark.parametrize("steps", [12, 13])
def test_the_end_cuts_a_cycle(steps: int) -> None:
    """Two steps in, the warm-up is over and the first recorded step begun."""
    prof = loop(steps, **ALWAYS)
    assert steps_of(prof) == [[2, 3], [12]][: steps - 11]


def test_too_few_steps_for_the_first() -> None:
    with pytest.warns(RuntimeWarning, match="called 2 times.*Nothing was recorded"):
        prof = loop(2, **ALWAYS)
    assert prof.report is None


def test_what_is_raised_in_the_loop_comes_out() -> None:
    prof = torchtraceap.profile(**ALWAYS)
    with pytest.raises(KeyError, match="mine"), prof:
        for step in range(30):
            work()
            if step == 12:
                raise KeyError("mine")
            prof.step()
    assert steps_of(prof) == [[2, 3], [12]]
    assert not prof.is_running


def test_a_handler_that_fails_costs_its_time_and_ends_nothing() -> None:
    def fail(report: object) -> None:
        raise KeyError("mine")

    with pytest.warns(RuntimeWarning, match="the callback .*KeyError: 'mine'"):
        prof = loop(25, callbacks=fail, **ALWAYS)
    assert steps_of(prof) == [[2, 3], [12, 13], [22, 23]]


def test_between_cycles_others_may_profile() -> None:
    prof = torchtraceap.profile(**ALWAYS)
    with prof:
        for step in range(25):
            work()
            prof.step()
            if step in (6, 8, 17):
                profile_elsewhere()
                assert steps_of(loop(5, quiet=True)) == [[2, 3, 4]]
    assert steps_of(prof) == [[2, 3], [12, 13], [22, 23]]


def test_a_cycle_is_left_out_while_another_profiler_runs() -> None:
    prof = torchtraceap.profile(**ALWAYS)
    other = torch.profiler.profile(activities=CPU)
    with prof:
        for step in range(25):
            if step == 8:
                other.start()
            if step == 15:
                other.stop()
            work()
            if step == 10:
                with pytest.warns(RuntimeWarning, match="this step is left out: anoth"):
                    prof.step()
            else:
                prof.step()
    assert steps_of(prof) == [[2, 3], [22, 23]]
    assert torchtraceap.analyze(other).operators


@pytest.mark.parametrize("ours", [False, True], ids=["torch's", "ours"])
def test_it_ends_while_another_profiler_runs(
    ours: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """Which is none of its business between cycles."""
    prof = torchtraceap.profile(**ALWAYS).__enter__()
    for _ in range(7):
        work()
        prof.step()
    other = (
        torchtraceap.profile(quiet=True)
        if ours
        else torch.profiler.profile(activities=CPU)
    )
    with other:
        prof.stop()
        for _ in range(5):
            work()
            other.step()
    assert steps_of(prof) == [[2, 3]]
    assert torchtraceap.analyze(other).operators
    assert not recwarn.list


def test_its_thread_ends_while_another_one_profiles() -> None:
    prof = torchtraceap.profile(**ALWAYS)

    def steps() -> None:
        prof.start()
        for _ in range(7):
            work()
            prof.step()

    thread = threading.Thread(target=steps)
    thread.start()
    thread.join()
    with torchtraceap.profile(quiet=True) as other:
        for step in range(5):
            work()
            if step == 2:
                with pytest.warns(RuntimeWarning, match="the thread that started it"):
                    prof.stop()
            other.step()
    assert steps_of(prof) == [[2, 3]]
    assert steps_of(other) == [[2, 3, 4]]


def test_the_decorator() -> None:
    @torchtraceap.profile_steps(**ALWAYS)
    def train_step() -> None:
        work()

    for _ in range(25):
        train_step()
    assert steps_of(train_step.session) == [[2, 3], [12, 13], [22, 23]]
    assert train_step.session.overhead.every == 10
    train_step.session.stop()


def test_without_it_there_is_no_such_thing() -> None:
    assert torchtraceap.profile().overhead is None


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"every": 5}, ValueError, "every must be at least 6, two more than warmup"),
        ({"every": 0}, ValueError, "every must be at least 1"),
        ({"every": 9.5}, TypeError, "every must be an int"),
        ({"overhead": 0.01}, ValueError, "may cost: give every too"),
        ({"every": 50, "overhead": 0}, ValueError, "at least 1e-06, but is 0: 0.01 is"),
        ({"every": 50, "overhead": 5}, ValueError, "overhead must be at most 1"),
        ({"every": 50, "overhead": "1 %"}, ValueError, "overhead must be a number"),
        (
            {
                "every": 50,
                "schedule": torch.profiler.schedule(wait=1, warmup=1, active=1),
            },
            ValueError,
            "schedule and every both say",
        ),
    ],
)
def test_wrong_options_are_refused_at_once(
    options: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        torchtraceap.profile(**options)
