# SPDX-License-Identifier: BSD-3-Clause
"""job_tables.py: gains, ranks and collectives of a job: one list for text and page."""

from __future__ import annotations

from torchtraceap._core import CollectiveRow, Culprit, RankRow
from torchtraceap.base.units import time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.cells import (
    NO_CELL,
    Cell,
    Column,
    Table,
    count_cell,
    rate_cell,
    share_cell,
    size_cell,
)
from torchtraceap.views.job_words import (
    collective_text,
    culprit_text,
    notable_culprits,
    step_text,
)

_NAME = 40  # Characters of a text.
_SMALL = (
    "small: under 1 MiB, where starting it costs more than sending: one larger "
    "collective would cost less than many."
)


def job_tables(job: JobData, most: int) -> list[Table]:
    """Return the tables that have rows; of more ranks than ``most``, the first are
    those that others waited for most."""
    step, step_us = step_text(job), job.facts.replayed_us
    ranks, order = list(job.ranks), ""
    if len(ranks) > most:
        ranks.sort(key=lambda row: -row.caused_us)
        order = ", costliest first"
    any_small = any(row.small for row in job.collectives)
    tables = (
        Table(
            "Gain if one of them were as usual",
            f", of {step} of {time_text(step_us)}",
            notable_culprits(job),
            (
                Column("what", lambda c: Cell(culprit_text(c)), _NAME),
                Column("shorter by", lambda c: _time(c.gain_us)),
                Column("between", _between),
                Column("share", lambda c: share_cell(c.gain_us, step_us)),
            ),
        ),
        Table(
            "Ranks",
            order,
            ranks,
            _RANKS,
            legend="waited: from its own start in a collective until all had started; "
            "transfer: from then on; exposed: in collectives, with no concurrent "
            "computation; last: how often it came last; caused: time the others waited "
            f"for it; gain: how much shorter {step} would be if this rank worked at "
            "the others' speed.",
        ),
        Table(
            "Decode steps",
            ", all ranks together",
            job.decode_skew,
            _DECODE,
            legend="last: how often that rank, or else the most frequent one, is in a "
            "step's collectives for the shortest time; waited: what the others are in "
            "them longer; share: of the steps' device time.",
        ),
        Table(
            "Collectives",
            ", all ranks together",
            job.collectives,
            _COLLECTIVES,
            legend=_SMALL if any_small else "",
        ),
    )
    return [table for table in tables if table.rows]


def _time(us: float) -> Cell:
    return Cell(time_text(us), us)


def _times(number: int) -> Cell:
    return Cell(f"{number:,}×", number)


def _gain(row: RankRow) -> Cell:
    """Write a gain, at least 0. In a job of many ranks, only those that others waited
    for most have one."""
    if row.gain_us is None:
        return NO_CELL
    return Cell(time_text(max(0.0, row.gain_us)), row.gain_us)


def _between(row: Culprit) -> Cell:
    if row.gain_low_us is None or row.gain_high_us is None:
        return NO_CELL
    low = time_text(row.gain_low_us) if row.gain_low_us > 0 else "0"
    return Cell(f"{low} to {time_text(row.gain_high_us)}", row.gain_low_us)


def _small(row: CollectiveRow) -> Cell:
    return Cell("small") if row.small else NO_CELL


_DECODE = (
    Column("kind", lambda d: Cell(d.kind), _NAME),
    Column("steps", lambda d: count_cell(d.steps)),
    Column("late", lambda d: NO_CELL if d.rank is None else Cell(f"rank {d.rank}")),
    Column("last", lambda d: _times(d.last)),
    Column("waited", lambda d: _time(d.waited_us)),
    Column("a step", lambda d: _time(d.step_wait_us)),
    Column("share", lambda d: share_cell(d.waited_us, d.device_us)),
)
_RANKS = (
    Column("rank", lambda r: Cell(str(r.rank), r.rank)),
    Column("stage", lambda r: count_cell(r.stage), if_any=True, if_varied=True),
    Column("busy", lambda r: share_cell(r.busy_us, r.span_us)),
    Column("waited", lambda r: _time(r.waited_us)),
    Column("transfer", lambda r: _time(r.transfer_us)),
    Column("exposed", lambda r: _time(r.exposed_us)),
    Column("last", lambda r: _times(r.last)),
    Column("caused", lambda r: _time(r.caused_us)),
    Column("gain", _gain),
    Column("clock moved", lambda r: _time(r.clock_shift_us), on_page=True),
    Column("residual", lambda r: _time(r.clock_residual_us), on_page=True),
    Column("host", lambda r: Cell(r.host), _NAME, if_varied=True),
    Column("device", lambda r: Cell(r.device), _NAME, if_varied=True),
    Column("quality", lambda r: Cell(r.verdict), _NAME, if_varied=True),
    Column("file", lambda r: Cell(_file(r.path)), _NAME, on_page=True),
)
_COLLECTIVES = (
    Column("collective", lambda c: Cell(collective_text(c.name, None)), _NAME),
    Column("size", lambda c: size_cell(c.bytes)),
    Column("times", lambda c: _times(c.count)),
    Column("waited", lambda c: _time(c.wait_us)),
    Column("transfer", lambda c: _time(c.transfer_us)),
    Column("GB/s", lambda c: rate_cell(c.bus_gb_s), if_any=True),
    Column("exposed", lambda c: _time(c.exposed_us)),
    Column("", _small, if_any=True),
)


def _file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
