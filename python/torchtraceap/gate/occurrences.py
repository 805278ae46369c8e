# SPDX-License-Identifier: BSD-3-Clause
"""occurrences.py: what of the findings counts, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torchtraceap.base.location import NAME_WIDTH
from torchtraceap.base.safe_text import printable
from torchtraceap.base.source_lines import display_path, resolve
from torchtraceap.base.units import us_from_ns

if TYPE_CHECKING:
    from torchtraceap.data.findings import Finding
    from torchtraceap.report_data import ReportData


@dataclass(frozen=True)
class Cost:
    """What the occurrences of a finding cost that count."""

    finding: Finding
    count: int
    wasted_us: float


def costs(
    report: ReportData, allow: Iterable[str], over_us: float | None, pattern: str
) -> list[Cost]:
    """Return what counts of a pattern's findings, the costliest first.

    Not what is allowed; nor occurrences of which each cost less than ``over_us``. Of a
    dry run's trace each wait counts that it lists, whatever it costs.
    """
    allow = tuple(allow)
    found = []
    for index, finding in enumerate(report.rule_findings):
        if finding.pattern != pattern or is_allowed(finding, allow):
            continue
        if over_us is None:
            count = finding.count if finding.waits is None else finding.waits
            found.append(Cost(finding, count, finding.wasted_us))
            continue
        long = [us for us in _occurrences_us(report, index) if us >= over_us]
        if long:
            found.append(Cost(finding, len(long), sum(long)))
    return sorted(found, key=lambda cost: -cost.wasted_us)


def is_allowed(finding: Finding, allow: Iterable[str]) -> bool:
    """Tell whether one of the names in ``allow``, which may have wildcards, is the
    finding's: id, sub-type, operator, file, or file with line or function."""
    names = list(_names(finding))
    return any(fnmatchcase(name, wanted) for wanted in allow for name in names)


def _names(finding: Finding) -> Iterator[str]:
    yield finding.id
    if finding.subtype:
        yield finding.subtype
    if finding.operator:
        yield finding.operator
        yield finding.operator.removeprefix("aten::")
    if (where := finding.location) is not None:
        path = where.file.replace("\\", "/")
        whole = resolve(where.file)
        for file in {where.file, path, path.rpartition("/")[2], display_path(whole)}:
            yield file
            yield f"{file}:{where.line}"
            yield f"{file}:{where.recorded_line}"
            yield f"{file}:{where.function}"


def _occurrences_us(report: ReportData, index: int) -> list[float]:
    """Return what each occurrence cost: the events that prove it tell them apart."""
    spent_ns: dict[int, int] = {}
    for claim in report.core.findings[index].claims:
        before = spent_ns.get(claim.evidence, 0)
        spent_ns[claim.evidence] = before + claim.end - claim.begin
    return [us_from_ns(ns) for ns in spent_ns.values()]


def place_of(finding: Finding) -> str:
    """Return where a finding is: ``train.py:88`` whole, so that editors can go there,
    else its operator."""
    if finding.location is not None:
        return printable(str(finding.location))
    return printable(finding.operator, NAME_WIDTH) or "(no single place)"
