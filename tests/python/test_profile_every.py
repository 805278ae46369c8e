# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_every.py: ``torchtraceap.profile(every=N)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

from .small_work import loop, profile_elsewhere, steps_of, work  # noqa: E402

EVERY_10 = {"every": 10, "active": 2, "quiet": True}


def test_every_ten_steps(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    prof = loop(45, folder=tmp_path, formats=["json"], keep=3, **EVERY_10)
    assert steps_of(prof) == [[22, 23], [32, 33], [42, 43]]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"report-step{step}.json" for step in (14, 24, 34, 4, 44)
    ]
    assert not recwarn.list


@pytest.mark.parametrize(("wait", "first"), [(0, [1, 2]), (5, [6, 7])])
def test_where_the_first_one_begins(wait: int, first: list[int]) -> None:
    prof = loop(18, wait=wait, **EVERY_10)
    assert steps_of(prof) == [first, [step + 10 for step in first]]


def test_one_right_after_the_other() -> None:
    prof = loop(10, every=3, active=2, quiet=True)
    assert steps_of(prof) == [[2, 3], [5, 6], [8, 9]]


def test_so_many_of_them() -> None:
    prof = torchtraceap.profile(repeat=2, **EVERY_10)
    with prof:
        for step in range(40):
            work()
            prof.step()
            assert prof.is_running == (step < 13)
    assert steps_of(prof) == [[2, 3], [12, 13]]


@pytest.mark.parametrize("steps", [12, 13])
def test_the_end_cuts_a_cycle(steps: int) -> None:
    """Two steps in, the warm-up is over and the first recorded step begun."""
    prof = loop(steps, **EVERY_10)
    assert steps_of(prof) == [[2, 3], [12]][: steps - 11]


def test_what_is_raised_in_the_loop_comes_out() -> None:
    prof = torchtraceap.profile(**EVERY_10)
    with pytest.raises(KeyError, match="mine"), prof:
        for step in range(30):
            work()
            if step == 12:
                raise KeyError("mine")
            prof.step()
    assert steps_of(prof) == [[2, 3], [12]]
    assert not prof.is_running


def test_between_cycles_others_may_profile() -> None:
    prof = torchtraceap.profile(**EVERY_10)
    with prof:
        for step in range(25):
            work()
            prof.step()
            if step in (6, 8, 17):
                profile_elsewhere()
    assert steps_of(prof) == [[2, 3], [12, 13], [22, 23]]


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"every": 3}, ValueError, r"every must be at least 4, .*\(warmup=1, active=3"),
        ({"every": 0}, ValueError, "every must be at least 1"),
        ({"every": 9.5}, TypeError, "every must be an int"),
        # torch would keep the events of all cycles.
        ({"every": 10, "acc_events": True}, ValueError, "acc_events keeps the events"),
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
