# SPDX-License-Identifier: BSD-3-Clause
"""finding_text.py: what text and HTML say of findings, in the same words.

All text from the trace passes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.heading import is_part
from torchtraceap.places import NAME_WIDTH, place_text
from torchtraceap.safe_text import printable
from torchtraceap.units import share_text, time_text, with_micro_sign

if TYPE_CHECKING:
    from torchtraceap.events import Unexplained
    from torchtraceap.facts import TraceFacts
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report

_NOTABLE = 0.01  # Of the time: from here on the devices' own delay is said.
_MOST_PLACES = 10  # Of one pattern, before the core gathers the rest.
NO_LINES = (
    "No source lines: the trace has no Python frames here. Record it with "
    "torch.profiler.profile(with_stack=True)."
)


def place_of(finding: Finding, report: Report) -> str:
    """Write where a finding is: a line, an operator, or why there is neither."""
    place = place_text(finding.location, finding.operator, finding.deepest)
    return (place or _nowhere(finding, report.findings)) + _whose(finding, report.trace)


def message_text(finding: Finding) -> str:
    """Write what happened there, in a sentence."""
    return with_micro_sign(printable(finding.message))


def wasted_text(finding: Finding) -> str:
    """Write what a finding cost; of an estimate, that it is a bound. A model's claims
    no time, so it has none."""
    if finding.basis == "model":
        return "-"
    most = "up to " if finding.basis == "estimate" else ""
    return most + time_text(finding.wasted_us)


def wasted_share(finding: Finding, whole_us: float) -> str:
    """Write what share of the time that is."""
    return share_text(finding.wasted_us, 0 if finding.basis == "model" else whole_us)


def why_none(report: Report) -> str:
    """Say what it means that a report has no findings."""
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


def left_texts(report: Report) -> Iterator[str]:
    """Say how much time no finding explains; nothing without a balance."""
    if not report.balance:
        return
    total_us = report.trace.device_time_us
    delay_us = sum(row.delay_us for row in report.balance)
    if delay_us < _NOTABLE * total_us:
        delay_us = 0.0
    left_us = sum(row.unattributed_us for row in report.balance) - delay_us
    left, share = time_text(left_us), share_text(left_us, total_us)
    most = "at most " if report.quality.incomplete else ""
    yield f"Unattributed: {most}{left} ({share}) that no rule explains."
    if delay_us:
        delay, share = time_text(delay_us), share_text(delay_us, total_us)
        yield (
            f"Kernel-to-kernel delay: {most}{delay} ({share}) in gaps under 3 µs "
            "between queued kernels; fewer, larger kernels have less of it."
        )


def stretch_texts(report: Report) -> Iterator[str]:
    """Say when the longest unexplained stretches were, and what the host did."""
    for stretch in sorted(report.unexplained, key=lambda s: -s.duration_us)[:3]:
        yield _stretch(stretch, report.trace)


def advice_of(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return each pattern with its advice once, in the order of the findings.

    One pattern may have several: by sub-type, device or vendor.
    """
    return list(dict.fromkeys((f.pattern, f.advice) for f in findings))


def _stretch(stretch: Unexplained, trace: TraceFacts) -> str:
    during = stretch.during
    name = printable(during.name, NAME_WIDTH) if during else "no event for most of it"
    start = time_text(stretch.start_us - trace.start_us)
    where = "on the host"
    if trace.processes > 1:
        where = f"in process {printable(str(stretch.pid), NAME_WIDTH)}"
    return f"{time_text(stretch.duration_us)} from +{start}; {where}: {name}"


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
