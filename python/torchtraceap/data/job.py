# SPDX-License-Identifier: BSD-3-Clause
"""job.py: the ranks of a job together, as views see them.

Times are microseconds; moments are on the common clock, counted from the first event of
any rank. Time that was waited is summed over ranks: GPU time, where they are GPUs.
"""

from __future__ import annotations

from typing import Protocol

from torchtraceap._core import (
    CollectiveRow,
    CollectiveWait,
    Culprit,
    DecodeSkew,
    JobAnswer,
    JobFacts,
    JoinedCollective,
    Late,
    LateRank,
    RankRow,
    SharedFinding,
    StepOfRank,
)


class JobData(Protocol):
    """A job as views see it: a ``JobReport``, which documents the members."""

    @property
    def facts(self) -> JobFacts: ...
    @property
    def answer(self) -> JobAnswer: ...
    @property
    def ranks(self) -> tuple[RankRow, ...]: ...
    @property
    def late(self) -> tuple[Late, ...]: ...
    @property
    def late_ranks(self) -> tuple[LateRank, ...]: ...
    @property
    def shared(self) -> tuple[SharedFinding, ...]: ...
    @property
    def decode_skew(self) -> tuple[DecodeSkew, ...]: ...
    @property
    def joined_collectives(self) -> tuple[JoinedCollective, ...]: ...
    @property
    def collectives(self) -> tuple[CollectiveRow, ...]: ...
    @property
    def culprits(self) -> tuple[Culprit, ...]: ...
    @property
    def causes(self) -> tuple[CollectiveWait, ...]: ...
    @property
    def steps(self) -> tuple[StepOfRank, ...]: ...
