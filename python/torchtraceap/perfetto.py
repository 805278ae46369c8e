# SPDX-License-Identifier: BSD-3-Clause
"""perfetto.py: a copy of the trace that shows the report's findings as tracks.

``cpp/pipeline/label_tracks.h`` tells what the tracks are; docs/perfetto.md is for
users.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchtraceap.findings import Finding
    from torchtraceap.report import Report


def write_perfetto(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the copy; see ``Report.to_perfetto``."""
    where = os.fspath(path)
    both = os.path.exists(where) and os.path.exists(report.trace.path)
    if both and os.path.samefile(where, report.trace.path):
        raise ValueError(f"{where} is the trace itself; give another file")
    texts = [(_name(f), json.dumps(_args(f))) for f in report.findings]
    if not where.endswith(".gz"):
        report._core.write_perfetto(texts, where)
        return
    plain = where + ".plain"
    try:
        report._core.write_perfetto(texts, plain)
        _compress(plain, where)
    finally:
        if os.path.exists(plain):
            os.remove(plain)


def _compress(plain: str, path: str) -> None:
    import gzip
    import shutil

    part = path + ".part"
    try:
        # Without a name and time: the same report gives the same file.
        with (
            open(plain, "rb") as source,
            open(part, "wb") as raw,
            gzip.GzipFile("", "wb", 5, raw, mtime=0) as file,
        ):
            shutil.copyfileobj(source, file, 1 << 20)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _name(finding: Finding) -> str:
    where = finding.location or finding.operator
    return f"{finding.kind}: {where}" if where else finding.kind


def _args(finding: Finding) -> dict[str, Any]:
    location = finding.location
    args = {
        "id": finding.id,
        "pattern": finding.pattern,
        "subtype": finding.subtype,
        "severity": finding.severity,
        "location": f"{location} {location.function}" if location else "",
        "operator": finding.operator,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "recoverable_us": finding.recoverable_us,
        "message": finding.message,
        "advice": finding.advice,
    }
    # Readers of traces make little of a null or an empty text.
    return {key: value for key, value in args.items() if value not in (None, "")}
