# SPDX-License-Identifier: BSD-3-Clause
"""sarif.py: findings as SARIF 2.1.0, for code review.

A result is a finding with a source line: GitHub refuses a whole file for one result
without one. A finding without a line is a notification of the run, so nothing is lost.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from torchtraceap import _core
from torchtraceap._core import Finding
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import resolve
from torchtraceap.base.units import share_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.finding_text import wasted_text
from torchtraceap.views.heading import simulated_text
from torchtraceap.views.json_form import json_text

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
    "sarif-schema-2.1.0.json"
)
_LEVELS = {"high": "error", "medium": "warning", "low": "note"}
_ROOT = "%SRCROOT%"
_Form = dict[str, Any]


def sarif_text(reports: Iterable[ReportData], root: str | None = None) -> str:
    """Return the log of all findings of reports as JSON; ``root`` as of `sarif_run`."""
    return json_text(sarif_log([sarif_run(report, root=root) for report in reports]))


def sarif_log(runs: Sequence[_Form]) -> _Form:
    """Return a SARIF log, as ``json.dumps`` takes it, of what `sarif_run` makes."""
    taken: dict[str, int] = {}
    for run in runs:  # GitHub refuses two runs of one name in a file.
        name = run["automationDetails"]["id"]
        taken[name] = number = taken.get(name, 0) + 1
        if number > 1:
            run["automationDetails"]["id"] = f"{name}{number}/"
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": list(runs)}


def sarif_run(
    report: ReportData,
    findings: Iterable[Finding] | None = None,
    notes: Iterable[str] = (),
    root: str | None = None,
) -> _Form:
    """Return one report as a run of a SARIF log.

    Args:
        report: What was found.
        findings: The findings to include; None: all.
        notes: Further notes on the trace, one line each.
        root: The folder that relative URIs are relative to; None: the working folder.
    """
    told_of = list(report.rule_findings if findings is None else findings)
    rules = _rules([*report.rule_findings, *told_of])
    index = {rule["id"]: place for place, rule in enumerate(rules)}
    first = [text] if (text := simulated_text(report.trace.simulated)) else []
    results, told = [], [_note(text, "warning") for text in (*first, *notes)]
    for finding in told_of:
        location = _location(finding, root)
        if location is None:
            text = f"{finding.kind}: {_figures(finding, report)}"
            level = _LEVELS[finding.severity]
            told.append(_note(text, level, index[finding.pattern]))
        else:
            rule = index[finding.pattern]
            results.append(_result(finding, report, location, rule))
    told += [_note(note.detail, "warning") for note in report.quality.reasons]
    name = re.split(r"[\\/]", report.trace.path)[-1]
    return {
        "tool": {
            "driver": {
                "name": "torchtraceap",
                "version": _core.__version__,
                "rules": rules,
            }
        },
        # Runs of one upload are told apart by it.
        "automationDetails": {"id": f"torchtraceap/{printable(name)}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The folder of the checkout."}}
        },
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": told}
        ],
        "results": results,
        "properties": {
            "trace": printable(report.trace.path),
            "quality": report.quality.verdict,
            "spanUs": report.trace.span_us,
        },
    }


def source_uri(file: str, root: str | None = None) -> tuple[str, bool] | None:
    """Return the URI of a file, and whether it is relative to the root.

    The root is the folder of a checkout, the working folder by default. A file outside
    it gets a ``file:`` URI. None for names that are not files, such as ``<string>`` or
    a notebook cell. Files are looked for, never opened.
    """
    path = file.replace("\\", "/")
    if not path.strip("./") or path.startswith("<") or "\0" in path:
        return None
    if drive := re.match(r"/*([A-Za-z]:)/", path):
        rest = posixpath.normpath("/" + path[drive.end() :]).lstrip("/")
        return f"file:///{drive[1]}/{_quoted(rest)}", False
    if path.startswith("//"):  # A share of another machine, which no link may open.
        return None
    folder = os.path.abspath(root or os.getcwd()).replace("\\", "/")
    if not path.startswith("/") and not os.path.isfile(posixpath.join(folder, path)):
        # Of a module, the profiler leaves out the folder of sys.path.
        path = resolve(path).replace("\\", "/")
    whole = posixpath.normpath(posixpath.join(folder, path))
    inside = folder.rstrip("/") + "/"
    if whole.startswith(inside):
        return _quoted(whole[len(inside) :]), True
    return "file://" + _quoted(whole), False


def _quoted(path: str) -> str:
    # A colon is quoted too: before the first slash it would end a scheme.
    return quote(path.encode("utf-8", "replace"), safe="/")


def _rules(findings: Iterable[Finding]) -> list[_Form]:
    rules = [
        _rule(pattern.name, pattern.side, pattern.summary, pattern.advice)
        for pattern in _core.patterns()
        if pattern.user_finding
    ]
    known = {rule["id"] for rule in rules}
    for finding in findings:  # Of the user's own rules.
        if finding.pattern not in known:
            known.add(finding.pattern)
            rules.append(
                _rule(finding.pattern, finding.side, finding.pattern, finding.advice)
            )
    return rules


def _rule(name: str, side: str, summary: str, advice: str) -> _Form:
    advice = _message(advice)
    summary = _message(summary[:1].upper() + summary[1:])
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("_")),
        "shortDescription": {"text": summary},
        "help": {"text": advice, "markdown": f"**{name}**: {summary}\n\n{advice}"},
        "properties": {"tags": ["performance", side]},
    }


def _location(finding: Finding, root: str | None) -> _Form | None:
    where = finding.location
    if where is None or (uri := source_uri(where.file, root)) is None:
        return None
    artifact = {"uri": uri[0]} | ({"uriBaseId": _ROOT} if uri[1] else {})
    place: _Form = {"artifactLocation": artifact}
    line = where.nearest_line
    if line is not None and line >= 1:
        place["region"] = {"startLine": line}
    function = {"fullyQualifiedName": printable(where.function), "kind": "function"}
    return {"physicalLocation": place, "logicalLocations": [function]}


def _result(finding: Finding, report: ReportData, location: _Form, rule: int) -> _Form:
    where = finding.location
    # Lines shift from commit to commit; functions do so less.
    parts = (
        finding.pattern,
        finding.subtype,
        where and (where.file, where.function),
        finding.operator,
    )
    place = hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()
    return {
        "ruleId": finding.pattern,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(_figures(finding, report))},
        "locations": [location],
        "partialFingerprints": {"finding/v1": finding.id, "place/v1": place[:32]},
        "properties": {
            "subtype": finding.subtype,
            "count": finding.count,
            "wastedUs": finding.wasted_us,
            "basis": finding.basis,
            "origin": finding.origin,
            "recoverableUs": finding.recoverable_us,
            "operator": printable(finding.operator),
        },
    }


def _figures(finding: Finding, report: ReportData) -> str:
    share = share_text(finding.wasted_us, report.trace.device_time_us)
    wasted = f"Wasted: {wasted_text(finding)} ({share})."
    parts = (
        simulated_text(report.trace.simulated),
        finding.message,
        wasted,
        finding.advice,
    )
    return " ".join(part for part in parts if part)


def _note(text: str, level: str, rule: int | None = None) -> _Form:
    note: _Form = {"level": level, "message": {"text": _message(text)}}
    return note if rule is None else note | {"associatedRule": {"index": rule}}


def _message(text: str) -> str:
    """Return `text` so that nothing in it is a placeholder or a link."""
    text = re.sub(r"([\\\[\]])", r"\\\1", printable(text))
    return text.replace("{", "{{").replace("}", "}}")
