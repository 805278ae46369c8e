# SPDX-License-Identifier: BSD-3-Clause
"""sample_jobs.py: jobs of as many ranks as wanted, joined from work made by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from torchtraceap import _core
from torchtraceap._core import RankFinding, RankRow, TraceFacts
from torchtraceap.ranks.joining import AnalyzedRank, JoinedJob
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile, Recording
from torchtraceap.report import Report

_US = 1000

#: Work of a rank before a collective, in microseconds: by rank, step and collective.
Work = Callable[[int, int, int], float]


def job_of(
    works: Iterable[_core.RankWork | None],
    findings: Mapping[int, RankFinding] | None = None,
) -> JoinedJob:
    """Join works as if each had been read from a file of its own; None is a trace that
    cannot be scheduled. ``findings``: those of a rank, by its number."""
    ranks = []
    for rank, work in enumerate(works):
        file = RankFile(f"runs/rank{rank}.json", rank)
        own = tuple(one for at, one in (findings or {}).items() if at == rank)
        ranks.append(AnalyzedRank(file, _record(rank, work, own), _none))
    files = tuple(rank.file for rank in ranks)
    return JoinedJob("runs", Recording("rank*.json", files, len(ranks)), ranks, [])


def _none() -> Report:
    raise AssertionError("there is no trace")


def _record(
    rank: int, work: _core.RankWork | None, findings: tuple[RankFinding, ...]
) -> RankRecord:
    end_us = max(work.recorded_ns) / _US if work else 100.0
    return RankRecord(
        facts=TraceFacts("<bytes>", 1, 0.0, end_us, (), rank, None),
        row=RankRow(
            host="node",
            device="NVIDIA H100 80GB HBM3",
            steps=work.step_count if work else 0,
            span_us=end_us,
            busy_us=end_us / 2,
        ),
        findings=findings,
        work=work.to_bytes() if work else None,
        refusal="" if work else "nothing can be scheduled",
    )


def data_parallel_job(
    ranks: int, slow: int, *, steps: int = 4, collectives: int = 6
) -> JoinedJob:
    """A job whose ranks reduce their gradients ``collectives`` times a step, all at
    once; the work of rank ``slow`` takes 3 times as long as that of the others."""
    chance = random.Random(ranks)

    def work(rank: int, step: int, at: int) -> float:
        return chance.gauss(1_000, 60) * (3 if rank == slow else 1)

    return job_of(works_of(ranks, work, steps, collectives, "compute", 400))


def works_of(
    ranks: int,
    work: Work,
    steps: int = 6,
    collectives: int = 4,
    kind: str = "host",
    transfer_us: int = 50,
) -> list[_core.RankWork]:
    """All ranks work, and meet in an all-reduce, a few times a step."""
    now = [0.0] * ranks
    recorded: list[list[int]] = [[0] for _ in range(ranks)]
    passages: list[list[tuple[int, int, int, list[tuple[int, int]]]]]
    passages = [[] for _ in range(ranks)]
    met: list[list[_core.RankCollective]] = [[] for _ in range(ranks)]
    borders: list[list[tuple[int, int, int]]] = [[] for _ in range(ranks)]
    for step in range(steps):
        first = len(recorded[0])
        for at in range(collectives):
            arrived = []
            for rank in range(ranks):
                ns = round(_US * work(rank, step, at))
                stop = len(recorded[rank])
                arrived.append(now[rank] + ns)
                passages[rank].append((stop - 1, stop, ns, [(0, ns)]))
                recorded[rank].append(round(arrived[-1]))
            end = max(arrived) + transfer_us * _US
            for rank in range(ranks):
                now[rank] = end
                stop = len(recorded[rank])
                recorded[rank].append(round(end))
                name = f"{step} {at}"
                met[rank].append(
                    _core.RankCollective(name, "all_reduce", step, stop - 1, stop)
                )
        for rank in range(ranks):
            borders[rank].append((step, first, len(recorded[rank]) - 1))
    return [
        _core.RankWork(rank, -1, recorded[rank], [kind], passages[rank], met[rank], own)
        for rank, own in enumerate(borders)
    ]
