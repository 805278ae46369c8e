# SPDX-License-Identifier: BSD-3-Clause
"""summary.py: the report as plain text: what the trace is, where its time went, what
to do. All text from the trace passes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.heading import heading_lines, is_part
from torchtraceap.path_text import path_line
from torchtraceap.places import NAME_WIDTH, place_text
from torchtraceap.recovery import read_path
from torchtraceap.rule_outcomes import outcome_lines
from torchtraceap.safe_text import printable
from torchtraceap.text_table import align, wrapped
from torchtraceap.units import share_text, time_text
from torchtraceap.window_table import window_lines

if TYPE_CHECKING:
    from torchtraceap.events import Unexplained
    from torchtraceap.facts import TraceFacts
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_NOTABLE = 0.01  # Of the time: from here on the devices' own delay is said.
_MOST_PLACES = 10  # Of one pattern, before the core gathers the rest.


def write_summary(report: Report, windows: int, findings: int) -> str:
    """Return the text, with at most so many windows and findings listed."""
    blocks = [
        list(heading_lines(report)),
        list(_findings(report, findings)),
        [part for line in outcome_lines(report) for part in wrapped(line, "  ")],
        list(window_lines(report, windows)),
        list(_advice(report, findings)),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _findings(report: Report, limit: int) -> Iterator[str]:
    total_us = report.trace.device_time_us
    incomplete = report.quality.incomplete
    if report.findings:
        bound = " (upper bounds: device records are missing)" if incomplete else ""
        yield f"Findings, most wasted time first{bound}:"
        rows = [
            (
                (
                    place_text(finding.location, finding.operator)
                    or _nowhere(finding, report.findings)
                )
                + _whose(finding, report.trace),
                finding.kind,
                f"×{finding.count}",
                _most(finding) + time_text(finding.wasted_us),
                share_text(finding.wasted_us, total_us),
                _gain(finding),
            )
            for finding in report.findings[:limit]
        ]
        for line in align(rows, right=(2, 3, 4)):
            yield f"  {line.rstrip()}"
        if rest := report.findings[limit:]:
            yield f"  and {len(rest)} more, {_together(rest)}"
        yield from _replayed(report)
        if not report.recovery.refusal:
            whole = report.core_replay[0].critical_paths(steps=False)[0]
            yield from wrapped(path_line(read_path(whole)), "  ")
    else:
        yield f"Findings: {_why_none(report)}"
    if report.balance:
        delay_us = sum(row.delay_us for row in report.balance)
        if delay_us < _NOTABLE * total_us:
            delay_us = 0.0
        left_us = sum(row.unattributed_us for row in report.balance) - delay_us
        left, share = time_text(left_us), share_text(left_us, total_us)
        most = "at most " if incomplete else ""
        yield f"Unattributed: {most}{left} ({share}) that no rule explains."
        if delay_us:
            delay, share = time_text(delay_us), share_text(delay_us, total_us)
            yield (
                f"Kernel-to-kernel delay: {most}{delay} ({share}) in gaps under 3 µs "
                "between queued kernels; fewer, larger kernels have less of it."
            )
        for stretch in sorted(report.unexplained, key=lambda s: -s.duration_us)[:3]:
            yield f"  {_stretch(stretch, report.trace)}"
    if report.findings and not any(f.location for f in report.findings):
        yield from wrapped(
            "No source lines: the trace has no Python frames here. Record it with "
            "torch.profiler.profile(with_stack=True).",
            "  ",
        )


def _gain(finding: Finding) -> str:
    gain = finding.recoverable_us
    if gain is None:
        return ""
    return f"{'up to ' if gain else ''}{time_text(gain)} recoverable"


def _replayed(report: Report) -> Iterator[str]:
    """Say what all fixes together would gain, or why nothing is said of it."""
    recovery = report.recovery
    if recovery.refusal:
        yield from wrapped(
            f"What fixes would gain is not said: {recovery.refusal}.", "  "
        )
    elif gain := recovery.together:
        span_us = report.trace.span_us
        left_out = sum(bool(doubt) for doubt in recovery.doubts)
        all_of = (
            f"{len(report.findings) - left_out} of them" if left_out else "all of them"
        )
        if left_out:
            doubt = next(doubt for doubt in recovery.doubts if doubt)
            yield from wrapped(f"No gain is given for {left_out}: {doubt}.", "  ")
        yield (
            f"Replayed without {all_of}: {time_text(gain.low_us)} to "
            f"{time_text(gain.high_us)} less of {time_text(span_us)} "
            f"({share_text(gain.high_us, span_us)})."
        )
    elif recovery.together_doubt:
        yield from wrapped(
            f"No gain is given for all of them together: {recovery.together_doubt}.",
            "  ",
        )
    if recovery.fidelity and any(recovery.gains):
        yield from wrapped(recovery.fidelity.caveat, "  ")


def _most(finding: Finding) -> str:
    return "up to " if finding.basis == "estimate" else ""


def _together(findings: Sequence[Finding]) -> str:
    """Write what findings cost, measured and estimated time each by itself."""
    sums = {"measured": 0.0, "estimate": 0.0}
    for finding in findings:
        sums[finding.basis] += finding.wasted_us
    parts = []
    if sums["measured"]:
        parts.append(f"{time_text(sums['measured'])} together")
    if sums["estimate"]:
        parts.append(f"up to {time_text(sums['estimate'])} by estimate")
    return ", ".join(parts)


def _stretch(stretch: Unexplained, trace: TraceFacts) -> str:
    during = stretch.during
    name = printable(during.name, NAME_WIDTH) if during else "no event for most of it"
    start = time_text(stretch.start_us - trace.start_us)
    where = "on the host"
    if trace.processes > 1:
        where = f"in process {printable(str(stretch.pid), NAME_WIDTH)}"
    return f"{time_text(stretch.duration_us)} from +{start}; {where}: {name}"


def _why_none(report: Report) -> str:
    if report.quality.verdict == "unusable":
        return "none can be given for this trace."
    if not report.trace.working_devices:
        only = "loaded" if is_part(report) else "in this trace"
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


def _whose(finding: Finding, trace: TraceFacts) -> str:
    """Say which processes without a device a finding is of, if not of all."""
    those = finding.processes
    if len(those) >= trace.processes:
        return ""
    if len(those) == 1:
        return f" (process {printable(str(those[0]), NAME_WIDTH)})"
    return f" ({len(those):,} of {trace.processes:,} processes)"


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
    # One pattern may have several: by sub-type, device or vendor.
    advice = dict.fromkeys((f.pattern, f.advice) for f in report.findings[:limit])
    if advice:
        yield "What helps:"
    for pattern, text in advice:
        yield from wrapped(f"{pattern}: {text}", "    ", first="  ")
