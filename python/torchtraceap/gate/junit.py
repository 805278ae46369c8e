# SPDX-License-Identifier: BSD-3-Clause
"""junit.py: checks as JUnit XML: a suite a trace, a test case a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from torchtraceap.gate.occurrences import place_of
from torchtraceap.safe_text import printable
from torchtraceap.units import time_text

if TYPE_CHECKING:
    from torchtraceap.gate.checked import Checked, Line

_FINDINGS = 50  # Listed of one limit.


def junit_xml(checks: Sequence[Checked]) -> str:
    """Return the XML. `printable` leaves no character in it that XML 1.0 forbids.

    A limit of which nothing can be told is a failure, or skipped if it may pass.
    """
    suites = Element("testsuites", name="torchtraceap")
    for checked in checks:
        path = printable(checked.report.trace.path)
        suite = SubElement(suites, "testsuite", name=path)
        for line in checked.lines:
            _case(suite, path, line)
        _count(suite)
    _count(suites)
    indent(suites)
    text = tostring(suites, encoding="unicode")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text


def _case(suite: Element, path: str, line: Line) -> None:
    case = SubElement(suite, "testcase", classname=path, name=printable(line.title))
    if not line.violations:
        return
    where = next((v.location for v in line.violations if v.location), None)
    if where is not None:
        case.set("file", printable(where.file))
        case.set("line", str(where.line))
    first = line.violations[0].message
    if line.passes:
        SubElement(case, "skipped", message=first)
        return
    failure = SubElement(case, "failure", message=first, type=line.limit)
    told = []
    for violation in line.violations:
        told.append(violation.message)
        told += [
            f"  {place_of(finding)}: {printable(finding.kind)} ×{finding.count}, "
            f"{time_text(finding.wasted_us)}"
            for finding in violation.findings[:_FINDINGS]
        ]
    failure.text = "\n".join(told)


def _count(element: Element) -> None:
    for name, tag in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("skipped", "skipped"),
    ):
        element.set(name, str(len(list(element.iter(tag)))))
    element.set("errors", "0")
