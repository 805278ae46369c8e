# SPDX-License-Identifier: BSD-3-Clause
"""check_text.py: what a check says on a terminal and in a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchtraceap.gate.markdown_text import code, plain, table
from torchtraceap.gate.occurrences import place_of
from torchtraceap.gate.report_markdown import HEAD, findings_rows, joined
from torchtraceap.heading import simulated_text
from torchtraceap.safe_text import printable
from torchtraceap.text_table import wrapped
from torchtraceap.units import share_text, time_text

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.gate.checked import Checked, Line
    from torchtraceap.report import Report

_PLACES = 5  # Of one limit, on a terminal.
_ROWS = 20  # Of one trace, in Markdown.


def check_text(checked: Checked) -> str:
    """Return what a check of one trace says, the broken limits with their places."""
    return "\n".join(_text(checked))


def check_markdown(checks: Sequence[Checked]) -> str:
    """Return checks as one Markdown text under 64 KiB."""
    broken = [checked for checked in checks if checked.broken]
    title = (
        f"## torchtraceap: {len(broken)} of {_traces(len(checks))} over budget"
        if broken
        else f"## torchtraceap: {_traces(len(checks))} within budget"
    )
    # Those that fail first: what does not fit is left out at the end.
    order = sorted(checks, key=lambda checked: not checked.broken)
    texts = ["\n\n".join(_markdown(checked)) for checked in order]
    return title + "\n\n" + joined(texts, "traces")


def verdict(checked: Checked) -> str:
    """Return how a check ended, in a few words."""
    whole = len(checked.lines)
    if not checked.broken:
        untold = sum(bool(line.violations) for line in checked.lines)
        but = f"; {untold} cannot be told and may pass" if untold else ""
        return f"within budget ({whole} limit{'' if whole == 1 else 's'}{but})"
    known = sum(any(v.known for v in line.violations) for line in checked.broken)
    untold = len(checked.broken) - known
    parts = [f"{known} of {whole} limits broken"] if known else []
    parts += [f"{untold} of {whole} cannot be told"] if untold else []
    return f"{'over budget' if known else 'not known to be within budget'}: " + (
        ", ".join(parts)
    )


def _text(checked: Checked) -> Iterator[str]:
    yield f"{printable(checked.report.trace.path)}: {verdict(checked)}"
    yield from wrapped(simulated_text(checked.report.trace.simulated), "  ")
    untold: dict[str, list[str]] = {}
    for line in checked.lines:
        for violation in line.violations:
            if violation.why:
                untold.setdefault(violation.why, []).append(line.limit)
                continue
            yield from wrapped(violation.message, "    ", first="  ")
            if len(violation.findings) > 1:
                yield from _places(violation.findings, checked.report)
    for why, limits in untold.items():
        names = ", ".join(dict.fromkeys(limits))
        yield from wrapped(f"cannot be told: {names}: {why}", "    ", first="  ")


def _places(findings: Sequence[Finding], report: Report) -> Iterator[str]:
    whole_us = report.trace.device_time_us
    for finding in findings[:_PLACES]:
        yield (
            f"      {place_of(finding)}: {finding.kind} ×{finding.count}, "
            f"{time_text(finding.wasted_us)} "
            f"({share_text(finding.wasted_us, whole_us)})"
        )
    if rest := len(findings) - _PLACES:
        yield from [f"      and {rest} more"] if rest > 0 else []


def _markdown(checked: Checked) -> Iterator[str]:
    sign = "❌" if checked.broken else "✅"
    yield f"### {sign} {code(checked.report.trace.path)}: {verdict(checked)}"
    if assumed := simulated_text(checked.report.trace.simulated):
        yield f"**{plain(assumed)}**"
    told = [line for line in checked.lines if line.violations]
    if told:
        yield table(("limit", "", "what"), _limit_rows(told), 3)
    findings = {
        finding.id: finding
        for line in checked.broken
        for violation in line.violations
        for finding in violation.findings
    }
    if findings:
        worst = sorted(findings.values(), key=lambda f: -f.wasted_us)[:_ROWS]
        rows = findings_rows(worst, checked.report.trace.device_time_us)
        yield table(HEAD, rows)
        if more := len(findings) - len(worst):
            yield f"and {more} more"
    if checked.comparison is not None:
        yield checked.comparison.to_markdown()


def _limit_rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    for line in lines[:_ROWS]:
        said = line.violations
        sign = "➖" if line.passes else "❌"
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        yield code(line.title), sign, code(said[0].message, 400) + more
    if len(lines) > _ROWS:
        yield f"and {len(lines) - _ROWS} more", "", ""


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"
