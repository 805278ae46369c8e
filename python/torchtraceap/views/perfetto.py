# SPDX-License-Identifier: BSD-3-Clause
"""perfetto.py: the trace with the report's tracks, for Perfetto.

What the tracks are is told in the core, where they are made; docs/outputs.md is for
users.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import shutil
from contextlib import ExitStack
from typing import Any, BinaryIO

from torchtraceap.base.files import new_file, refuse_trace
from torchtraceap.data.findings import Finding
from torchtraceap.report_data import ReportData


def write_perfetto(report: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the copy; see ``Report.to_perfetto``."""
    where = os.fspath(path)
    refuse_trace(where, report.trace.path)
    texts = [(_name(f), json.dumps(_args(f))) for f in report.rule_findings]
    with new_file(where) as new:
        plain = new + ".plain"
        try:
            report.core.write_perfetto(texts, plain)
        except ValueError as error:
            if plain not in str(error):
                raise
            raise ValueError(str(error).replace(plain, where)) from error
        _finish(plain, new, where.endswith(".gz"))


def _finish(plain: str, new: str, is_packed: bool) -> None:
    """Make of the core's copy the file that is asked for."""
    with open(plain, "rb") as source:
        # Which JSON must not begin with, whatever the trace does.
        has_mark = source.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        if has_mark or is_packed:
            if not has_mark:
                source.seek(0)
            _copy(source, new, is_packed)
            return
    os.replace(plain, new)


def _copy(source: BinaryIO, new: str, is_packed: bool) -> None:
    with ExitStack() as stack:
        out: Any = stack.enter_context(open(new, "wb"))
        if is_packed:
            # Without a name and time: the same report gives the same file.
            packed = gzip.GzipFile("", "wb", 5, out, mtime=0)
            out = stack.enter_context(packed)
        shutil.copyfileobj(source, out, 1 << 20)


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
        "origin": finding.origin,
        "location": location.text if location else "",
        "operator": finding.operator,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "recoverable_us": finding.recoverable_us,
        "message": finding.message,
        "advice": finding.advice,
    }
    # Readers of traces make little of a null or an empty text.
    return {key: value for key, value in args.items() if value not in (None, "")}
