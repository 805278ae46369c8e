# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are late in turn, what ranks share, overlapping waits, and ranks that
could not be joined: from work made by hand to the text."""

from __future__ import annotations

import random

import pytest

from torchtraceap import _core
from torchtraceap._core import RankFinding
from torchtraceap.views.job_answer import job_answer_lines
from torchtraceap.views.job_text import write_job

from .sample_jobs import job_of, works_of

_US = 1000
_TIMES = 4  # Collectives of a step.


def _launch_bound(wasted_us: float) -> RankFinding:
    return RankFinding(
        id="launch_bound-1", pattern="launch_bound", kind="launch_bound", side="cpu",
        location=None, operator="", count=1, wasted_us=wasted_us, recoverable_us=None,
        message="It is.", advice="Do not.",
    )  # fmt: skip


def _in_turn(rank: int, step: int, at: int) -> float:
    """Ranks 0 and 6 are late in every second collective each."""
    return 1000 if rank == (0, 6)[at % 2] else 300 + rank


def test_two_ranks_that_are_late_in_turn_are_both_named() -> None:
    job = job_of(works_of(8, _in_turn))
    assert sorted(one.rank for one in job.late_ranks) == [0, 6]
    assert sum(one.share for one in job.late_ranks) > 0.95
    assert all(one.host_share == pytest.approx(1) for one in job.late_ranks)
    # Both together, and each half of it.
    gain = job.facts.late_gain_us or 0
    assert gain == pytest.approx(_TIMES * 695, rel=0.02)
    for one in job.late_ranks:
        assert one.gain_us == pytest.approx(gain / 2, rel=0.02)
    text = " ".join(write_job(job, 10).split())
    assert "They come last in 24 of 24 collectives" in text.replace("  ", " ")


def test_two_ranks_that_hide_each_other_are_both_named() -> None:
    """Both are late at the same time, so that one alone gains nothing."""
    job = job_of(
        works_of(8, lambda rank, *_: 1000 - rank if rank in (2, 5) else 300 + rank)
    )
    assert sorted(one.rank for one in job.late_ranks) == [2, 5]
    assert max(one.gain_us or 0 for one in job.late_ranks) < 20
    assert (job.facts.late_gain_us or 0) > _TIMES * 650
    text = " ".join(write_job(job, 10).split())
    assert "Who is late: ranks 2 and 5, in turn." in text
    assert "together they gain about 2.7" in text


def test_a_rank_that_is_late_in_some_steps_is_named_as_that() -> None:
    """By the work of rank 3 in two of six steps; in most it is not late."""

    def works(rank: int, step: int, _: int) -> float:
        return 3000 if rank == 3 and step in (2, 4) else 300 + rank

    job = job_of(works_of(8, works))
    assert job.facts.sometimes_late == 3 and job.late_ranks == ()
    assert "Rank 3 is late in some steps: that is" in " ".join(job_answer_lines(job))
    steady = job_of(works_of(8, lambda rank, *_: 900 if rank == 3 else 300 + rank))
    assert steady.facts.sometimes_late is None


def test_where_all_wait_for_each_other_none_is_late() -> None:
    chance = random.Random(1)
    for ranks in (2, 4, 8):
        drawn = {}
        job = job_of(
            works_of(
                ranks,
                lambda *key, d=drawn: d.setdefault(key, chance.lognormvariate(6, 0.4)),
            )
        )
        assert job.facts.waited_us > 0
        assert job.late_ranks == ()
        assert job.facts.late_gain_us is None


def test_a_moment_in_two_collectives_is_waited_once() -> None:
    """Rank 0 is in two collectives at a time, from 100 and 300 us on; rank 1 comes to
    them at 900 and 1000."""

    def rank(number: int, begins: tuple[int, int], end: int) -> _core.RankWork:
        times = [0, begins[0], begins[1], end, end + 50]
        recorded = [_US * t for t in times]
        passages = [(0, at, recorded[at], [(0, recorded[at])]) for at in (1, 2)]
        met = [
            _core.RankCollective("a", "all_reduce", -1, 1, 3),
            _core.RankCollective("b", "all_gather", -1, 2, 4),
        ]
        return _core.RankWork(number, -1, recorded, ["host"], passages, met, [])

    job = job_of([rank(0, (100, 300), 1100), rank(1, (900, 1000), 1100)])
    waits = {row.rank: row.waited_us for row in job.ranks}
    assert waits == {0: 900, 1: 0}
    assert (
        job.facts.waited_us == sum(one.wait_us for one in job.joined_collectives) == 900
    )
    assert sum(one.waited_us for one in job.causes) == pytest.approx(900, abs=0.002)
    for row in job.ranks:
        assert row.waited_us + row.transfer_us <= row.span_us


def test_what_ranks_share_is_said() -> None:
    works = works_of(4, lambda rank, *_: 300)
    span = max(works[0].recorded_ns) / _US
    wasted = {0: span * 0.2, 1: span * 0.2, 2: span * 0.2, 3: span * 0.4}
    job = job_of(works, {rank: _launch_bound(us) for rank, us in wasted.items()})
    (shared,) = job.shared
    assert (shared.pattern, shared.ranks, shared.of) == ("launch_bound", 4, 4)
    assert shared.share == pytest.approx(0.25)
    text = " ".join(write_job(job, 10).split())
    assert (
        "launch_bound on 4 of 4 ranks, 25.0 % of their time (20.0 % to 40.0 %)" in text
    )
    # One of four has nothing in common with the others.
    assert job_of(works, {1: _launch_bound(span * 0.9)}).shared == ()


def test_a_verdict_is_on_the_ranks_that_could_be_joined() -> None:
    works = works_of(4, lambda rank, *_: 300 + rank)
    job = job_of([*works[:2], None, None])
    assert job.facts.unjoined == (2, 3)
    text = write_job(job, 10)
    assert "No stragglers among the 2 of 4 ranks" in text
    assert job_of(works).facts.unjoined == ()
    assert "among the" not in write_job(job_of(works), 10)
