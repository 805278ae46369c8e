# SPDX-License-Identifier: BSD-3-Clause
"""test_pace.py: which cycles of a long run begin, by a made-up clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from torchtraceap.profiling.pace import CycleCost, Overhead, Pace
from torchtraceap.profiling.plan import Plan

EVERY = 100
STEP = 0.1  # Seconds without a profiler.


@dataclass
class Run:
    """A run of steps, in which cycles cost what `cost` says of each."""

    cost: Callable[[int], float]
    budget: float = 0.01
    begins: list[int] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    shares: list[tuple[float, float]] = field(default_factory=list)  # when, and what
    now: float = 0.0

    def __post_init__(self) -> None:
        plan = Plan(1, 1, 3, 0, None, EVERY, self.budget)
        self.pace = Pace(plan, self.told.append, lambda: self.now)

    def go(self, steps: int) -> Run:
        step = 0
        while step < steps:
            self.now += STEP
            step += 1
            if self.pace.passes():
                cost = self.cost(len(self.begins))
                self.begins.append(step)
                self.now += 4 * STEP + cost
                step += 4
                self.pace.is_over(4, cost / 4, cost / 2)
            if step % 7 == 0 or self.begins[-1:] == [step - 4]:
                self.shares.append((self.now, self.end.share))
        return self

    @property
    def end(self) -> Overhead:
        return self.pace.overhead


def test_the_cost_is_what_steps_do_not_take_without_it() -> None:
    run = Run(lambda cycle: 0.0)
    run.now += 7 * STEP  # the first step, which says nothing of the others
    assert run.pace.passes()
    run.now += 4 * (STEP + 0.05) + 0.2 + 0.5
    run.pace.is_over(4, collecting=0.2, analyzing=0.5)
    run.now += STEP + 0.3  # the first one after it, in which the slowest is waited for
    for _ in range(20):
        assert not run.pace.passes()
        run.now += STEP
    (cost,) = run.pace.overhead.cycles
    assert cost == CycleCost(
        1, pytest.approx(4 * 0.05 + 0.3), pytest.approx(0.2), pytest.approx(0.5)
    )
    assert run.pace.overhead.seconds == pytest.approx(1.2)
    assert "recording 0.5, collecting 0.2, analyzing 0.5" in run.told[0]


@pytest.mark.parametrize("cost", [0.0, 0.05, 0.2, 1.0, 3.3])
def test_it_stays_within_the_budget(cost: float) -> None:
    """From when the first one, which nobody knew, is made up for; and it is used."""
    run = Run(lambda cycle: cost).go(40_000)
    over = [now for now, share in run.shares if share > run.budget]
    assert max(over, default=0.0) <= cost / run.budget + 2 * STEP
    assert {(begin - 1) % run.end.every for begin in run.begins} == {0}
    assert run.end.share > min(0.4 * run.budget, 0.9 * cost / (EVERY * STEP))


def test_cheap_cycles_come_every_n_steps() -> None:
    run = Run(lambda cycle: 0.05).go(1_000)
    assert run.begins == list(range(1, 1_000, EVERY))
    assert not run.told


def test_the_distance_is_told_and_shrinks_with_the_cost() -> None:
    """The first cycle loads what later ones have."""
    run = Run(lambda cycle: 1.0 if cycle == 0 else 0.05).go(20_000)
    assert run.begins[:4] == [1, 3_201, 4_801, 6_401]
    assert run.begins[4] - run.begins[3] == EVERY == run.end.every
    assert "from now on there is one every 1,600 steps, not 100" in run.told[0]
    assert "from now on there is one every 100 steps, not 1,600" in run.told[1]


def test_a_cycle_that_costs_more_than_any_before_is_made_up_for() -> None:
    run = Run(lambda cycle: 2.0 if cycle == 20 else 0.05).go(40_000)
    most = max(share for now, share in run.shares if now > 0.05 / run.budget + 1)
    at = run.begins[20] * STEP
    assert run.budget < most <= run.budget + (2.0 - 0.05) / at
    assert run.end.share <= run.budget


def test_no_limit_is_every_n_steps_at_any_cost() -> None:
    run = Run(lambda cycle: 1e6, budget=1.0).go(1_000)
    assert run.begins == list(range(1, 1_000, EVERY))


def test_steps_that_take_no_time() -> None:
    """A clock may be coarse; nothing is divided by that."""
    pace = Pace(Plan(0, 1, 1, 0, None, 4, 1e-6), lambda text: None, lambda: 0.0)
    pace.is_over(2, 0.0, 0.0)
    assert [pace.passes() for _ in range(2)] == [False, True]
    assert pace.overhead.share == 0.0


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("cost", [0.3, 0.7, 1.5])
def test_ranks_record_the_same_steps_though_each_measures_otherwise(
    cost: float, spread: float
) -> None:
    def rank(number: int) -> set[int]:
        draw = random.Random(number)
        run = Run(lambda cycle: cost * draw.uniform(1 - spread, 1 + spread))
        return set(run.go(50_000).begins)

    ranks = [rank(number) for number in range(8)]
    fewest = min(len(begins) for begins in ranks)
    common = set.intersection(*ranks)
    assert fewest >= 10
    assert len(common) >= 0.7 * fewest


def test_what_was_measured_is_bounded() -> None:
    run = Run(lambda cycle: 0.001).go(20_000)
    assert len(run.begins) == 200
    assert len(run.end.cycles) == 100
    assert run.end.seconds == pytest.approx(0.2)


def test_a_run_too_short_for_its_first_cycle_says_so() -> None:
    run = Run(lambda cycle: 1.0).go(50)
    run.pace.stop()
    run.now += 1e6
    assert str(run.end) == (
        "Profiling cost 16.7 % of 6 s (budget 1 %), with a cycle every 1,600 steps "
        "now. It takes a run of 100 s to have cost no more than the budget."
    )
