# SPDX-License-Identifier: BSD-3-Clause
"""memory_text.py: the memory of devices and the host, in sentences and tables."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap._core import Location, Memory, MemoryHolder
from torchtraceap.base.location import place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import Line, marked, wrapped
from torchtraceap.base.units import bytes_text, counted, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.cells import NO_CELL, Cell, Column, Table, count_cell, size_cell
from torchtraceap.views.heading import device_text

_HOLDERS = 3  # Named in a sentence.
_EARLIER, _REST = "before the recording", "the rest"


def memory_lines(report: ReportData) -> Iterator[str]:
    """Yield a section on memory; nothing without [memory] events."""
    if report.memory:
        yield marked("Memory:", "heading")
    for row in report.memory:
        head, *rest = _sentences(row, report)
        yield from wrapped(Line((head, "")), "    ", first="  ")
        for sentence in rest:
            yield from wrapped(sentence, "    ", first="    ")


def _sentences(row: Memory, report: ReportData) -> Iterator[str]:
    yield _capital(peak_text(row, report)) + "."
    if row.alive:
        held = [f"{signed(h.bytes)} {holder_text(h)}" for h in row.alive[:_HOLDERS]]
        more = ", ..." if row.alive[_HOLDERS:] else ""
        yield f"Allocated then: {'; '.join(held)}{more}."
    elif row.relative:
        yield "Its events have no addresses: what was allocated then is unknown."
    if row.reserved_bytes is not None:
        unused = row.unused_bytes
        of_it = f", {bytes_text(unused)} of it not allocated" if unused else ""
        yield f"Reserved by torch: up to {bytes_text(row.reserved_bytes)}{of_it}."
    if row.first_step_bytes is not None and row.last_step_bytes is not None:
        ends = f"{signed(row.first_step_bytes)} at the end of the first step"
        if row.step_growth_bytes is not None:
            ends += (
                f", {signed(row.last_step_bytes)} of the last; a step changes it by "
                f"{signed(row.step_growth_bytes)} (median)"
            )
        yield f"Allocated: {ends}."
    if row.growth:
        yield growth_text(row) + "."
    if row.driver_calls:
        retried = f", {counted(row.retries, 'retry', 'retries')}" if row.retries else ""
        calls = counted(row.driver_calls, "call")
        yield f"After the first step: {calls} to the driver for memory{retried}."


def peak_text(row: Memory, report: ReportData) -> str:
    """Write how much was allocated at most, when, and by what."""
    of = f" of {bytes_text(row.capacity_bytes)}" if row.capacity_bytes else ""
    more = f"{signed(row.peak_bytes)}{'' if row.relative else of} allocated"
    if row.relative:
        more = f"{signed(row.peak_bytes)} more allocated than when recording began"
    when = f"at +{time_text(row.peak_at_us - report.trace.start_us)}"
    if row.peak_step is not None:
        when += f" in step {row.peak_step}"
    place = site_text(row.peak_operator, row.peak_location)
    by = f", by {place}" if place else ""
    return f"{owner_text(row, report)} peaked at {more}, {when}{by}"


def growth_text(row: Memory) -> str:
    """Return by how much memory grows, of one that does, and by what."""
    return printable(row.growth.message, 600).removesuffix(".") if row.growth else ""


def owner_text(row: Memory, report: ReportData) -> str:
    """Write whose memory it is."""
    if row.device is None:
        return "the host"
    return f"device {device_text(row, report)}"


def holder_text(holder: MemoryHolder) -> str:
    """Write what holds memory, in one line."""
    if holder.kind == "earlier":
        return _EARLIER
    if holder.kind == "rest":
        return _REST
    return site_text(holder.operator, holder.location) or "no operator"


def site_text(operator: str, where: Location | None) -> str:
    """Write what allocated; "" if nothing is known."""
    return " at ".join(filter(None, (printable(operator, 60), place_text(where, ""))))


def signed(count: int) -> str:
    """Write an amount of memory that may be negative."""
    return f"-{bytes_text(-count)}" if count < 0 else bytes_text(count)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def memory_tables(report: ReportData) -> Iterator[Table]:
    """Yield the peaks, and what was allocated at each."""
    yield Table("Memory", "", report.memory, _memory(report))
    for row in report.memory:
        name = f"Allocated at the peak of {owner_text(row, report)}"
        yield Table(name, "", row.alive, _HOLDER)


def _memory(report: ReportData) -> list[Column]:
    start_us = report.trace.start_us

    def at(row: Memory) -> Cell:
        us = row.peak_at_us - start_us
        return Cell("+" + time_text(us), us)

    return [
        Column("of", lambda m: Cell(owner_text(m, report)), 16),
        Column("peak", lambda m: _signed_cell(m.peak_bytes)),
        Column("at", at),
        Column("step", lambda m: count_cell(m.peak_step), if_any=True),
        Column("reserved", lambda m: size_cell(m.reserved_bytes), if_any=True),
        Column("unused", lambda m: size_cell(m.unused_bytes), if_any=True),
        Column("first step", lambda m: _signed_cell(m.first_step_bytes), if_any=True),
        Column("last step", lambda m: _signed_cell(m.last_step_bytes), if_any=True),
        Column("a step", lambda m: _signed_cell(m.step_growth_bytes), if_any=True),
        Column("retries", lambda m: count_cell(m.retries or None), if_any=True),
        Column("by", lambda m: Cell(site_text(m.peak_operator, m.peak_location)), 48),
    ]


def _signed_cell(count: int | None) -> Cell:
    return NO_CELL if count is None else Cell(signed(count), count)


_HOLDER = (
    Column("bytes", lambda h: size_cell(h.bytes)),
    Column("allocations", lambda h: count_cell(h.count or None)),
    Column("allocated by", lambda h: Cell(holder_text(h)), 60),
)
