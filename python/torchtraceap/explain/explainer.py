# SPDX-License-Identifier: BSD-3-Clause
"""explainer.py: explains a finding or a window without a model, always the same way:
by the rules, the replay, the detector and the patterns' pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchtraceap import _core
from torchtraceap._core import Finding, Label, Window
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.data.findings import UNEXPLAINED, WAITS
from torchtraceap.data.opinion import NONE
from torchtraceap.explain.digest import Digest, pattern_row
from torchtraceap.explain.explanation import Explanation
from torchtraceap.explain.fixes.changes import change_of
from torchtraceap.explain.pattern_pages import pattern_page
from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import gain_range, gain_text, place_of

_SIMULATED = "The times are simulated in a dry run, not measured."
_HOST_ONLY = (
    'No work of a device was recorded here: read "the device" as what the program does '
    "next."
)
_MODEL = "model"
_TRACE = "trace.json.gz"
_WAITS = """\
def test_{function}_does_not_wait(no_sync_stalls):
    # To fill in: import {function} of {place}, and give it its arguments; a method is
    # called on an object of its class.
    with no_sync_stalls():  # without a GPU: a dry run
        {function}()
"""
_PATTERN = """\
def test_no_{name}(trace_check):
    check = trace_check("{trace}")  # recorded again{how}
    check.no("{pattern}")
"""
_OWN = """\
def test_no_{name}(trace_check):
    # Recorded again; the rule is imported from your module.
    check = trace_check("{trace}", rules=[{pattern}])
    check.no("{pattern}")
"""


def explained(report: ReportData, finding: Finding, digest: Digest) -> Explanation:
    """Explain a finding of a report."""
    return Explanation(
        subject=finding.id,
        finding=finding,
        window=None,
        pattern=finding.pattern,
        origin=finding.origin,
        what=f"{place_of(finding, report)}: {printable(finding.message)}",
        why=" ".join(_why(report, finding)),
        fix=printable(finding.advice),
        change=change_of(finding),
        gain=" ".join(_gain(report, finding)),
        check=check_of(finding),
        docs=finding.docs if _has_page(finding.pattern) else "docs/reference/rules.md",
        digest=digest,
    )


def explained_window(report: ReportData, window: Window, digest: Digest) -> Explanation:
    """Explain a window of a report: by the finding that it is of, if there is one."""
    label = _label(window)
    pattern = label.pattern if label else NONE
    finding = next(
        (
            f
            for f in report.findings
            if f.pattern == pattern and window.index in f.windows
        ),
        None,
    )
    page = pattern_page(pattern)
    row = pattern_row(pattern)
    why = page.why if page else ""
    fix = row.advice if row else ""
    if finding:
        why, fix = _mechanism(finding), printable(finding.advice)
    return Explanation(
        subject=f"window {window.index}",
        finding=finding,
        window=window,
        pattern=pattern,
        origin=label.origin if label else "rule",
        what=" ".join(_window_facts(report, window, label)),
        why=why,
        fix=fix,
        change=change_of(finding) if finding else page.example if page else None,
        gain=_window_gain(label),
        check=check_of(finding) if finding else "",
        docs=f"docs/patterns/{pattern}.md" if page else "docs/reading.md",
        digest=digest,
    )


def check_of(finding: Finding) -> str:
    """Return code of a test; "" of what no test can hold.

    A wait is asked for in the code itself, which needs no GPU; all else in a trace.
    """
    if finding.pattern == UNEXPLAINED:
        return ""
    where = finding.location
    called = where.function if where and where.user else ""
    if where and finding.pattern == WAITS and called.isidentifier():
        place = str(where).replace("\\", "/").rpartition("/")[2]
        return _WAITS.format(function=called, place=printable(place))
    known = {pattern.name for pattern in _core.patterns()}
    form = _PATTERN if finding.pattern in known else _OWN
    how = " on a GPU" if finding.origin == "dry-run" else ""
    name = re.sub(r"\W", "_", finding.pattern, flags=re.ASCII)
    return form.format(name=name, pattern=finding.pattern, trace=_TRACE, how=how)


def _has_page(pattern: str) -> bool:
    return pattern == UNEXPLAINED or pattern_page(pattern) is not None


def _mechanism(finding: Finding) -> str:
    """Say how a pattern costs time."""
    page = pattern_page(finding.pattern, finding.subtype or "", finding.advice)
    return page.why if page else ""


def _why(report: ReportData, finding: Finding) -> Iterator[str]:
    if finding.pattern == UNEXPLAINED:
        yield (
            "That is not known: no rule fits, and the detector only says that the "
            "timeline looks here as it does where time is lost. It may be nothing."
        )
        return
    why = _mechanism(finding)
    if "device" in why and not report.trace.working_devices:
        yield _HOST_ONLY
    yield why or "A rule of your own found it: its summary says what it is."
    yield from _share(report, finding)
    for stage in report.story:
        if stage.id == "limit" and stage.known:
            limit = stage.answer.partition(". ")[0].rstrip(".")
            yield f"What limits this trace: {printable(limit)}."


def _share(report: ReportData, finding: Finding) -> Iterator[str]:
    """Say what the finding's time is of the whole."""
    whole = report.trace.device_time_us
    if finding.wasted_us <= 0 or whole <= 0:
        return
    share = share_text(finding.wasted_us, whole)
    if finding.basis == "estimate":
        said = f"At most {time_text(finding.wasted_us)} are lost to it, {share}"
    else:
        said = f"{time_text(finding.wasted_us)} are lost to it, {share}"
    if not report.trace.working_devices:
        yield f"{said} of the time of the trace."
        return
    idle = finding.idle_us
    if idle >= finding.wasted_us:
        how = "in all of it the device stood still"
    elif idle > 0:
        how = f"in {time_text(idle)} of it the device stood still"
    else:
        how = "the device was busy then, with what need not be or could be faster"
    yield f"{said} of the devices' time; {how}."


