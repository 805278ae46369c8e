# SPDX-License-Identifier: BSD-3-Clause
"""job_tables.py: the ranks of a job and their collectives as tables, for the page."""

from __future__ import annotations

from torchtraceap._core import RankRow
from torchtraceap.base.units import time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.job_words import collective_text, culprit_text, notable_culprits
from torchtraceap.views.work_tables import (
    NO_CELL,
    Cell,
    Column,
    Table,
    count_cell,
    share_cell,
    size_cell,
    time_cell,
)

_NAME = 40  # Characters of a text.


def job_tables(job: JobData) -> list[Table]:
    """Return the tables that have rows: gains, ranks, collectives."""
    step_us = job.facts.replayed_us
    gains = (
        Column("what", lambda c: Cell(culprit_text(c)), _NAME),
        Column("shorter by", lambda c: time_cell(c.gain_us)),
        Column("of the step", lambda c: share_cell(c.gain_us, step_us)),
    )
    of = time_text(step_us)
    tables = (
        Table(
            "Gains of having one of them as usual",
            f", of a step of {of}",
            notable_culprits(job),
            gains,
        ),
        Table("Ranks", "", job.ranks, _RANKS),
        Table(
            "Collectives",
            ", times of all ranks together",
            job.collectives,
            _COLLECTIVES,
        ),
    )
    return [table for table in tables if table.rows]


def _gain(row: RankRow) -> Cell:
    """Write a gain; what others make up for is none."""
    if row.gain_us is None:
        return NO_CELL
    return Cell(time_text(max(0.0, row.gain_us)), row.gain_us)


_RANKS = (
    Column("rank", lambda r: Cell(str(r.rank), r.rank)),
    Column("stage", lambda r: count_cell(r.stage), if_any=True),
    Column("busy", lambda r: share_cell(r.busy_us, r.span_us)),
    Column("waited", lambda r: time_cell(r.waited_us)),
    Column("transfer", lambda r: time_cell(r.transfer_us)),
    Column("exposed", lambda r: time_cell(r.exposed_us)),
    Column("came last", lambda r: count_cell(r.last)),
    Column("others waited for it", lambda r: time_cell(r.caused_us)),
    Column("gain", _gain, if_any=True),
    Column("clock moved", lambda r: time_cell(r.clock_shift_us), if_any=True),
    Column("residual", lambda r: time_cell(r.clock_residual_us), if_any=True),
    Column("quality", lambda r: Cell(r.verdict), _NAME),
    Column("device", lambda r: Cell(r.device), _NAME),
    Column("host", lambda r: Cell(r.host), _NAME),
    Column("file", lambda r: Cell(r.path.replace("\\", "/").rpartition("/")[2]), _NAME),
)
_COLLECTIVES = (
    Column("collective", lambda c: Cell(collective_text(c.name, None)), _NAME),
    Column("size", lambda c: size_cell(c.bytes)),
    Column("count", lambda c: count_cell(c.count)),
    Column("waited", lambda c: time_cell(c.wait_us)),
    Column("transfer", lambda c: time_cell(c.transfer_us)),
    Column("exposed", lambda c: time_cell(c.exposed_us)),
    Column("", lambda c: Cell("small" if c.small else ""), _NAME),
)
