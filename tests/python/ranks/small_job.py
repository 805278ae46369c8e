# SPDX-License-Identifier: BSD-3-Clause
"""small_job.py: jobs made by hand, as far as views and budgets need them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torchtraceap._core import (
    Arrival,
    CollectiveRow,
    CollectiveWait,
    Culprit,
    DecodeSkew,
    JobAnswer,
    JobAnswerRow,
    JobFacts,
    JoinedCollective,
    Late,
    LateRank,
    Location,
    Note,
    RankFinding,
    RankRow,
    SharedFinding,
    StepOfRank,
)

H100 = "NVIDIA H100 80GB HBM3"
LOADER = RankFinding(
    id="dataloader_bound-1a2b3c4d",
    pattern="dataloader_bound",
    kind="dataloader_bound (single_process)",
    side="cpu",
    location=Location("data.py", 41, "load", True),
    operator="",
    count=6,
    wasted_us=66e3,
    recoverable_us=None,
    message="The step waited 66 ms for 6 batches.",
    advice="Load in the background.",
)


SLOW = JobAnswer(
    verdict="ranks",
    low_fraction=0.3,
    middle_fraction=1 / 3,
    high_fraction=0.35,
    rows=(
        JobAnswerRow(
            of="late",
            index=0,
            fix="Load in the background",
            observed_fraction=462 / 1440,
            low_fraction=8 / 30,
            middle_fraction=8.3 / 30,
            high_fraction=9 / 30,
        ),
    ),
)


@dataclass(frozen=True)
class SmallJob:
    """What a view sees of a job."""

    facts: JobFacts
    ranks: tuple[RankRow, ...]
    late: tuple[Late, ...] = ()
    joined_collectives: tuple[JoinedCollective, ...] = ()
    collectives: tuple[CollectiveRow, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    causes: tuple[CollectiveWait, ...] = ()
    steps: tuple[StepOfRank, ...] = ()
    late_ranks: tuple[LateRank, ...] = ()
    shared: tuple[SharedFinding, ...] = ()
    decode_skew: tuple[DecodeSkew, ...] = ()
    answer: JobAnswer = SLOW

    def with_facts(self, **changes: Any) -> SmallJob:
        return replace(self, facts=self.facts.replace(**changes))


def facts(**changes: Any) -> JobFacts:
    return JobFacts(
        source="runs",
        recording="rank*.json",
        ranks=8,
        world_size=8,
        missing=(),
        steps=6,
        step_us=30e3,
        replayed_us=30e3,
        even_us=20e3,
        even_ranks_us=20e3,
        replay_error=0.012,
        slowdown=1.5,
        waited_us=500e3,
        joined_collectives=6,
        unmatched=0,
        contradicted=0,
        clock_residual_us=12.5,
        culprit=3,
        notes=(),
    ).replace(**changes)


def row(rank: int, **changes: Any) -> RankRow:
    return RankRow(
        rank=rank,
        path=f"runs/rank{rank}.json",
        host="node0",
        device=H100,
        verdict="ok",
        stage=None,
        steps=6,
        begin_us=0.0,
        end_us=180e3,
        span_us=180e3,
        busy_us=90e3,
        waited_us=70e3,
        transfer_us=12e3,
        exposed_us=82e3,
        caused_us=0.0,
        last=0,
        gain_us=None,
        clock_shift_us=0.0,
        clock_residual_us=12.5,
    ).replace(**changes)


def late(rank: int = 3, **changes: Any) -> Late:
    return Late(
        rank=rank,
        kind="host",
        location=Location("data.py", 41, "load", True),
        name="",
        finding=LOADER,
        late_us=11e3,
        waited_us=462e3,
        count=6,
        collective="allreduce",
        sequence=118,
        waiting=7,
        gain_us=8.3e3,
        gain_low_us=8e3,
        gain_high_us=9e3,
        culprit=True,
    ).replace(**changes)


def slow_loader(ranks: int = 8, device: str = H100) -> SmallJob:
    """Rank 3 loads 11 ms longer than the others."""
    arrivals = tuple(
        Arrival(rank=r, begin_us=0.0, end_us=20.0, wait_us=0.0 if r == 3 else 10.0)
        for r in range(ranks)
    )
    collective = JoinedCollective(
        name="allreduce",
        group="default",
        sequence=118,
        step=2,
        bytes=4096,
        transfer_us=10.0,
        wait_us=10.0 * (ranks - 1),
        last=3,
        arrivals=arrivals,
    )
    rows = [row(r, device=device) for r in range(ranks)]
    rows[3] = row(
        3, device=device, waited_us=0.0, caused_us=490e3, last=6, gain_us=8.4e3
    )
    unexplained = late(kind="", location=None, finding=None, waited_us=20e3)
    noise = late(5, finding=None, waited_us=9e3, gain_us=40.0, culprit=False)
    return SmallJob(
        facts(ranks=ranks, world_size=ranks),
        tuple(rows),
        (late(), unexplained.replace(gain_us=None, culprit=False), noise),
        (collective,),
        (
            CollectiveRow(
                name="allreduce",
                bytes=4096,
                count=6,
                wait_us=490e3,
                transfer_us=96e3,
                exposed_us=586e3,
                small=True,
            ),
        ),
        (
            Culprit(
                what="rank",
                name="3",
                gain_us=8.4e3,
                gain_low_us=8.1e3,
                gain_high_us=9.1e3,
                share=0.84,
            ),
            Culprit(
                what="kind",
                name="host",
                gain_us=8.1e3,
                gain_low_us=0.0,
                gain_high_us=9e3,
                share=0.81,
            ),
            Culprit(what="rank", name="5", gain_us=40.0, share=0.004),
        ),
        (
            CollectiveWait(
                collective=0, rank=3, late=0, late_us=11e3, waited_us=collective.wait_us
            ),
        ),
    )


def even() -> SmallJob:
    """No rank is late, though ranks waited for each other."""
    job = slow_loader().with_facts(even_us=29.8e3)
    return replace(
        job,
        late=(late(gain_us=100.0), late(5, gain_us=90.0)),
        answer=JobAnswer(verdict="even", middle_fraction=0.2 / 30),
    )


def apart() -> SmallJob:
    """Its ranks have no collective in common."""
    job = slow_loader().with_facts(joined_collectives=0)
    return replace(job, late=(), collectives=(), answer=JobAnswer())


def failed(path: str) -> Note:
    return Note("rank_failed", 1, f"{path}: it is cut off.", "degraded")
