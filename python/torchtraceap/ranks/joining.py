# SPDX-License-Identifier: BSD-3-Clause
"""joining.py: the rows of a job, as the core joins its reduced ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from torchtraceap import _core
from torchtraceap._core import Note
from torchtraceap.data.job import (
    Arrival,
    Cause,
    CollectiveRow,
    Culprit,
    JobFacts,
    Late,
    Meeting,
    RankRow,
    StepOfRank,
)
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile, Recording


@dataclass(frozen=True)
class JobRank:
    """A rank of a job: its file and what was kept of its trace."""

    file: RankFile
    record: RankRecord

    @property
    def number(self) -> int:
        """Its rank; -1 if unknown."""
        return -1 if self.file.rank is None else self.file.rank


class JoinedJob:
    """Ranks in order of their numbers, joined. Raises RuntimeError if they contradict
    each other."""

    def __init__(
        self,
        source: str,
        recording: Recording,
        ranks: Sequence[JobRank],
        notes: Sequence[Note],
    ) -> None:
        self._findings = {one.number: one.record.findings for one in ranks}
        self._core = _core.JobResult([_core_record(one) for one in ranks])
        self.facts = JobFacts(
            source=source,
            recording=recording.name,
            ranks=len(ranks),
            world_size=recording.world_size,
            missing=recording.missing,
            notes=tuple(notes),
            **self._core.facts,
        )

    @cached_property
    def ranks(self) -> tuple[RankRow, ...]:
        return _rows(RankRow, self._core.ranks)

    @cached_property
    def late(self) -> tuple[Late, ...]:
        rows = self._core.late
        for row in rows:
            if row["finding"] is not None:
                row["finding"] = self._findings[row["rank"]][row["finding"]]
        return _rows(Late, rows)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        return _rows(Cause, self._core.causes)

    @cached_property
    def steps(self) -> tuple[StepOfRank, ...]:
        return _rows(StepOfRank, self._core.steps)

    @cached_property
    def meetings(self) -> tuple[Meeting, ...]:
        rows = self._core.joined_collectives
        for row in rows:
            row["arrivals"] = _rows(Arrival, row["arrivals"])
        return _rows(Meeting, rows)

    @cached_property
    def collectives(self) -> tuple[CollectiveRow, ...]:
        return _rows(CollectiveRow, self._core.collectives)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return _rows(Culprit, self._core.culprits)


_Row = TypeVar("_Row")


def _rows(cls: type[_Row], rows: Iterable[dict[str, Any]]) -> tuple[_Row, ...]:
    return tuple(cls(**row) for row in rows)


def _core_record(rank: JobRank) -> _core.RankRecord:
    record = rank.record
    return _core.RankRecord(
        rank=rank.number,
        path=rank.file.path,
        host=record.host,
        device=record.device,
        verdict=record.verdict,
        steps=record.step_count,
        span_ns=record.span_ns,
        busy_ns=record.busy_ns,
        findings=[finding.pattern for finding in record.findings],
        work=record.work,
    )
