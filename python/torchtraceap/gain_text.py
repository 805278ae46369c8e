# SPDX-License-Identifier: BSD-3-Clause
"""gain_text.py: what fixes would gain, in words that promise no more than is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report


def gain_text(finding: Finding, report: Report) -> str:
    """Say what the replay gains: no bound, but of an estimate, which is one itself."""
    gain = finding.recoverable_us
    if gain is None:
        return ""
    if gain:
        how = "up to" if finding.basis == "estimate" else "about"
        return f"{how} {time_text(gain)} recoverable"
    return f"{time_text(gain)} recoverable{_why_nothing(finding, report)}"


def _why_nothing(finding: Finding, report: Report) -> str:
    """Say why a fix gains nothing, where the report knows."""
    if finding.edit == "overlap":  # It was let begin as early as it can.
        return ": an earlier start gains nothing"
    limits = [stage.verdict for stage in report.story if stage.id == "limit"]
    if finding.idle_us == 0 and limits == ["host"]:
        return ": the host is the limit"
    return ""


def replayed_texts(report: Report) -> Iterator[str]:
    """Say what all fixes together would gain, or why nothing is said of it."""
    recovery = report.recovery
    if recovery.refusal:
        yield f"What fixes would gain is not said: {recovery.refusal}."
    elif gain := recovery.together:
        span_us = report.trace.span_us
        left_out = sum(bool(doubt) for doubt in recovery.doubts)
        all_of = (
            f"{len(report.findings) - left_out} of them" if left_out else "all of them"
        )
        if left_out:
            doubt = next(doubt for doubt in recovery.doubts if doubt)
            yield f"No gain is given for {left_out}: {doubt}."
        yield (
            f"Replayed without {all_of}: {time_text(gain.low_us)} to "
            f"{time_text(gain.high_us)} less of {time_text(span_us)} "
            f"({share_text(gain.high_us, span_us)})."
        )
    elif recovery.together_doubt:
        yield (f"No gain is given for all of them together: {recovery.together_doubt}.")
    if recovery.fidelity and any(recovery.gains):
        yield recovery.fidelity.caveat
