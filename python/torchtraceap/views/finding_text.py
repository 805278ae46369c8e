# SPDX-License-Identifier: BSD-3-Clause
"""finding_text.py: a finding and the gain of its fix, in words.

All text from the trace passes through `printable`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchtraceap._core import Finding, Gain, TraceFacts, Unexplained
from torchtraceap.base.location import NAME_WIDTH, place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import headed
from torchtraceap.base.units import share_text, time_text
from torchtraceap.report_data import ReportData

_NOTABLE = 0.01  # Share of the time from which the devices' own delay is reported.
_MOST_PLACES = 10  # Of one pattern, before the core gathers the rest.
NO_LINES = headed(
    "No source lines",
    "the trace has no Python frames here. Record it with "
    "torch.profiler.profile(with_stack=True).",
)


def place_of(finding: Finding, report: ReportData) -> str:
    """Write where a finding is: a line, an operator, or why there is neither."""
    place = place_text(finding.location, finding.operator, finding.deepest)
    return (place or _nowhere(finding, report.findings)) + _whose(finding, report.trace)


def wasted_text(finding: Finding) -> str:
    """Write the cost of a finding, marking an estimate as a bound. A finding of the
    model claims no time: "-"."""
    if finding.basis == "model":
        return "-"
    most = "up to " if finding.basis == "estimate" else ""
    return most + time_text(finding.wasted_us)


def wasted_share(finding: Finding, whole_us: float) -> str:
    """Write its share of the time."""
    return share_text(finding.wasted_us, 0 if finding.basis == "model" else whole_us)


def lost_us(findings: Sequence[Finding]) -> tuple[float, float]:
    """Return the total cost of findings, and the bound of the estimated ones."""
    estimated = sum(f.wasted_us for f in findings if f.basis == "estimate")
    exact = sum(f.wasted_us for f in findings if f.basis != "estimate")
    return exact, estimated


def gain_text(finding: Finding, report: ReportData) -> str:
    """Write the replayed gain, and why it is nothing."""
    if finding.basis == "model":
        return "by the detector, unproven"
    if finding.recoverable_us is None:
        return ""
    why = "" if finding.recoverable_high_us else _why_nothing(finding, report)
    return f"{gain_range(finding)} recoverable{why}"


def gain_range(finding: Finding) -> str:
    """Write the gain of a finding: ``about 265 ms (177 ms to 354 ms)``; "" if it is
    unknown.
    """
    if finding.recoverable_us is None:
        return ""
    return range_text(
        finding.recoverable_low_us or 0.0,
        finding.recoverable_us,
        finding.recoverable_high_us or 0.0,
    )


def range_text(low_us: float | None, middle_us: float, high_us: float | None) -> str:
    """Write a gain: its middle, and its range, of which no part is a loss."""
    if low_us is None or high_us is None:
        return f"about {time_text(middle_us)} (seen once)"
    if high_us <= 0:
        return time_text(0)
    low = time_text(low_us) if low_us > 0 else "0"
    return f"about {time_text(middle_us)} ({low} to {time_text(high_us)})"


def range_of(gain: Gain) -> str:
    """Write the gain of a replay likewise."""
    return range_text(gain.low_us, gain.middle_us, gain.high_us)


def order_text(report: ReportData) -> str:
    """Write the order of the findings: "what to fix" first, if gains are known."""
    if (
        not report.trace.working_devices
    ):  # Findings of a host alone are not sorted by gain.
        return "most wasted time"
    known = any(finding.recoverable_us for finding in report.rule_findings)
    return "what to fix" if known else "most wasted time"


def advice_of(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return each pattern with its advice once, in the order of the findings.

    One pattern may have several: by sub-type, device or vendor.
    """
    return list(dict.fromkeys((f.pattern, f.advice) for f in findings))


