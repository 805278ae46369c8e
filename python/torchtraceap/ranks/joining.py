# SPDX-License-Identifier: BSD-3-Clause
"""joining.py: the reduced ranks of a job joined, and what the core says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchtraceap import _core
from torchtraceap._core import Note
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.job import (
    Arrival,
    Cause,
    CollectiveRow,
    Culprit,
    JobFacts,
    Late,
    Meeting,
    RankFinding,
    RankRow,
    StepOfRank,
)
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile, Recording

# Replays with one rank, or one rank's place, as others have it: of those that others
# waited for most, so that the work stays linear in the ranks.
_MOST_REPLAYED = 16
_SMALL_BYTES = 1 << 20
# A culprit's gain is this part of a step at least, and of what the middle half of the
# steps differ by; others wait for it this part of a step in three of four. Chosen on
# runs of several processes on few cores; benchmarks/results/hidden_ranks.md tells how
# often others that were delayed, or not, have one.
_LEAST_GAIN, _LEAST_OF_SPREAD, _LEAST_STEADY = 0.02, 0.25, 0.01
# What claims the time of collectives themselves explains no lateness.
_OF_COLLECTIVES = ("comm_exposed", "small_collectives")


@dataclass(frozen=True)
class JobRank:
    """A rank of a job: its file and what was kept of its trace."""

    file: RankFile
    record: RankRecord


class JoinedJob:
    """Ranks in order of their numbers, as the core joins them."""

    def __init__(
        self,
        source: str,
        recording: Recording,
        ranks: Sequence[JobRank],
        notes: Sequence[Note],
    ) -> None:
        self._source, self._recording = source, recording
        self._all, self._notes = tuple(ranks), tuple(notes)
        self._joined = [r for r in ranks if r.record.work is not None]
        works = []
        for rank in self._joined:
            assert rank.record.work is not None
            work = _core.RankWork.from_bytes(rank.record.work)
            work.rank = _number(rank)
            works.append(work)
        self._core = core = _core.Job(works) if works else None
        # The core makes these lists anew for each who asks.
        self._works = core.ranks if core else []
        self._places = core.places if core else []
        self._meetings = core.meetings if core else []
        self._clocks = core.clocks if core else []
        self._begin_ns = min(
            (
                work.recorded_ns[0] + clock.shift_ns
                for work, clock in zip(works, self._clocks, strict=True)
            ),
            default=0,
        )

    def _us(self, moment_ns: int) -> float:
        """Return a moment of the common clock, counted from the job's begin."""
        return us_from_ns(moment_ns - self._begin_ns)

    def _name(self, place: int) -> int:
        """Return the number of the rank at a place of the core's list."""
        return _number(self._joined[place])

    @cached_property
    def _replayed_ns(self) -> float:
        return self._core.replayed_step_ns() if self._core else 0.0

    def _gain_us(self, **what: int | str) -> float:
        assert self._core is not None
        without = self._core.replayed_step_ns(usual=True, **what)  # type: ignore[arg-type]
        return (self._replayed_ns - without) / 1000

    @cached_property
    def _lateness(self) -> list[_core.Lateness]:
        return self._core.lateness() if self._core else []

    @cached_property
    def _caused_ns(self) -> dict[int, int]:
        caused: dict[int, int] = defaultdict(int)
        for one in self._lateness:
            caused[one.rank] += one.waited_ns
        return caused

    @cached_property
    def facts(self) -> JobFacts:
        core, works, meetings = self._core, self._works, self._meetings
        errors = [abs(b - a) / a for a, b in self._steps.values() if a > 0]
        return JobFacts(
            source=self._source,
            recording=self._recording.name,
            ranks=len(self._all),
            world_size=self._recording.world_size,
            missing=self._recording.missing,
            steps=max((len(work.steps) for work in works), default=0),
            step_us=core.recorded_step_ns() / 1000 if core else 0.0,
            replayed_us=self._replayed_ns / 1000,
            even_us=core.replayed_step_ns(usual=True) / 1000 if core else 0.0,
            replay_error=sum(errors) / len(errors) if errors else 0.0,
            waited_us=us_from_ns(sum(m.wait_ns for m in meetings)),
            meetings=len(meetings),
            unmatched=core.unmatched if core else 0,
            contradicted=core.contradicted if core else 0,
            clock_residual_us=us_from_ns(
                max((clock.residual_ns for clock in self._clocks), default=0)
            ),
            culprit=next((late.rank for late in self.late if late.culprit), None),
            notes=self._notes,
        )

    @cached_property
    def ranks(self) -> tuple[RankRow, ...]:
        return tuple(self._rank_rows())

    def _rank_rows(self) -> Iterator[RankRow]:
        waited: dict[int, int] = defaultdict(int)
        transfer: dict[int, int] = defaultdict(int)
        last: dict[int, int] = defaultdict(int)
        for meeting in self._meetings:
            members = meeting.members
            for member in members:
                waited[member.rank] += member.wait_ns
                transfer[member.rank] += member.transfer_ns
            if meeting.wait_ns:
                last[members[meeting.last].rank] += 1
        most = sorted(self._caused_ns, key=lambda r: -self._caused_ns[r])
        asked = set(most[:_MOST_REPLAYED])
        place_of = {id(rank): place for place, rank in enumerate(self._joined)}
        for rank in self._all:
            place = place_of.get(id(rank), -1)
            clock = self._clocks[place] if place >= 0 else None
            work = self._works[place] if place >= 0 else None
            record, facts = rank.record, rank.record.facts
            begin = end = 0.0
            if clock is not None and work is not None:
                begin = self._us(work.recorded_ns[0] + clock.shift_ns)
                end = begin + facts.span_us
            yield RankRow(
                rank=_number(rank),
                path=rank.file.path,
                host=record.host,
                device=record.device,
                verdict=record.verdict,
                stage=work.stage if work is not None and work.stage >= 0 else None,
                steps=record.step_count,
                begin_us=begin,
                end_us=end,
                busy_us=record.busy_us,
                waited_us=us_from_ns(waited[place]),
                transfer_us=us_from_ns(transfer[place]),
                exposed_us=us_from_ns(
                    sum(m.exposed_ns for m in work.meetings) if work else 0
                ),
                caused_us=us_from_ns(self._caused_ns.get(place, 0)),
                last=last[place],
                gain_us=self._gain_us(rank=place) if place in asked else None,
                clock_shift_us=us_from_ns(clock.shift_ns) if clock else 0.0,
                clock_residual_us=us_from_ns(clock.residual_ns) if clock else 0.0,
            )

    @cached_property
    def _by_cause(self) -> list[tuple[Late, list[_core.Lateness]]]:
        """Return what has one cause together: culprits first, last what nothing that
        was recorded explains, in each the most waited for first; without what is under
        a thousandth of all the waiting."""
        by_cause: dict[tuple[int, int | None], list[_core.Lateness]] = defaultdict(list)
        for one in self._lateness:
            by_cause[one.rank, one.place].append(one)
        least = _waited(self._lateness) / 1000
        told = [ones for ones in by_cause.values() if _waited(ones) >= least]
        told.sort(key=_waited, reverse=True)
        rows = [
            (self._late(ones, place < _MOST_REPLAYED), ones)
            for place, ones in enumerate(told)
        ]
        return sorted(rows, key=lambda row: (not row[0].culprit, not row[0].kind))

    @cached_property
    def late(self) -> tuple[Late, ...]:
        return tuple(late for late, _ in self._by_cause)

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        rows = {
            (ones[0].rank, ones[0].place): row
            for row, (_, ones) in enumerate(self._by_cause)
        }
        return tuple(
            Cause(
                meeting=one.meeting,
                rank=self._name(one.rank),
                late=rows.get((one.rank, one.place)),
                late_us=us_from_ns(one.late_ns),
                waited_us=us_from_ns(one.waited_ns),
            )
            for one in self._lateness
        )

    @cached_property
    def steps(self) -> tuple[StepOfRank, ...]:
        return tuple(
            StepOfRank(
                rank=_number(rank),
                number=step.number,
                begin_us=self._us(moments[step.begin] + clock.shift_ns),
                end_us=self._us(moments[step.end] + clock.shift_ns),
            )
            for rank, work, clock in zip(
                self._joined,
                self._works,
                self._clocks,
                strict=True,
            )
            for moments in [work.recorded_ns]
            for step in work.steps
        )

    def _late(self, ones: list[_core.Lateness], asked: bool) -> Late:
        assert self._core is not None
        rank, place = ones[0].rank, ones[0].place
        worst = max(ones, key=lambda one: one.waited_ns)
        meeting = self._meetings[worst.meeting]
        where = None if place is None else self._places[place]
        finding = self._finding(rank, place)
        gain_us = None
        if asked and place is not None:
            gain_us = self._gain_us(rank=rank, place=place)
        location = where.location if where else None
        return Late(
            rank=self._name(rank),
            kind=where.kind if where else "",
            location=location,
            name=where.name if where else "",
            finding=finding,
            late_us=us_from_ns(max(one.late_ns for one in ones)),
            waited_us=us_from_ns(_waited(ones)),
            count=len({one.meeting for one in ones}),
            collective=meeting.name,
            sequence=_known(meeting.sequence),
            waiting=sum(
                member.wait_ns > 0 and member.rank != rank for member in meeting.members
            ),
            gain_us=gain_us,
            culprit=gain_us is not None
            and gain_us >= self._least_gain_us
            and self._is_steady(ones),
        )

    @cached_property
    def _steps(self) -> dict[int, tuple[int, int]]:
        return self._core.steps if self._core else {}

    @cached_property
    def _least_gain_us(self) -> float:
        lengths = sorted(recorded for recorded, _ in self._steps.values())
        quarter = len(lengths) // 4
        spread = lengths[-1 - quarter] - lengths[quarter] if lengths else 0
        least = max(_LEAST_GAIN * self._replayed_ns, _LEAST_OF_SPREAD * spread)
        return least / 1000

    def _is_steady(self, ones: list[_core.Lateness]) -> bool:
        if not self._steps:
            return True
        waited = dict.fromkeys(self._steps, 0)
        for one in ones:
            step = self._meetings[one.meeting].step
            waited[step] = waited.get(step, 0) + one.waited_ns
        least = _LEAST_STEADY * self._replayed_ns * (len(self._joined) - 1)
        return sorted(waited.values())[len(waited) // 4] >= least

    def _finding(self, rank: int, place: int | None) -> RankFinding | None:
        if place is None or self._core is None:
            return None
        at = self._core.finding_of(rank, place)
        findings = self._joined[rank].record.findings
        found = findings[at] if 0 <= at < len(findings) else None
        return None if found and found.pattern in _OF_COLLECTIVES else found

    @cached_property
    def meetings(self) -> tuple[Meeting, ...]:
        return tuple(
            Meeting(
                name=m.name,
                group=m.group,
                sequence=_known(m.sequence),
                step=_known(m.step),
                bytes=_known(m.bytes),
                transfer_us=us_from_ns(m.transfer_ns),
                wait_us=us_from_ns(m.wait_ns),
                last=self._name(m.members[m.last].rank),
                arrivals=tuple(
                    Arrival(
                        rank=self._name(member.rank),
                        begin_us=self._us(member.begin_ns),
                        end_us=self._us(member.end_ns),
                        wait_us=us_from_ns(member.wait_ns),
                    )
                    for member in m.members
                ),
            )
            for m in self._meetings
        )

    @cached_property
    def collectives(self) -> tuple[CollectiveRow, ...]:
        works = [work.meetings for work in self._works]
        sums: dict[tuple[str, int | None], list[int]] = defaultdict(
            lambda: [0, 0, 0, 0]
        )
        for m in self._meetings:
            row = sums[m.name, _known(m.bytes)]
            row[0] += 1
            row[1] += m.wait_ns
            for member in m.members:
                row[2] += member.transfer_ns
                row[3] += works[member.rank][member.meeting].exposed_ns
        rows = [
            CollectiveRow(
                name=name,
                bytes=size,
                count=count,
                wait_us=us_from_ns(wait),
                transfer_us=us_from_ns(transfer),
                exposed_us=us_from_ns(exposed),
                small=size is not None
                and count > 1
                and size < _SMALL_BYTES
                and transfer > 0,
            )
            for (name, size), (count, wait, transfer, exposed) in sums.items()
        ]
        return tuple(sorted(rows, key=lambda row: -(row.wait_us + row.transfer_us)))

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        if self._core is None or not self._meetings:
            return ()
        lost = self.facts.replayed_us - self.facts.even_us
        gains: list[tuple[str, str, float]] = [
            ("rank", str(row.rank), row.gain_us)
            for row in self.ranks
            if row.gain_us is not None
        ]
        stages = sorted({w.stage for w in self._works if w.stage >= 0})
        gains += [("stage", str(s), self._gain_us(stage=s)) for s in stages]
        kinds = {p.kind for p in self._places} | {m.name for m in self._meetings}
        gains += [("kind", kind, self._gain_us(kind=kind)) for kind in sorted(kinds)]
        rows = [
            Culprit(what=w, name=n, gain_us=g, share=g / lost if lost > 0 else 0.0)
            for w, n, g in gains
        ]
        return tuple(sorted(rows, key=lambda row: -row.gain_us))


def _number(rank: JobRank) -> int:
    number = rank.file.rank
    return -1 if number is None else number


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _waited(ones: Sequence[_core.Lateness]) -> int:
    return sum(one.waited_ns for one in ones)
