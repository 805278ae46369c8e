# SPDX-License-Identifier: BSD-3-Clause
"""rows.py: the tables of a fleet's data set, and their rows of one trace.

Tables of a report keep their columns (views/table_columns.py) behind ``trace`` and
``program``; ``traces`` and ``jobs`` are of fleets alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

from torchtraceap import _core
from torchtraceap._core import JobFacts
from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.safe_text import printable, writable
from torchtraceap.data.detector_choice import OFF
from torchtraceap.fleets.items import LABELS, FleetFile, Item, id_of, sensible_time
from torchtraceap.gate.differences import median_error
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.rank_record import RankRecord, metadata_of
from torchtraceap.report import Report
from torchtraceap.views.json_form import MOST
from torchtraceap.views.table_columns import columns_of
from torchtraceap.views.tables import arrow_tables, arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

#: Tables of each report. A step's time by pattern is left out: it has a column for each
#: pattern, and they differ between versions.
OF_REPORTS = ("windows", "labels", "findings", "steps", "kernels")
TABLES = ("traces", "jobs", *OF_REPORTS)
_BY_PATTERN = ("idle_", "excess_")

# Those of the item come first; ``time`` is UTC.
_PLACE = {
    "program": "string",
    "model": "string",
    "commit": "string",
    "host": "string",
    "url": "string",
    "time": "timestamp",
    "time_from": "string",  # "trace", "name" or "file"
}
_TRACES = {
    "trace": "string",
    "job": "string",
    **_PLACE,
    "bytes": "int64",
    "rank": "int64",
    "world_size": "int64",
    "gpu": "string",
    "status": "string",  # The verdict on its quality, or "failed"
    "error_kind": "string",
    "error": "string",
    "events": "int64",
    "span_us": "float64",
    "busy_us": "float64",
    "device_us": "float64",
    "steps": "int64",
    "step_us": "float64",
    "step_error_us": "float64",
    "torchtraceap": "string",
}
_WIDTH = 1900  # Of an error.


@cache
def schemas() -> Mapping[str, pa.Schema]:
    """Return the schema of each table, without ``day``, by which it is partitioned."""
    import pyarrow as pa

    facts = [
        (column.name, arrow_type(column))
        for column in columns_of(JobFacts, [])
        if column.name not in ("source", "recording")
    ]
    made = {
        "traces": _schema(_TRACES),
        "jobs": pa.schema([("job", pa.string()), *_schema(_PLACE), *facts]),
    }
    trace = _core.load_bytes(_SMALLEST, _core.LoadOptions())
    report = plan_analysis(detector=OFF).report(trace)
    for name, table in report_tables(report).items():
        made[name] = named(table, "", "").schema
    return {name: made[name] for name in TABLES}


_SMALLEST = (
    b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,'
    b'"tid":1,"ts":1,"dur":1}]}'
)


def _schema(kinds: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    def of(kind: str) -> pa.DataType:
        return pa.timestamp("us") if kind == "timestamp" else pa.type_for_alias(kind)

    return pa.schema([(name, of(kind)) for name, kind in kinds.items()])


def report_tables(report: Report) -> dict[str, pa.Table]:
    """Return the tables of `OF_REPORTS`, still without the trace that they are of."""
    tables = arrow_tables(report, "torchtraceap.fleet")
    made = {}
    for name in OF_REPORTS:
        columns = tables[name].column_names
        if name == "steps":
            columns = [one for one in columns if not one.startswith(_BY_PATTERN)]
        made[name] = tables[name].select(columns)
    return made


def named(table: pa.Table, trace: str, program: str) -> pa.Table:
    """Return a table of a report with the trace and the program in each row."""
    import pyarrow as pa

    for column, text in (("program", program), ("trace", trace)):
        values = pa.repeat(pa.scalar(text, pa.string()), table.num_rows)
        table = table.add_column(0, column, values)
    return table


def trace_row(
    report: Report, record: RankRecord, item: Item, file: FleetFile
) -> dict[str, Any]:
    """Return the row of a trace, without its id, its job and its rank."""
    trace, facts = report.loaded, report.trace
    steps = [step.end_us - step.start_us for step in report.first_steps(MOST)]
    devices = sorted({device.name or "GPU" for device in facts.working_devices})
    told = {name: metadata_of(trace, name) for name in LABELS}
    told = {k: v for k, v in told.items() if isinstance(v, str) and v.strip()}
    place = dict(item.labels)
    place |= {k: v for k, v in told.items() if k not in item.fixed}
    if record.row.host:
        place.setdefault("host", record.row.host)
    time, time_from = _time_of(report, item, file)
    return {
        **{name: writable(printable(text, 400)) for name, text in place.items()},
        "url": writable(file.url),
        "time": time.replace(tzinfo=None),
        "time_from": time_from,
        "bytes": file.size,
        "world_size": facts.world_size,
        "gpu": ", ".join(devices) or None,
        "status": report.quality.verdict,
        "events": facts.events,
        "span_us": facts.span_us,
        "busy_us": record.row.busy_us,
        "device_us": facts.device_time_us,
        "steps": report.step_count,
        "step_us": median(steps) if steps else None,
        "step_error_us": median_error(steps),
        "torchtraceap": _core.__version__,
    }


def failed_row(item: Item, file: FleetFile, kind: str, why: str) -> dict[str, Any]:
    """Return the row of a trace that could not be analyzed."""
    time = item.name_time or item.time_of_file
    return {
        "trace": id_of(file.url),
        **{name: writable(text) for name, text in item.labels},
        "url": writable(file.url),
        "time": time.replace(tzinfo=None),
        "time_from": "file" if item.name_time is None else "name",
        "bytes": file.size,
        "status": "failed",
        "error_kind": kind,
        "error": writable(printable(why, _WIDTH)),
        "torchtraceap": _core.__version__,
    }


def job_row(job: JobReport, item: Item, rank: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a job; ``rank`` is the row of its first trace."""
    facts = {
        column.name: column.values[0] for column in columns_of(JobFacts, [job.facts])
    }
    place = {name: rank.get(name) for name in _PLACE}
    row = {"job": item.id, **place, **facts, "url": writable(item.url)}
    return {name: row[name] for name in schemas()["jobs"].names}


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows of ``traces`` or ``jobs`` as a table."""
    import pyarrow as pa

    return pa.Table.from_pylist([dict(row) for row in rows], schema=schemas()[name])


def _time_of(report: Report, item: Item, file: FleetFile) -> tuple[datetime, str]:
    """Return when a trace was recorded, and what says so: the trace, its name, or the
    time of its file."""
    base = metadata_of(report.loaded, "baseTimeNanoseconds")
    start_ns = round(report.trace.start_us * 1000)
    recorded = sensible_time(start_ns + (base if isinstance(base, int) else 0))
    if recorded is not None:
        return recorded, "trace"
    if item.name_time is not None:
        return item.name_time, "name"
    return item.time_of_file, "file"