def replayed_texts(report: ReportData) -> Iterator[str]:
    """Report the gain of all fixes together, or why it is not known.

    The reader may not know what a replay is, so the text explains it.
    """
    recovery = report.recovery
    if recovery.refusal:
        yield (
            "No gains are given, because a replay of this trace would mislead: "
            f"{recovery.refusal}."
        )
    elif gain := recovery.together:
        span_us = report.trace.span_us
        left_out = sum(bool(doubt) for doubt in recovery.doubts)
        priced = sum(gain is not None for gain in recovery.gains)
        whole = priced == len(report.findings)
        all_of = "all of them" if whole else f"{priced} of them"
        if priced == 1 and whole:
            all_of = "it"
        if left_out:
            doubt = next(doubt for doubt in recovery.doubts if doubt)
            yield headed(f"No gain is given for {left_out}", f"{doubt}.")
        yield headed(
            f"With {all_of} fixed",
            f"{range_of(gain)} less of {time_text(span_us)}, by a replay of the "
            "recording without the fixed time.",
        )
    elif recovery.together_doubt:
        doubt = recovery.together_doubt
        yield headed("No gain is given for all of them together", f"{doubt}.")
    if recovery.fidelity and any(recovery.gains):
        yield recovery.fidelity.caveat


def why_none(report: ReportData) -> str:
    """Explain why a report has no findings."""
    if report.quality.verdict == "unusable":
        return "none, the trace is unusable."
    if not report.trace.working_devices:
        only = "loaded" if report.is_part else "in this trace"
        return f"none on the host; no device work {only}."
    if report.quality.incomplete:
        return (
            "none, but device records are missing: this says nothing about the program."
        )
    left_us = sum(row.unattributed_us for row in report.balance)
    total_us = report.trace.device_time_us
    if left_us >= total_us / 2:
        # No finding, but nothing healthy either.
        share = share_text(left_us, total_us)
        return f"none by these rules; {share} of the time is idle and unexplained."
    return "none."


def left_texts(report: ReportData) -> Iterator[str]:
    """Report the time that no finding explains; nothing without a balance."""
    if not report.balance:
        return
    total_us = report.trace.device_time_us
    delay_us = sum(row.delay_us for row in report.balance)
    if delay_us < _NOTABLE * total_us:
        delay_us = 0.0
    left_us = sum(row.unattributed_us for row in report.balance) - delay_us
    left, share = time_text(left_us), share_text(left_us, total_us)
    most = "at most " if report.quality.incomplete else ""
    yield headed("Unattributed", f"{most}{left} ({share}) that no rule explains.")
    if delay_us:
        delay, share = time_text(delay_us), share_text(delay_us, total_us)
        yield headed(
            "Kernel-to-kernel delay",
            f"{most}{delay} ({share}) in gaps under 3 µs "
            "between queued kernels; fewer, larger kernels have less of it.",
        )


def stretch_texts(report: ReportData) -> Iterator[str]:
    """Report the longest unexplained stretches, and what the host did."""
    for stretch in sorted(report.unexplained, key=lambda s: -s.duration_us)[:3]:
        yield _stretch(stretch, report.trace)


def _whose(finding: Finding, trace: TraceFacts) -> str:
    """Name the processes without a device that a finding concerns, if not all."""
    those = finding.processes
    if len(those) >= trace.processes:
        return ""
    if len(those) == 1:
        return f" (process {printable(str(those[0]), NAME_WIDTH)})"
    return f" ({len(those):,} of {trace.processes:,} processes)"


def _nowhere(finding: Finding, findings: Sequence[Finding]) -> str:
    """Describe the place of a finding that has none.

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


def _why_nothing(finding: Finding, report: ReportData) -> str:
    """Explain why a fix gains nothing, if the report knows."""
    if finding.edit == "overlap":  # It already starts as early as possible.
        return ": an earlier start gains nothing"
    limits = [stage.verdict for stage in report.story if stage.id == "limit"]
    if finding.idle_us == 0 and limits == ["host"]:
        return ": the host is the limit"
    if len({row.pid for row in report.balance}) > 1:
        return ": another process of the trace takes longer"
    return ""


def _stretch(stretch: Unexplained, trace: TraceFacts) -> str:
    during = stretch.during
    name = printable(during.name, NAME_WIDTH) if during else "no event for most of it"
    start = time_text(stretch.start_us - trace.start_us)
    where = "on the host"
    if trace.processes > 1:
        where = f"in process {printable(str(stretch.pid), NAME_WIDTH)}"
    return f"{time_text(stretch.duration_us)} from +{start}; {where}: {name}"
