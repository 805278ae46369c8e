# SPDX-License-Identifier: BSD-3-Clause
"""sample_jobs.py: jobs of as many ranks as wanted, joined from work made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from torchtraceap import _core
from torchtraceap._core import RankFinding, RankRow, TraceFacts
from torchtraceap.ranks.joining import AnalyzedRank, JoinedJob
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile, Recording
from torchtraceap.report import Report

_US = 1000


def job_of(works: Sequence[_core.RankWork]) -> JoinedJob:
    """Join works as if each had been read from a file of its own."""
    ranks = [
        AnalyzedRank(
            RankFile(f"runs/rank{work.rank}.json", work.rank), _record(work), _none
        )
        for work in works
    ]
    files = tuple(rank.file for rank in ranks)
    return JoinedJob("runs", Recording("rank*.json", files, len(works)), ranks, [])


def _none() -> Report:
    raise AssertionError("there is no trace")


def _record(work: _core.RankWork) -> RankRecord:
    begin, end = work.recorded_ns[0], max(work.recorded_ns)
    return RankRecord(
        facts=TraceFacts("<bytes>", 1, begin / _US, end / _US, (), work.rank, None),
        row=RankRow(
            host="node",
            device="NVIDIA H100 80GB HBM3",
            steps=work.step_count,
            span_us=(end - begin) / _US,
            busy_us=(end - begin) // 2 / _US,
        ),
        findings=tuple[RankFinding, ...](),
        work=work.to_bytes(),
        refusal="",
    )


def data_parallel_job(
    ranks: int,
    slow: int,
    *,
    steps: int = 4,
    collectives: int = 6,
    name: str = "all_reduce",
) -> JoinedJob:
    """A job whose ranks reduce their gradients ``collectives`` times a step, all at
    once; the work of rank ``slow`` takes 3 times as long as that of the others."""
    return job_of(list(_data_parallel(ranks, slow, steps, collectives)))


def _data_parallel(
    ranks: int, slow: int, steps: int, collectives: int
) -> Iterator[_core.RankWork]:
    chance = random.Random(ranks)
    now = [0] * ranks
    recorded: list[list[int]] = [[0] for _ in range(ranks)]
    passages: list[list[tuple[int, int, int, list[tuple[int, int]]]]]
    passages = [[] for _ in range(ranks)]
    met: list[list[_core.RankCollective]] = [[] for _ in range(ranks)]
    borders: list[list[tuple[int, int, int]]] = [[] for _ in range(ranks)]
    for step in range(steps):
        first = len(recorded[0])
        for at in range(collectives):
            for rank in range(ranks):
                work = int(chance.gauss(1_000, 60) * _US) * (3 if rank == slow else 1)
                stop = len(recorded[rank])
                now[rank] += work
                recorded[rank].append(now[rank])
                passages[rank].append((stop - 1, stop, work, [(0, work)]))
            end = max(now) + 400 * _US
            for rank in range(ranks):
                stop = len(recorded[rank])
                recorded[rank].append(end)
                now[rank] = end
                key = f"{step} {at}"
                met[rank].append(
                    _core.RankCollective(key, "all_reduce", step, stop - 1, stop)
                )
        for rank in range(ranks):
            borders[rank].append((step, first, len(recorded[rank]) - 1))
    for rank in range(ranks):
        yield _core.RankWork(
            rank,
            -1,
            recorded[rank],
            ["compute"],
            passages[rank],
            met[rank],
            borders[rank],
        )
