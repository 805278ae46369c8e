# SPDX-License-Identifier: BSD-3-Clause
"""test_profile_overhead.py: cycles that repeat cost no more than the share given."""

from __future__ import annotations

import time

import pytest

import torchtraceap

torch = pytest.importorskip("torch")
from torch.profiler import ProfilerAction  # noqa: E402

from torchtraceap.profiling import pace  # noqa: E402

from .small_work import SEVERAL_CYCLES  # noqa: E402

pytestmark = SEVERAL_CYCLES


class Clock:
    """Seconds that pass when a test says so."""

    now_s = 0.0

    def perf_counter(self) -> float:
        return self.now_s


@pytest.mark.parametrize("share", [0.5, 0.05, 0.01])
def test_a_cycle_begins_when_the_share_allows_for_it(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps take 1 s, profiled ones 2 s, and each report 10 s."""
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    schedule = pace.Pace(4, 1, 2, 0, share)
    cost_s, steps, shares = 0.0, 0, []
    action = schedule(0)
    for step in range(20_000):
        extra_s = 0.0 if action == ProfilerAction.NONE else 1.0
        extra_s += 10.0 if action == ProfilerAction.RECORD_AND_SAVE else 0.0
        clock.now_s += 1.0 + extra_s
        cost_s, steps = cost_s + extra_s, steps + 1
        if action == ProfilerAction.RECORD_AND_SAVE:
            shares.append(cost_s / steps)
        was, action = action, schedule(step + 1)
        assert schedule(step + 1) == action  # may be asked twice
        schedule.tell({was, action} != {ProfilerAction.NONE})
    assert schedule.overhead == pytest.approx(cost_s / steps)
    assert all(one <= share for one in shares[1:])
    # And it makes use of it: another cycle of 13 s would not have fit much earlier.
    assert len(shares) > 0.9 * share * steps / 13 if share < 0.5 else shares


def test_a_run_costs_no_more_than_it_may() -> None:
    begin = time.perf_counter()
    with torchtraceap.profile(
        wait=3, warmup=1, active=1, repeat=0, overhead=1, quiet=True, reserve=False
    ) as prof:
        assert prof.overhead == 0
        while len(prof.reports) < 2 and time.perf_counter() - begin < 60:
            time.sleep(0.002)
            torch.ones(8).sum()
            prof.step()
            if len(prof.reports) == 1:
                assert prof.overhead > 0
    assert len(prof.reports) == 2
    assert 0 < prof.overhead <= 1.5  # the last cycle may have been dearer than usual
    numbers = [step.number for report in prof.reports for step in report.steps]
    assert numbers[0] == 4 and numbers == sorted({*numbers})
    with torchtraceap.profile(quiet=True) as prof:
        pass
    assert prof.overhead is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"overhead": 0.01}, "repeat=0"),
        ({"overhead": 0.01, "repeat": 0, "wait": 0}, "wait of at least 1"),
        ({"overhead": 1.5, "repeat": 0}, "must be a share"),
    ],
)
def test_a_share_that_makes_no_sense(options: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        torchtraceap.profile(**options)
    with pytest.raises(TypeError, match="must be a number"):
        torchtraceap.profile(overhead="1 %", repeat=0)
