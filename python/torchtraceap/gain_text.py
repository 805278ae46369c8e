# SPDX-License-Identifier: BSD-3-Clause
"""gain_text.py: what fixes would gain, in words that promise no more than is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.recovery import Gain
    from torchtraceap.report import Report


def gain_text(finding: Finding, report: Report) -> str:
    """Say what the replay gains: no bound, but of an estimate, which is one itself."""
    gain = finding.recoverable_us
    if finding.basis == "model":
        return "by the detector, unproven"
    if gain is None:
        return ""
    why = "" if gain else _why_nothing(finding, report)
    return f"{_high_text(finding)} recoverable{why}"


def gain_range(finding: Finding) -> str:
    """Write the same with what is counted on, where that is something: ``265 ms to 354
    ms``; "" if the gain is not known.
    """
    low_us, high_us = finding.recoverable_low_us, finding.recoverable_us
    if high_us is None:
        return ""
    return range_text(low_us, high_us) if low_us else _high_text(finding)


def range_text(low_us: float, high_us: float) -> str:
    """Write a gain as a range; one of which nothing is sure by its upper end."""
    if low_us:
        return f"{time_text(low_us)} to {time_text(high_us)}"
    return f"{'up to ' if high_us else ''}{time_text(high_us)}"


def order_text(report: Report) -> str:
    """Say what the findings are listed by: "largest gain", where one is known."""
    if not report.trace.working_devices:  # Of a host alone they are not sorted so.
        return "most wasted time"
    known = any(finding.recoverable_us for finding in report.rule_findings)
    return "largest gain" if known else "most wasted time"


def _high_text(finding: Finding) -> str:
    gain = finding.recoverable_us or 0
    how = "up to " if finding.basis == "estimate" else "about "
    return f"{how if gain else ''}{time_text(gain)}"


def _why_nothing(finding: Finding, report: Report) -> str:
    """Say why a fix gains nothing, where the report knows."""
    if finding.edit == "overlap":  # It was let begin as early as it can.
        return ": an earlier start gains nothing"
    limits = [stage.verdict for stage in report.story if stage.id == "limit"]
    if finding.idle_us == 0 and limits == ["host"]:
        return ": the host is the limit"
    if len({row.pid for row in report.balance}) > 1:
        return ": another process of the trace takes longer"
    return ""


def _sure_text(gain: Gain) -> str:
    """Say how much of a gain of all fixes may be counted on."""
    if gain.low_us:
        return f"; the {time_text(gain.low_us)} may be counted on"
    if gain.high_us:
        return "; none of it is sure, as what takes the place costs time too"
    return ""


def replayed_texts(report: Report) -> Iterator[str]:
    """Say what all fixes together would gain, or why nothing is said of it.

    Whoever reads this may know neither what a replay is nor why its low end is 0: both
    are said here.
    """
    recovery = report.recovery
    if recovery.refusal:
        yield (
            f"What fixes would gain is not said, for a replay of this trace would "
            f"mislead: {recovery.refusal}."
        )
    elif gain := recovery.together:
        span_us = report.trace.span_us
        left_out = sum(bool(doubt) for doubt in recovery.doubts)
        # A dry run's list has no gains, nor has what no rule explains.
        priced = len(recovery.gains) - left_out
        whole = priced == len(report.findings)
        all_of = "all of them" if whole else f"{priced} of them"
        if priced == 1 and whole:
            all_of = "it"
        if left_out:
            doubt = next(doubt for doubt in recovery.doubts if doubt)
            yield f"No gain is given for {left_out}: {doubt}."
        yield (
            f"With {all_of} fixed: {range_text(gain.low_us, gain.high_us)} less of "
            f"{time_text(span_us)} ({share_text(gain.high_us, span_us)}), by a replay "
            f"of the recording without what the fixes take away{_sure_text(gain)}."
        )
    elif recovery.together_doubt:
        yield (f"No gain is given for all of them together: {recovery.together_doubt}.")
    if recovery.fidelity and any(recovery.gains):
        yield recovery.fidelity.caveat
