# SPDX-License-Identifier: BSD-3-Clause
"""metrics.py: a report as named numbers: one table, which all destinations read.

`METRICS` is the table. A name ends in its unit, times are
seconds and shares are 0 to 1, as Prometheus wants it and charts can scale it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from torchtraceap._core import Balance
from torchtraceap.base.arguments import of_type
from torchtraceap.base.location import whole_place
from torchtraceap.base.safe_text import printable
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import device_text
from torchtraceap.views.table_columns import TABLES

OTHER = "other"  #: The label of what has none of its own, all of it together.
STEP = "step"  #: The metric that says where in a run a report is.
_LINE = "line"  # The label that nothing bounds but `lines`.
_MOST_DEVICES = 16  # As in the summary.
_WIDTH = 120  # Of a label: names in a trace have any length.
_VERDICTS = ("ok", "degraded", "unusable")

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Metric:
    """A number that a report has, or one for each device, pattern or line."""

    name: str
    unit: str  # "seconds", "ratio" or, of what is counted, "".
    help: str
    # Return the value for each of the labels; nothing where it is not known.
    read: Callable[[Any], Mapping[Labels, float | None]]
    labels: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name with its unit: ``step_seconds``."""
        return f"{self.name}_{self.unit}" if self.unit else self.name


class Value(NamedTuple):
    """A number of one report."""

    metric: Metric
    labels: Labels  # As many as the metric has.
    value: float


def values_of(report: object, lines: int = 0) -> Iterator[Value]:
    """Yield the numbers of a report, each of its patterns among them, also at 0.

    Args:
        report: What ``analyze`` returned.
        lines: How many source lines may have a value of their own; the rest together
            is `OTHER`'s. 0: none has.

    Raises TypeError if it is not a report.
    """
    if not isinstance(report, ReportData):
        raise TypeError(
            "what goes to a destination is the report of one trace (of the ranks of a "
            f"job, job.rank(n)), not {of_type(report)}"
        )
    for metric in METRICS:
        values = metric.read(report)
        if _LINE in metric.labels:
            values = _largest(values, lines) if lines else {}
        for labels, value in values.items():
            if value is not None and math.isfinite(value):
                yield Value(metric, labels, value)


def findings_table(report: ReportData) -> dict[str, list[Any]]:
    """Return the findings by column, as ``Report.to_pandas().findings`` has them."""
    return {column.name: list(column.values) for column in TABLES["findings"](report)}


def _largest(
    values: Mapping[Labels, float | None], most: int
) -> dict[Labels, float | None]:
    ranked = sorted(values.items(), key=lambda item: (-(item[1] or 0.0), item[0]))
    shown = dict(ranked[:most])
    if rest := ranked[most:]:
        shown[(OTHER,)] = sum(value or 0.0 for _, value in rest)
    return shown


# --- How the rows of a report are read ------------------------------------------------


def _one(value: float | None) -> dict[Labels, float | None]:
    return {(): value}


def _step(report: ReportData) -> dict[Labels, float | None]:
    numbers = [step.number for step in report.steps]
    return _one(max(numbers) if numbers else None)


def _step_seconds(report: ReportData) -> dict[Labels, float | None]:
    lengths = [step.end_us - step.start_us for step in report.steps]
    return _one(median(lengths) / 1e6 if lengths else None)


def _together(report: ReportData) -> dict[Labels, float | None]:
    gain = report.recovery.together
    return _one(gain.middle_us / 1e6 if gain else None)


def _of_devices(
    report: ReportData, parts: Callable[[Balance], Iterable[tuple[Labels, float]]]
) -> dict[Labels, float | None]:
    """Return parts of each device's time as shares of it."""
    spans_us: defaultdict[str, float] = defaultdict(float)
    parts_us: defaultdict[tuple[str, Labels], float] = defaultdict(float)
    for number, row in enumerate(report.balance):
        device = _device(row, report) if number < _MOST_DEVICES else OTHER
        spans_us[device] += row.span_us
        for labels, us in parts(row):
            parts_us[device, labels] += us
    return {
        (device, *labels): us / spans_us[device] if spans_us[device] else None
        for (device, labels), us in parts_us.items()
    }


