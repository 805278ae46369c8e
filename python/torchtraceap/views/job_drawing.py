# SPDX-License-Identifier: BSD-3-Clause
"""job_drawing.py: which collectives of a job are drawn, and who was late in them.

Page and Perfetto show the same: both hold a bounded part of what may be millions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from torchtraceap.data.job import Arrival, Cause, JobData, Late, Meeting
from torchtraceap.views.job_words import collective_text, late_place, late_why

# Of ranks in collectives; about 30 bytes each on the page, 300 for Perfetto.
_MOST_ARRIVALS = 100_000


@dataclass(frozen=True)
class DrawnMeeting:
    """A collective that is drawn."""

    place: int  #: In ``JobData.meetings``.
    meeting: Meeting
    last: Arrival  #: Of the rank that came last.
    late_us: float  #: How long after the median of the others that was.
    causes: tuple[Cause, ...]  #: The most waited for first.

    @property
    def title(self) -> str:
        """``allreduce #118``, without a number ``allreduce``."""
        return collective_text(self.meeting.name, self.meeting.sequence)


@dataclass(frozen=True)
class Drawing:
    """The collectives that are drawn, by time, and what is left out."""

    meetings: tuple[DrawnMeeting, ...]
    left_out: int  #: The shortest.
    left_out_us: float  #: Time of all ranks in them.


def drawing_of(job: JobData, most: int = _MOST_ARRIVALS) -> Drawing:
    """Choose the collectives in which ranks were longest, with at most so many ranks
    in all of them together."""
    causes: dict[int, list[Cause]] = defaultdict(list)
    for cause in job.causes:
        causes[cause.meeting].append(cause)
    meetings = job.meetings
    cost = [sum(a.end_us - a.begin_us for a in m.arrivals) for m in meetings]
    room, chosen, left_out_us = most, [], 0.0
    for place in sorted(range(len(meetings)), key=lambda place: -cost[place]):
        room -= len(meetings[place].arrivals)
        if room >= 0:
            chosen.append(place)
        else:
            left_out_us += cost[place]
    drawn = tuple(
        _drawn(place, meetings[place], causes[place]) for place in sorted(chosen)
    )
    return Drawing(drawn, len(meetings) - len(drawn), left_out_us)


def _drawn(place: int, meeting: Meeting, causes: list[Cause]) -> DrawnMeeting:
    last = next(a for a in meeting.arrivals if a.rank == meeting.last)
    others = [a.begin_us for a in meeting.arrivals if a.rank != meeting.last]
    late_us = max(0.0, last.begin_us - median(others)) if others else 0.0
    most = sorted(causes, key=lambda cause: -cause.waited_us)
    return DrawnMeeting(place, meeting, last, late_us, tuple(most))


def told_causes(job: JobData, drawn: DrawnMeeting) -> list[tuple[str, Cause]]:
    """Return who was late in a collective and why, the most waited for first, without
    what is too little to be told."""
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
