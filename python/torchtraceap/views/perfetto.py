# SPDX-License-Identifier: BSD-3-Clause
"""perfetto.py: the trace with the report's tracks, for Perfetto.

The core, which makes the tracks, describes them; docs/reference/outputs.md is for
users.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torchtraceap._core import Finding, write_pftrace
from torchtraceap.base.files import new_file, refuse_trace
from torchtraceap.report_data import ReportData
from torchtraceap.views.json_form import members

_ARGS = (
    *("id", "pattern", "subtype", "severity", "origin", "location", "operator"),
    *("count", "wasted_us", "recoverable_us", "message", "advice"),
)


def write_perfetto(report: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the copy; see ``Report.to_perfetto``."""
    texts = [(_name(f), json.dumps(_args(f))) for f in report.rule_findings]
    with plain_copy(path, [report.trace.path]) as plain:
        report.core.write_perfetto(texts, plain)


@contextmanager
def plain_copy(path: str | os.PathLike[str], traces: Iterable[str]) -> Iterator[str]:
    """Yield the path of a file to write, which is then put in the place of ``path``,
    none of the traces that are read: packed if that ends in .gz, as Perfetto's packets
    if in .pftrace or .pftrace.gz."""
    where = os.fspath(path)
    for trace in traces:
        refuse_trace(where, trace)
    with new_file(where) as new:
        plain = new + ".plain"
        try:
            yield plain
        except ValueError as error:
            if plain not in str(error):
                raise
            raise ValueError(str(error).replace(plain, where)) from error
        if where.removesuffix(".gz").endswith(".pftrace"):
            packets = new + ".packets"
            write_pftrace(plain, packets)
            plain = packets
        _finish(plain, new, where.endswith(".gz"))


def _finish(plain: str, new: str, is_packed: bool) -> None:
    with ExitStack() as stack:
        source = stack.enter_context(open(plain, "rb"))
        # Which JSON must not begin with, whatever the trace does.
        if source.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            if not is_packed:
                os.replace(plain, new)
                return
            source.seek(0)
        out: Any = stack.enter_context(open(new, "wb"))
        if is_packed:
            # Without a name and time: the same report gives the same file.
            out = stack.enter_context(gzip.GzipFile("", "wb", 5, out, mtime=0))
        shutil.copyfileobj(source, out, 1 << 20)


def _name(finding: Finding) -> str:
    where = finding.location or finding.operator
    return f"{finding.kind}: {where}" if where else finding.kind


def _args(finding: Finding) -> dict[str, Any]:
    args = members(finding, *_ARGS)
    args["location"] = finding.location and finding.location.text
    # Readers of traces make little of a null or an empty text.
    return {key: value for key, value in args.items() if value not in (None, "")}
