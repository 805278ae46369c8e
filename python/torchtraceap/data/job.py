# SPDX-License-Identifier: BSD-3-Clause
"""job.py: what the traces of a job's ranks say together, as plain data.

Times are microseconds; moments are on the common clock, counted from the first thing
that any rank recorded. What was "waited" is time of ranks added up: of GPUs, where they
are GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torchtraceap._core import Location, Note


@dataclass(frozen=True, kw_only=True)
class RankFinding:
    """A finding of one rank's own report, as far as a job needs it."""

    id: str
    pattern: str
    kind: str  #: The pattern, with its sub-type if it has one.
    side: str  #: "cpu" or "gpu".
    location: Location | None
    operator: str
    count: int
    wasted_us: float
    recoverable_us: float | None
    message: str
    advice: str


@dataclass(frozen=True, kw_only=True)
class RankRow:
    """One rank, beside the others."""

    rank: int
    path: str
    host: str  #: "" if the trace does not tell.
    device: str  #: What it computes on: "NVIDIA H100 80GB HBM3", "CPU".
    verdict: str  #: Of its own quality: "ok", "degraded", "unusable".
    stage: int | None  #: Of a pipeline; None: there is none, or it is unknown.
    steps: int
    begin_us: float
    end_us: float
    span_us: float  #: From begin to end; 0 of a rank that is not joined.
    busy_us: float  #: Its devices busy; of a rank without, its process in operators.
    waited_us: float  #: It waited for others in collectives.
    transfer_us: float  #: It was in collectives with all others there.
    exposed_us: float  #: In collectives, with no computation beside.
    caused_us: float  #: Others waited for it, whatever that was of.
    last: int  #: In how many collectives it came last.
    #: What a step of the job would be shorter, did its work take what others take for
    #: it. None: not asked, as others caused more waiting.
    gain_us: float | None
    #: What is added to its clock to be on the common one, and how sure that is: the
    #: median distance of its collectives' ends from those of the others.
    clock_shift_us: float
    clock_residual_us: float


@dataclass(frozen=True, kw_only=True)
class Late:
    """What made one rank late, and what others waited for it."""

    rank: int
    #: What it did: "host", "runtime_calls", "compute", "copies", or "" where nothing
    #: that was recorded explains it.
    kind: str
    location: Location | None
    name: str  #: The operator or kernel, where there is no location; or "".
    finding: RankFinding | None  #: Of its own report, what claims most of that time.
    late_us: float  #: Longer than others took, at most.
    waited_us: float  #: By all others together, in `count` collectives.
    count: int
    #: Where they waited longest for it: "allreduce", its number, and how many ranks.
    collective: str
    sequence: int | None
    waiting: int
    gain_us: float | None  #: What a step would be shorter without it; None: not asked.
    #: A step would gain by it more than steps differ anyhow, and others wait for it in
    #: three of four: not chance. False for what nothing explains.
    culprit: bool

    @property
    def what(self) -> str:
        """Why: a pattern, else what kind of work it was."""
        if self.finding is not None:
            return self.finding.pattern
        return self.kind.replace("_", " ") or "not explained by its trace"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What ranks waited in one collective because of one of them."""

    collective: int  #: Place in ``JobData.joined_collectives``.
    rank: int  #: Whom they waited for.
    late: int | None  #: Why: place in ``JobData.late``; None: too little to be there.
    late_us: float  #: How much longer than others took.
    waited_us: float  #: By all others together.


@dataclass(frozen=True, kw_only=True)
class StepOfRank:
    """A step as one rank took it."""

    rank: int
    number: int
    begin_us: float
    end_us: float


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A rank in a collective."""

    rank: int
    begin_us: float
    end_us: float
    wait_us: float  #: From its own start until all had started.


@dataclass(frozen=True, kw_only=True)
class JoinedCollective:
    """A collective, or a message, of which two ranks or more are known."""

    name: str
    group: str  #: Name of its process group; "" if unknown.
    sequence: int | None  #: Its number in the group.
    step: int | None
    bytes: int | None
    transfer_us: float  #: From when all had started to the first end.
    wait_us: float  #: Of all ranks together, before that.
    last: int  #: The rank that came last.
    arrivals: tuple[Arrival, ...]  #: By rank.


@dataclass(frozen=True, kw_only=True)
class CollectiveRow:
    """All collectives of one name and size."""

    name: str
    bytes: int | None
    count: int
    wait_us: (
        float  #: Of all ranks together: from their own start until all had started.
    )
    transfer_us: float  #: Of all ranks together: from then on.
    exposed_us: float  #: Of all ranks together, with no computation beside.
    #: So small that what it costs is its start: less than 1 MiB, and all of them
    #: together more than one would be.
    small: bool


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """What a step would be shorter, did something take what is usual for it."""

    what: str  #: "rank", "stage" or "kind" of work.
    name: str
    gain_us: float
    share: float  #: Of what is lost in all; above 1 where others make up for it.


@dataclass(frozen=True, kw_only=True)
class JobFacts:
    """The job as a whole."""

    source: str  #: What was named.
    recording: str  #: Which of the recordings there.
    ranks: int  #: Those with a trace that could be read.
    world_size: int | None
    missing: tuple[int, ...]  #: Ranks without one.
    steps: int
    #: Mean length of a step of all ranks together, recorded and in the unchanged
    #: replay; without steps, of all that was recorded.
    step_us: float
    replayed_us: float
    #: With the work of each rank at the others' median, and of stages shared evenly.
    even_us: float
    replay_error: float  #: Mean of how far a step is off, as a share of it.
    slowdown: float  #: replayed_us / even_us; 1 is a job without stragglers.
    waited_us: float
    joined_collectives: int  #: Also messages; of two ranks or more.
    unmatched: int  #: Collectives of one rank that no other has.
    contradicted: int  #: Whose members were not there at one time: not joined.
    clock_residual_us: float  #: The worst of a rank's.
    culprit: int | None  #: The rank of the first Late that is one; None: nobody is.
    notes: tuple[Note, ...]


class JobData(Protocol):
    """A job as views see it: a ``JobReport``, which documents the members."""

    @property
    def facts(self) -> JobFacts: ...
    @property
    def ranks(self) -> tuple[RankRow, ...]: ...
    @property
    def late(self) -> tuple[Late, ...]: ...
    @property
    def joined_collectives(self) -> tuple[JoinedCollective, ...]: ...
    @property
    def collectives(self) -> tuple[CollectiveRow, ...]: ...
    @property
    def culprits(self) -> tuple[Culprit, ...]: ...
    @property
    def causes(self) -> tuple[Cause, ...]: ...
    @property
    def steps(self) -> tuple[StepOfRank, ...]: ...
