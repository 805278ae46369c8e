# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are late in turn, what ranks share, overlapping waits, and ranks that
could not be joined: from work made by hand to the text."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest

from torchtraceap import _core
from torchtraceap._core import RankFinding, RankRow, TraceFacts
from torchtraceap.ranks.joining import AnalyzedRank, JoinedJob
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile, Recording
from torchtraceap.report import Report
from torchtraceap.views.job_text import write_job

_US = 1000
_STEPS, _TIMES = 6, 4

#: Work of a rank before a collective, in microseconds: by rank, step and collective.
Work = Callable[[int, int, int], float]


def _no_report() -> Report:
    raise AssertionError("there is no trace")


def _finding(pattern: str, wasted_us: float) -> RankFinding:
    return RankFinding(
        id=f"{pattern}-1", pattern=pattern, kind=pattern, side="cpu", location=None,
        operator="", count=1, wasted_us=wasted_us, recoverable_us=None,
        message="It is.", advice="Do not.",
    )  # fmt: skip


def _job(
    works: Iterable[_core.RankWork | None], findings: dict[int, float] | None = None
) -> JoinedJob:
    """Join works; None is a trace that cannot be scheduled."""
    ranks = []
    for rank, work in enumerate(works):
        span = max(work.recorded_ns) / _US if work else 100.0
        own = (findings or {}).get(rank)
        record = RankRecord(
            facts=TraceFacts("<bytes>", 1, 0.0, span, (), rank, None),
            row=RankRow(device="H100", span_us=span),
            findings=() if own is None else (_finding("launch_bound", own),),
            work=work.to_bytes() if work else None,
            refusal="" if work else "nothing can be scheduled",
        )
        file = RankFile(f"runs/rank{rank}.json", rank)
        ranks.append(AnalyzedRank(file, record, _no_report))
    files = tuple(rank.file for rank in ranks)
    return JoinedJob("runs", Recording("rank*.json", files, len(ranks)), ranks, [])


def _works(ranks: int, work: Work) -> list[_core.RankWork]:
    """All ranks work, and meet in an all-reduce, a few times a step."""
    now = [0.0] * ranks
    recorded: list[list[int]] = [[0] for _ in range(ranks)]
    passages: list[list[tuple[int, int, int, list[tuple[int, int]]]]]
    passages = [[] for _ in range(ranks)]
    met: list[list[_core.RankCollective]] = [[] for _ in range(ranks)]
    steps: list[list[tuple[int, int, int]]] = [[] for _ in range(ranks)]
    for step in range(_STEPS):
        first = len(recorded[0]) - 1
        for at in range(_TIMES):
            arrived = []
            for rank in range(ranks):
                ns = round(_US * work(rank, step, at))
                stop = len(recorded[rank])
                arrived.append(now[rank] + ns)
                passages[rank].append((stop - 1, stop, ns, [(0, ns)]))
                recorded[rank].append(round(arrived[-1]))
            end = max(arrived) + 50 * _US
            for rank in range(ranks):
                now[rank] = end
                stop = len(recorded[rank])
                recorded[rank].append(round(end))
                met[rank].append(
                    _core.RankCollective(
                        f"{step} {at}", "all_reduce", step, stop - 1, stop
                    )
                )
        for rank in range(ranks):
            steps[rank].append((step, first, len(recorded[rank]) - 1))
    return [
        _core.RankWork(
            rank, -1, recorded[rank], ["host"], passages[rank], met[rank], steps[rank]
        )
        for rank in range(ranks)
    ]


def _in_turn(rank: int, step: int, at: int) -> float:
    """Ranks 0 and 6 are late in every second collective each."""
    return 1000 if rank == (0, 6)[at % 2] else 300 + rank


def test_two_ranks_that_are_late_in_turn_are_both_named() -> None:
    job = _job(_works(8, _in_turn))
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
    job = _job(
        _works(8, lambda rank, *_: 1000 - rank if rank in (2, 5) else 300 + rank)
    )
    assert sorted(one.rank for one in job.late_ranks) == [2, 5]
    assert max(one.gain_us or 0 for one in job.late_ranks) < 20
    assert (job.facts.late_gain_us or 0) > _TIMES * 650
    text = " ".join(write_job(job, 10).split())
    assert "Who is late: ranks 2 and 5, in turn." in text
    assert "together they gain 2.7" in text


def test_where_all_wait_for_each_other_none_is_late() -> None:
    chance = random.Random(1)
    for ranks in (2, 4, 8):
        drawn = {}
        job = _job(
            _works(
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

    job = _job([rank(0, (100, 300), 1100), rank(1, (900, 1000), 1100)])
    waits = {row.rank: row.waited_us for row in job.ranks}
    assert waits == {0: 900, 1: 0}
    assert (
        job.facts.waited_us == sum(one.wait_us for one in job.joined_collectives) == 900
    )
    assert sum(one.waited_us for one in job.causes) == pytest.approx(900, abs=0.002)
    for row in job.ranks:
        assert row.waited_us + row.transfer_us <= row.span_us


def test_what_ranks_share_is_said() -> None:
    works = _works(4, lambda rank, *_: 300)
    span = max(works[0].recorded_ns) / _US
    job = _job(works, {rank: span * 0.2 for rank in range(3)} | {3: span * 0.4})
    (shared,) = job.shared
    assert (shared.pattern, shared.ranks, shared.of) == ("launch_bound", 4, 4)
    assert shared.share == pytest.approx(0.25)
    text = " ".join(write_job(job, 10).split())
    assert (
        "launch_bound on 4 of 4 ranks, 25.0 % of their time (20.0 % to 40.0 %)" in text
    )
    # One of four has nothing in common with the others.
    assert _job(works, {1: span * 0.9}).shared == ()


def test_a_verdict_is_on_the_ranks_that_could_be_joined() -> None:
    works = _works(4, lambda rank, *_: 300 + rank)
    job = _job([*works[:2], None, None])
    assert job.facts.unjoined == (2, 3)
    text = write_job(job, 10)
    assert "No stragglers among the 2 of 4 ranks" in text
    assert _job(works).facts.unjoined == ()
    assert "among the" not in write_job(_job(works), 10)