def _device(row: Balance, report: ReportData) -> str:
    if row.device is None:
        whose = f"process {row.pid}" if report.trace.processes > 1 else "cpu"
        return printable(whose, _WIDTH)
    return device_text(row, report)


def _idle(row: Balance) -> Iterator[tuple[Labels, float]]:
    yield from (((name,), us) for name, us in row.idle_us.items())
    yield ("unattributed",), row.unattributed_us


def _of_patterns(
    report: ReportData, amounts: Iterable[tuple[str, float]]
) -> dict[Labels, float | None]:
    """Return the sum for each pattern that was looked for."""
    sums: dict[Labels, float | None] = {}
    for row in report.balance[:1]:
        sums.update({(name,): 0.0 for name in row.idle_us})
    for name, amount in amounts:
        sums[(name,)] = (sums.get((name,)) or 0.0) + amount
    return sums


def _recoverable(report: ReportData) -> dict[Labels, float | None]:
    gains = [(f.pattern, f.recoverable_us) for f in report.rule_findings]
    known = [(name, us / 1e6) for name, us in gains if us is not None]
    if report.recovery.refusal or (gains and not known):
        return {}
    sums = _of_patterns(report, known)
    if together := report.recovery.together:
        most = together.middle_us / 1e6  # Fixing a part gains no more than fixing all.
        return {labels: min(value or 0.0, most) for labels, value in sums.items()}
    return sums


def _lines(report: ReportData) -> dict[Labels, float | None]:
    sums: dict[Labels, float | None] = {}
    for finding in report.rule_findings:
        where = whole_place(finding.location, finding.operator, function=False)
        labels = (printable(where, _WIDTH),)
        sums[labels] = (sums.get(labels) or 0.0) + finding.wasted_us / 1e6
    return sums


#: The table.
METRICS: tuple[Metric, ...] = (
    Metric(STEP, "", "The last step that was recorded", _step),
    Metric(
        "trace",
        "seconds",
        "Length of the time that was analyzed",
        lambda report: _one(report.trace.span_us / 1e6),
    ),
    Metric(
        STEP,
        "seconds",
        "Median length of the recorded steps, with what the profiler costs in them",
        _step_seconds,
    ),
    Metric(
        "quality_level",
        "",
        "How far the trace can be trusted: 0 ok, 1 degraded, 2 unusable",
        lambda report: _one(_VERDICTS.index(report.quality.verdict)),
    ),
    Metric(
        "busy",
        "ratio",
        "Share of the time in which a device worked; without one, an operator ran",
        lambda report: _of_devices(report, lambda row: [((), row.busy_us)]),
        ("device",),
    ),
    Metric(
        "idle",
        "ratio",
        "Share of the time in which a device was idle, by the pattern that explains "
        "it; with busy_ratio it adds up to 1",
        lambda report: _of_devices(report, _idle),
        ("device", "pattern"),
    ),
    Metric(
        "excess",
        "ratio",
        "Share of the time that a pattern wastes while the device is busy, a part of "
        "busy_ratio",
        lambda report: _of_devices(
            report,
            lambda row: [((name,), us) for name, us in row.excess_us.items()],
        ),
        ("device", "pattern"),
    ),
    Metric(
        "findings",
        "",
        "Places at which a pattern was found",
        lambda report: _of_patterns(
            report, [(finding.pattern, 1) for finding in report.rule_findings]
        ),
        ("pattern",),
    ),
    Metric(
        "wasted",
        "seconds",
        "Time that the findings of a pattern cost in the analyzed time",
        lambda report: _of_patterns(
            report, [(f.pattern, f.wasted_us / 1e6) for f in report.rule_findings]
        ),
        ("pattern",),
    ),
    Metric(
        "recoverable",
        "seconds",
        "What fixing a pattern's findings would take off the analyzed time, at most; "
        "patterns share gains, so they do not add up",
        _recoverable,
        ("pattern",),
    ),
    Metric(
        "recoverable_together",
        "seconds",
        "What fixing all findings at once would take off the analyzed time, at most",
        _together,
    ),
    Metric(
        "line_wasted",
        "seconds",
        "Time that the findings at a source line cost; of the costliest lines",
        _lines,
        (_LINE,),
    ),
)
