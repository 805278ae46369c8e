# SPDX-License-Identifier: BSD-3-Clause
"""job_report.py: the reports of several traces, and what they say together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from torchtraceap.base.errors import TraceError
from torchtraceap.base.files import write_text

if TYPE_CHECKING:
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
    from torchtraceap.data.job import JobData
    from torchtraceap.report import Report


class JobReport(Sequence["Report"]):
    """What ``torchtraceap.analyze`` returns for several traces.

    A sequence of their reports, in the order given, of a folder in order of rank. Where
    the traces are small they are kept; else each is made again when it is asked for, so
    that the memory of many is that of one.

    Where the traces are those of the ranks of one job, the attributes say what they do
    together; where they are not, ``problem`` says why, and the others raise TraceError.

    Attributes:
        problem: Why the traces are not ranks of one job; "" if they are.
        fault: The same as the error that the attributes raise; None if they do not.
    """

    def __init__(
        self,
        reports: Sequence[Callable[[], Report]],
        joined: JobData | None,
        problem: TraceError | None,
        places: Mapping[int, int] | None = None,
    ) -> None:
        self._reports = reports
        self._joined = joined
        self._places = dict(places or {})  # of ranks, among the reports
        self.fault = problem
        self.problem = str(problem or "")

    def __len__(self) -> int:
        return len(self._reports)

    @overload
    def __getitem__(self, index: int) -> Report: ...
    @overload
    def __getitem__(self, index: slice) -> list[Report]: ...
    def __getitem__(self, index: int | slice) -> Report | list[Report]:
        if isinstance(index, slice):
            return [make() for make in self._reports[index]]
        return self._reports[index]()

    def __iter__(self) -> Iterator[Report]:
        return (make() for make in self._reports)

    def __str__(self) -> str:
        """Return the first screen: who makes the others wait, why, and the gain."""
        if self._joined is None:
            return "\n\n".join(map(str, self))
        from torchtraceap.views.answer_text import screen_width
        from torchtraceap.views.job_answer import job_answer_lines

        return "\n".join(job_answer_lines(self, screen_width()))

    def __repr__(self) -> str:
        if self._joined is None:
            return f"<JobReport of {len(self)} traces that are not ranks of one job>"
        facts = self._joined.facts
        return f"<JobReport of {facts.ranks} ranks, slowdown {facts.slowdown:.3f}>"

    def _job(self) -> JobData:
        if self._joined is None:
            assert self.fault is not None
            raise self.fault
        return self._joined

    @property
    def facts(self) -> JobFacts:
        """The job as a whole: its ranks, the missing ones, its steps, its slowdown."""
        return self._job().facts

    @property
    def answer(self) -> JobAnswer:
        """The verdict and what to do about it, in a few rows."""
        return self._job().answer

    @property
    def ranks(self) -> tuple[RankRow, ...]:
        """A row for each rank, by number."""
        return self._job().ranks

    @property
    def late(self) -> tuple[Late, ...]:
        """What made ranks late: culprits before others, of each the most waited for
        first."""
        return self._job().late

    @property
    def late_ranks(self) -> tuple[LateRank, ...]:
        """The ranks that are late, alone or in turn, the most waited for first; empty
        if all wait for each other."""
        return self._job().late_ranks

    @property
    def shared(self) -> tuple[SharedFinding, ...]:
        """Patterns that half of the ranks or more have, the largest first."""
        return self._job().shared

    @property
    def decode_skew(self) -> tuple[DecodeSkew, ...]:
        """How long ranks of a serving engine wait for each other in decode steps, by
        kind of step; empty unless all of them have the same steps."""
        return self._job().decode_skew

    @property
    def joined_collectives(self) -> tuple[JoinedCollective, ...]:
        """Collectives and messages of two ranks and more, by time."""
        return self._job().joined_collectives

    @property
    def collectives(self) -> tuple[CollectiveRow, ...]:
        """The same by name and size, those that take most first."""
        return self._job().collectives

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        """Ranks, stages and kinds of work, by how much shorter a step would be if they
        took the usual time; the largest gain first."""
        return self._job().culprits

    @property
    def causes(self) -> tuple[CollectiveWait, ...]:
        """What was waited in each collective because of whom."""
        return self._job().causes

    @property
    def steps(self) -> tuple[StepOfRank, ...]:
        """The steps of each rank."""
        return self._job().steps

    def rank(self, number: int) -> Report:
        """Return the report of one rank. KeyError if it has none here."""
        self._job()
        if number not in self._places:
            raise KeyError(f"rank {number} has no trace here")
        return self[self._places[number]]

    def summary(self, *, rows: int = 10) -> str:
        """Return the job as plain text for people, with ``rows`` ranks, causes and
        collectives each; for traces of different jobs, their own summaries."""
        if self._joined is None:
            return "\n\n".join(report.summary() for report in self)
        from torchtraceap.views.job_text import write_job

        return write_job(self, rows)

    def _repr_html_(self) -> str | None:
        """Return the form in a notebook; None for traces of different jobs."""
        if self._joined is None:
            return None
        from torchtraceap.views.html.job_page import job_notebook

        return job_notebook(self)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Return the job as JSON, by ``job.schema.json``; write it to ``path``."""
        from torchtraceap.views.job_json import job_json
        from torchtraceap.views.json_form import json_text

        form = job_json(self)
        if path is not None:
            write_text(path, json_text(form))
        return form

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page with the ranks as rows of one timeline."""
        from torchtraceap.views.html.job_page import job_page

        write_text(path, job_page(self))

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Write the traces of all ranks as one, on the common clock, for Perfetto.

        A ``path`` that ends in .gz is compressed. One trace at a time is in memory."""
        from torchtraceap.views.job_perfetto import write_job_perfetto

        ranks = ((r, self.rank(r.rank)) for r in self.ranks if r.rank in self._places)
        write_job_perfetto(self, ranks, path)