def _gain(report: ReportData, finding: Finding) -> Iterator[str]:
    if finding.basis == _MODEL:
        yield "Not known: what the detector guesses is not proven."
        return
    gain = finding.recoverable_us
    if gain is None:
        why = report.recovery.refusal or _doubt(report, finding)
        yield f"Not known: {printable(why) or 'the replay says nothing of it'}."
    elif not finding.recoverable_high_us:
        yield f"{gain_text(finding, report)}."
    else:
        share = share_text(gain, report.trace.span_us)
        whole = time_text(report.trace.span_us)
        yield (
            f"{gain_range(finding)} of {whole}, about {share}, by a replay of the "
            "recording with this alone fixed."
        )
        lost_us = finding.wasted_us
        if 0 < lost_us < gain and time_text(lost_us) != time_text(gain):
            yield _why_more(report, finding)
        fidelity = report.recovery.fidelity
        if fidelity and fidelity.caveat:
            yield fidelity.caveat
    if finding.origin == "dry-run":
        yield _SIMULATED


def _why_more(report: ReportData, finding: Finding) -> str:
    """Say how a fix can gain more than is lost."""
    lost = time_text(finding.wasted_us)
    others = ", ".join(map(printable, finding.shares_gain_with))
    if others:
        return (
            f"That is more than the {lost} lost to it: lost time is counted once, so "
            f"what a fix of {others} would save too is divided between them, and this "
            "fix alone gains all of it."
        )
    return (
        f"That is more than the {lost} lost to it: lost is what the device stood still "
        "or did in vain, and the host, once it is ahead, also comes sooner to what "
        "follows."
    )


def _doubt(report: ReportData, finding: Finding) -> str:
    ids = [one.id for one in report.rule_findings]
    number = ids.index(finding.id) if finding.id in ids else len(ids)
    return next(iter(report.recovery.doubts[number : number + 1]), "")


def _label(window: Window) -> Label | None:
    """Return the rules' label of the largest saving, or else the detector's."""
    exact = max(
        window.rule_labels, key=lambda label: label.saved_fraction, default=None
    )
    guesses = [label for label in window.labels if label.probability is not None]
    guess = max(guesses, key=lambda label: label.probability or 0, default=None)
    return exact or guess


def _window_facts(
    report: ReportData, window: Window, label: Label | None
) -> Iterator[str]:
    begin = time_text(window.start_us - report.trace.start_us)
    where = "the host" if window.device is None else f"device {window.device}"
    step = "" if window.step is None else f" in step {window.step}"
    yield (
        f"{time_text(window.duration_us)} of {where}{step}, from +{begin}: "
        f"{counted(window.events, 'event')} begin here"
        + (
            "."
            if window.device is None
            else f", and the device is busy for {time_text(window.busy_us)}, "
            f"{share_text(window.busy_us, window.duration_us)}."
        )
    )
    exact = [one for one in window.rule_labels if one.wasted_us > 0]
    for one in exact:
        share = share_text(one.wasted_us, window.duration_us)
        pattern = printable(one.pattern)
        yield f"{pattern} costs {time_text(one.wasted_us)} of it ({share})."
    if label is None:
        yield "Neither rules nor detector see a loss."
    elif label.probability is not None:
        yield (
            f"No rule sees a loss here; the detector says {printable(label.pattern)}, "
            f"with a probability of {label.probability:.1%}.".replace("%", " %")
        )


def _window_gain(label: Label | None) -> str:
    if label is None:
        return "Nothing is known to be lost here."
    share = share_text(label.saved_fraction, 1.0)
    if label.probability is not None:
        return f"Not known: the detector guesses {share} of the window, unproven."
    how = " (simulated)" if label.origin == "dry-run" else ""
    return f"{share} of the window with {printable(label.pattern)} fixed{how}."
