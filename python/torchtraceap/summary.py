# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: the report as plain text: what the trace is, where its time went, what
to do. All text from the trace passes through `printable`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.rule_outcomes import outcome_lines
from torchtraceap.safe_text import printable
from torchtraceap.text_table import align
from torchtraceap.units import share_text, time_text
from torchtraceap.window_table import window_lines

if TYPE_CHECKING:
    from torchtraceap.events import Unexplained
    from torchtraceap.facts import Balance, Quality, TraceFacts
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_WIDTH = 88
_PLACE_WIDTH = 48  # A location; the longest of real traces are far longer.
_NAME_WIDTH = 40  # An operator or device.
_MOST_PLACES = 10  # Of one pattern, before the core gathers the rest.
# Warnings to be told of whatever the verdict: they say what the figures are of.
_ALWAYS_SAID = {
    "filtered",
    "graph_launches_few_kernels",
    "launches_without_work",
    "outlier_times",
    "work_overruns",
    "work_without_launch",
}


def write_summary(report: Report, windows: int, findings: int) -> str:
    """Return the text, with at most so many windows and findings listed."""
    blocks = [
        list(_heading(report)),
        list(_findings(report, findings)),
        [part for line in outcome_lines(report) for part in _wrapped(line, "  ")],
        list(window_lines(report, windows)),
        list(_advice(report, findings)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _heading(report: Report) -> Iterator[str]:
    trace = report.trace
    parts = [_count(trace.events, "event"), time_text(trace.span_us)]
    if report.steps:
        parts.append(_count(len(report.steps), "step"))
    if trace.rank is not None and (trace.world_size or 0) > 1:
        parts.append(f"rank {trace.rank} of {trace.world_size}")
    parts.append(_devices(trace, "loaded" if _is_part(report) else "recorded"))
    yield printable(trace.path)
    yield from _wrapped(", ".join(parts), "  ")
    yield from _quality(report.quality)
    for row in report.balance:
        yield from _wrapped(_balance(row, report.quality.incomplete), "  ")


def _quality(quality: Quality) -> Iterator[str]:
    said = [n for n in quality.warnings if n.verdict == "ok" and n.kind in _ALWAYS_SAID]
    if quality.verdict != "ok":
        yield f"Quality: {quality.verdict}"
        for note in (*quality.reasons, *said):
            yield from _wrapped(f"- {printable(note.detail)}", "  ")
        rate = quality.linking_rate
        if rate is not None and rate < 1:
            text = f"Launches are known of {share_text(rate, 1)} of the device events."
            yield from _wrapped(f"- {text}", "  ")
    else:
        for note in said:
            yield from _wrapped(f"Note: {printable(note.detail)}", "  ")


def _is_part(report: Report) -> bool:
    return any(note.kind == "filtered" for note in report.quality.warnings)


def _devices(trace: TraceFacts, verb: str) -> str:
    working = trace.working_devices
    if not working:
        listed = _count(len(trace.devices), "device")
        return f"{listed} listed, no work {verb}" if trace.devices else "CPU only"
    # A trace may list the machine's devices by other numbers than its work has.
    names = {d.name for d in working if d.name} or {d.name for d in trace.devices}
    text = " and ".join(sorted(names - {""})) or "device without a name"
    text = printable(text, _NAME_WIDTH)
    return text if len(working) == 1 else f"{len(working)} × {text}"


def _balance(row: Balance, incomplete: bool) -> str:
    idle = [(us, name) for name, us in row.idle_us.items() if us > 0]
    shares = [
        f"{name} {share_text(us, row.span_us)}" for us, name in sorted(idle)[::-1]
    ]
    shares.append(f"unattributed {share_text(row.unattributed_us, row.span_us)}")
    # What is not in the trace may have filled any gap.
    least, most = (" at least", " at most,") if incomplete else ("", "")
    text = (
        f"Device {row.device}: busy{least} {share_text(row.busy_us, row.span_us)} "
        f"({time_text(row.busy_us)} of {time_text(row.span_us)}); "
        f"idle{most} by cause: {', '.join(shares)}"
    )
    excess = [(us, name) for name, us in row.excess_us.items() if us > 0]
    if excess:
        shares = [
            f"{n} {share_text(us, row.span_us)}" for us, n in sorted(excess)[::-1]
        ]
        text += f"; wasted while busy: {', '.join(shares)}"
    return text


def _findings(report: Report, limit: int) -> Iterator[str]:
    total_us = report.trace.device_time_us
    incomplete = report.quality.incomplete
    if report.findings:
        bound = " (upper bounds: device records are missing)" if incomplete else ""
        yield f"Findings, most wasted time first{bound}:"
        rows = [
            (
                _place(finding) or _nowhere(finding, report.findings),
                finding.kind,
                f"×{finding.count}",
                time_text(finding.wasted_us),
                share_text(finding.wasted_us, total_us),
            )
            for finding in report.findings[:limit]
        ]
        for line in align(rows, right=(2, 3, 4)):
            yield f"  {line}"
        if rest := report.findings[limit:]:
            wasted = time_text(sum(finding.wasted_us for finding in rest))
            yield f"  and {len(rest)} more, {wasted} together"
    else:
        yield f"Findings: {_why_none(report)}"
    if report.balance:
        left_us = sum(row.unattributed_us for row in report.balance)
        left, share = time_text(left_us), share_text(left_us, total_us)
        most = "at most " if incomplete else ""
        yield f"Unattributed: {most}{left} ({share}) that no rule explains."
        for stretch in sorted(report.unexplained, key=lambda s: -s.duration_us)[:3]:
            yield f"  {_stretch(stretch, report.trace)}"
    if report.findings and not any(f.location for f in report.findings):
        yield from _wrapped(
            "No source lines: the trace has no Python frames here. Record it with "
            "torch.profiler.profile(with_stack=True).",
            "  ",
        )


def _stretch(stretch: Unexplained, trace: TraceFacts) -> str:
    during = stretch.during
    name = printable(during.name, _NAME_WIDTH) if during else "no event for most of it"
    start = time_text(stretch.start_us - trace.start_us)
    return f"{time_text(stretch.duration_us)} from +{start}; on the host: {name}"


def _why_none(report: Report) -> str:
    if report.quality.verdict == "unusable":
        return "none can be given for this trace."
    if not report.balance:
        only = "loaded" if _is_part(report) else "in this trace"
        return f"none on the host's side, the only one {only}."
    if report.quality.incomplete:
        return "none, but device records are missing: that says nothing of the program."
    left_us = sum(row.unattributed_us for row in report.balance)
    total_us = report.trace.device_time_us
    if left_us >= total_us / 2:
        # No finding, but nothing healthy either.
        share = share_text(left_us, total_us)
        return f"none by these rules; {share} of the time is idle and unexplained."
    return "none."


def _place(finding: Finding) -> str:
    """Write where a finding is: source line, else operator; "" if it has neither."""
    where = finding.location
    if where is None:
        return printable(finding.operator, _NAME_WIDTH)
    file = printable(where.file)
    function = printable(where.function, _NAME_WIDTH)
    line, library = f":{where.line} ", "" if where.user else " (library)"
    room = _PLACE_WIDTH - len(line) - len(library)
    while len(file) + len(function) > room and "/" in file[2:]:
        file = "…/" + file[2:].partition("/")[2]
    # The line number stays whole, whatever has to go.
    function = printable(function, max(room // 2, room - len(file)))
    return printable(file, room - len(function)) + line + function + library


def _nowhere(finding: Finding, findings: Sequence[Finding]) -> str:
    """Say what is true of a finding without a place.

    It may be what the core gathers, small places and those beyond the ten costliest
    of a pattern, or events around which the trace has no frame and no operator.
    """
    others = sum(f.pattern == finding.pattern for f in findings) - 1
    if others >= _MOST_PLACES:
        return "(elsewhere)"
    # One event is not gathered from several places.
    if finding.count == 1 or not any(f.location for f in findings):
        return "(no source line)"
    return "(no single place)"


def _advice(report: Report, limit: int) -> Iterator[str]:
    advice = {f.pattern: f.advice for f in report.findings[:limit]}
    if advice:
        yield "What helps:"
    for pattern, text in advice.items():
        yield from _wrapped(f"{pattern}: {text}", "    ", first="  ")


def _wrapped(text: str, indent: str, first: str = "") -> list[str]:
    lines = textwrap.wrap(
        # A number stays with its unit.
        re.sub(r"(\d) (s\b|ms\b|µs\b|%)", "\\1\xa0\\2", text),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\xa0", " ") for line in lines]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
