# SPDX-License-Identifier: BSD-3-Clause
"""memory_text.py: the memory of devices and the host, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap._core import Location, Memory, MemoryHolder
from torchtraceap.base.location import place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import Line, marked, wrapped
from torchtraceap.base.units import bytes_text, counted, time_text
from torchtraceap.report_data import ReportData
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
