# SPDX-License-Identifier: BSD-3-Clause
"""job_drawing.py: which collectives of a job are drawn, and who was late in them.

Page and Perfetto show the same bounded part of what may be millions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from torchtraceap._core import Arrival, CollectiveWait, JoinedCollective, Late
from torchtraceap.data.job import JobData
from torchtraceap.views.job_words import collective_text, late_place, late_why

# Of ranks in collectives; about 30 bytes each on the page, 300 for Perfetto.
_MOST_ARRIVALS = 100_000


@dataclass(frozen=True)
class DrawnCollective:
    """A collective that is drawn."""

    place: int  #: In ``JobData.joined_collectives``.
    collective: JoinedCollective
    last: Arrival  #: Of the rank that came last.
    late_us: float  #: Its delay after the median of the others.
    causes: tuple[CollectiveWait, ...]  #: The costliest first.

    @property
    def title(self) -> str:
        """``allreduce #118``, without a number ``allreduce``."""
        return collective_text(self.collective.name, self.collective.sequence)


@dataclass(frozen=True)
class Drawing:
    """The drawn collectives, by time, and a count of the others."""

    collectives: tuple[DrawnCollective, ...]
    left_out: int  #: The shortest.
    left_out_us: float  #: Time of all ranks in them.


def drawing_of(job: JobData, most: int = _MOST_ARRIVALS) -> Drawing:
    """Choose the collectives in which ranks spent most time. ``most`` limits the ranks
    summed over all of them."""
    causes: dict[int, list[CollectiveWait]] = defaultdict(list)
    for cause in job.causes:
        causes[cause.collective].append(cause)
    collectives = job.joined_collectives
    cost = [sum(a.end_us - a.begin_us for a in m.arrivals) for m in collectives]
    room, chosen, left_out_us = most, [], 0.0
    for place in sorted(range(len(collectives)), key=lambda place: -cost[place]):
        room -= len(collectives[place].arrivals)
        if room >= 0:
            chosen.append(place)
        else:
            left_out_us += cost[place]
    drawn = tuple(
        _drawn(place, collectives[place], causes[place]) for place in sorted(chosen)
    )
    return Drawing(drawn, len(collectives) - len(drawn), left_out_us)


def _drawn(
    place: int, collective: JoinedCollective, causes: list[CollectiveWait]
) -> DrawnCollective:
    last = next(a for a in collective.arrivals if a.rank == collective.last)
    others = [a.begin_us for a in collective.arrivals if a.rank != collective.last]
    late_us = max(0.0, last.begin_us - median(others)) if others else 0.0
    most = sorted(causes, key=lambda cause: -cause.waited_us)
    return DrawnCollective(place, collective, last, late_us, tuple(most))


def shown_causes(
    job: JobData, drawn: DrawnCollective
) -> list[tuple[str, CollectiveWait]]:
    """Return who was late in a collective and why, costliest first, without causes
    that have no row."""
    return [
        (cause_text(job.late[cause.late]), cause)
        for cause in drawn.causes
        if cause.late is not None
    ]


def cause_text(late: Late) -> str:
    """Write who was late and why: ``rank 3: dataloader_bound at data.py:41 read``."""
    text = f"rank {late.rank}: {late_why(late)}"
    if not late.kind:
        return text
    return f"{text} {'at' if late.location else 'in'} {late_place(late)}"
