# SPDX-License-Identifier: BSD-3-Clause
"""Published traces: single ranks, two of 128, and whole jobs."""

from __future__ import annotations

import re

import pytest

import torchtraceap
from torchtraceap.ranks.job_report import JobReport

from ..real_traces import MOST_BYTES, PATHS

_RANK = re.compile(r"rank0*(\d+)of(\d+)")


def _named() -> list[object]:
    """Return the traces whose names say whose they are; large ones under `verify`."""
    return [
        pytest.param(name, marks=[pytest.mark.verify] * (size > MOST_BYTES))
        for name, size in sorted((n, p.stat().st_size) for n, p in PATHS.items())
        if _RANK.search(name)
    ]


def _job(*names: str) -> JobReport:
    missing = [name for name in names if name not in PATHS]
    if missing:
        pytest.skip(f"not available: {', '.join(missing)}")
    job = torchtraceap.analyze([PATHS[name] for name in names])
    assert isinstance(job, JobReport)
    return job


@pytest.mark.parametrize("name", _named())
def test_one_rank_alone(name: str) -> None:
    found = _RANK.search(name)
    assert found is not None
    rank, size = int(found[1]), int(found[2])
    job = _job(name)
    if size == 1:
        assert "does not belong to a job of several" in job.problem
        return
    facts = job.facts
    assert [row.rank for row in job.ranks] == [rank]
    assert facts.world_size == size
    assert set(facts.missing) == set(range(size)) - {rank}
    (missing,) = (note for note in facts.notes if note.kind == "ranks_missing")
    assert missing.count == size - 1
    # A rank that saw no other rank blames none.
    assert (facts.joined_collectives, facts.culprit, job.late) == (0, None, ())


def test_two_of_128_meet_where_both_were_recorded() -> None:
    """Of their events some were taken out, so that the n-th all-to-all of one need not
    be that of the other: those that were not there at one time are not joined."""
    job = _job("nccl-rank000of128-sampled.json.gz", "nccl-rank001of128-sampled.json.gz")
    facts = job.facts
    assert (facts.ranks, facts.world_size, len(facts.missing)) == (2, 128, 126)
    assert (facts.joined_collectives, facts.contradicted) == (5, 5)
    for collective in job.joined_collectives:
        assert "SendRecv" in collective.name
        begins = max(arrival.begin_us for arrival in collective.arrivals)
        ends = min(arrival.end_us for arrival in collective.arrivals)
        assert begins <= ends + 1000


@pytest.mark.parametrize(
    "stem, size, collectives, waited_ms",
    [
        ("a100x8-megatron-tp8", 8, 84, 2939.3),
        ("rtx4090x2-llama-tp", 2, 19, 46.4),
        ("rtx4090x2-one-collective", 2, 1, 11.257),
    ],
)
def test_whole_jobs(stem: str, size: int, collectives: int, waited_ms: float) -> None:
    """Waiting was counted from the files alone: a rank waits for the time of its kernel
    less that of the shortest among all ranks. The program also knows late starts,
    which is why one percent is left."""
    job = _job(*(f"{stem}-rank{rank}of{size}.json.gz" for rank in range(size)))
    facts = job.facts
    assert not job.problem
    assert (facts.ranks, facts.world_size, facts.missing) == (size, size, ())
    assert facts.joined_collectives == collectives
    assert facts.unmatched == facts.contradicted == 0
    assert {len(one.arrivals) for one in job.joined_collectives} == {size}
    assert facts.waited_us == pytest.approx(1e3 * waited_ms, rel=0.01)


def test_ranks_that_are_late_in_turn_are_named_together() -> None:
    """In the files, ranks 0 and 6 come last in 66 of 84 collectives."""
    job = _job(*(f"a100x8-megatron-tp8-rank{rank}of8.json.gz" for rank in range(8)))
    assert [one.rank for one in job.late_ranks] == [0, 6]
    assert sum(row.last for row in job.ranks if row.rank in (0, 6)) == 66
    assert all(one.host_share > 0.75 for one in job.late_ranks)
    for row in job.ranks:
        assert row.waited_us + row.transfer_us <= row.span_us
    assert "ranks 0 and 6, in turn" in job.summary()


OTHERS = {
    "two of two": ("a100x8-nccl-process-groups-rank0of2 v100x2-nccl-rank1of2-test",
                   "no collective in common"),
    "two of eight": ("a100x8-nccl-rank3of8-control mi300x8-resnet-ddp-rccl-rank0of8",
                     "no collective in common"),
    "other sizes": ("nccl-rank000of128-sampled a100x8-nccl-rank3of8-control",
                    "a job of 8 ranks"),
}  # fmt: skip


@pytest.mark.parametrize(("stems", "why"), OTHERS.values(), ids=OTHERS)
def test_ranks_of_different_jobs_are_no_job(stems: str, why: str) -> None:
    names = [f"{stem}.json.gz" for stem in stems.split()]
    job = _job(*names)
    assert why in job.problem
    assert {report.trace.path for report in job} == {str(PATHS[n]) for n in names}
    with pytest.raises(torchtraceap.TraceError, match=why):
        _ = job.facts
