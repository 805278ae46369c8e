# SPDX-License-Identifier: BSD-3-Clause
"""work_tables.py: what ran and what was lost, as tables: one list for text and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchtraceap._core import Graph, RooflineRow, Utilization
from torchtraceap.base.location import place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import headed, joined
from torchtraceap.base.units import bytes_text, share_text, three_digits, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.cells import (
    NO_CELL,
    Cell,
    Column,
    Table,
    count_cell,
    rate_cell,
    share_cell,
    size_cell,
    table_lines,
    time_cell,
)
from torchtraceap.views.heading import device_text
from torchtraceap.views.memory_text import memory_tables

_NAME, _THREAD = 44, 24  # Characters of a text that are shown there.


def work_tables(report: ReportData) -> list[Table]:
    """Return what ran, as the tables that have rows."""
    span_us = report.trace.span_us
    ordered = f", by the time they were busy; shares of {time_text(span_us)}"
    tables = (
        Table(
            "Engine steps",
            " by kind, medians",
            report.engine_kinds,
            _ENGINE_KINDS,
            legend="period: to the next step; gap: from the last device work to the "
            "first of the next step; exposed: mean time a step in which nothing of "
            "another category ran on the device.",
        ),
        Table("Kernels", ", by the time in which any ran", report.kernels, _KERNELS),
        Table("Copies and memsets", "", report.copies, _COPIES),
        Table(
            "Operators", ", by their own time on the host", report.operators, _OPERATORS
        ),
        Table(
            "Roofline",
            ", by time lost against it",
            report.roofline,
            _ROOFLINE,
            legend="efficiency: the least time by the device's data sheet over the "
            "time taken; -: no peak is known, or above 105 %, where sizes, type or "
            "peak are not those of the run.",
        ),
        Table(
            "Utilization",
            ", of operators whose work is known",
            tuple(row for row in report.utilization if row.known_share > 0),
            _UTILIZATION,
            legend="MFU: time that products, convolutions and attention would take at "
            "the peak of their types, over the time; known: share of the busy time "
            "that the other figures are of.",
        ),
        Table(
            "Collectives",
            ", of known size, by the time of their kernels",
            report.collectives,
            _COLLECTIVES,
            legend="GB/s: bus bandwidth of the median one, waiting for others in it; "
            "best: of the shortest; set_up: 16 MiB and more at a constant rate "
            "under 30 % of the link.",
        ),
        Table(
            "Graphs",
            ", by the work of their launches",
            report.graphs,
            _GRAPHS,
            legend=_graphs_legend(report),
        ),
        *memory_tables(report),
        Table("Threads", ordered, report.threads, _threads(span_us)),
        Table("Overlap with computation", "", report.overlap, _overlap(report)),
    )
    return [table for table in tables if table.rows]


def work_lines(report: ReportData) -> list[str]:
    """Return what ran as lines, of each table the ten greatest."""
    return joined((*map(table_lines, work_tables(report)), _counts(report)))


def _counts(report: ReportData) -> Iterator[str]:
    counts = report.kernel_counts
    texts = [
        f"{c.min:,} to {c.max:,} a {name}, median {c.median:,g} ({len(c.each):,} {name}"
        + ("s)" if len(c.each) != 1 else ")")
        for name, c in (("step", counts.steps), ("window", counts.windows))
        if c is not None
    ]
    if texts:
        yield headed("Kernels launched", "; ".join(texts))


# --- Columns ----------------------------------------------------------------------

_KERNELS = (
    Column("name", lambda k: Cell(k.name), _NAME),
    Column("count", lambda k: count_cell(k.count)),
    # Together they may have taken longer than the time in which any ran.
    Column("sum", lambda k: time_cell(k.total_us)),
    Column("of busy", lambda k: share_cell(k.busy_share, 1)),
    Column("mean", lambda k: time_cell(k.mean_us)),
    Column("max", lambda k: time_cell(k.max_us)),
    Column("blocks", lambda k: count_cell(k.blocks)),
    Column("threads", lambda k: count_cell(k.block_threads)),
    Column(
        "occup.",
        lambda k: (
            NO_CELL
            if k.occupancy is None
            else Cell(f"{k.occupancy:.0f} %", k.occupancy)
        ),
    ),
)
_COPIES = (
    Column(
        "kind", lambda c: Cell(f"{c.direction or 'unknown'} {c.memory}".rstrip()), _NAME
    ),
    Column("count", lambda c: count_cell(c.count)),
    Column("sum", lambda c: time_cell(c.total_us)),
    Column("mean", lambda c: time_cell(c.mean_us)),
    Column("max", lambda c: time_cell(c.max_us)),
    Column("bytes", lambda c: size_cell(c.bytes)),
    Column("median", lambda c: size_cell(c.median_bytes)),
    Column(
        "speed",
        lambda c: (
            NO_CELL
            if c.bandwidth is None
            else Cell(f"{three_digits(c.bandwidth)} GB/s", c.bandwidth)
        ),
    ),
)
_OPERATORS = (
    Column("name", lambda o: Cell(o.name), _NAME),
    Column("count", lambda o: count_cell(o.count)),
    Column("own", lambda o: time_cell(o.self_us)),
    Column("total", lambda o: time_cell(o.total_us)),
    Column("own device", lambda o: time_cell(o.self_device_us), if_any=True),
    Column("device", lambda o: time_cell(o.device_us), if_any=True),
)
# Parts of a thread's time, by their fields.
_PARTS = {
    "operators": "operators_us",
    "calls": "calls_us",
    "compile": "compile_us",
    "Python": "python_us",
    "loader": "wait_loader_us",
    "comm": "wait_comm_us",
    "sync": "wait_device_us",
    "other waits": "wait_other_us",
    "profiler": "profiler_us",
    "no event": "idle_us",
}


_ROOFLINE = (
    Column("operator", lambda r: Cell(r.name), 30),
    Column("inputs", lambda r: Cell(f"{r.inputs} {r.data_type}"), 23),
    Column("kind", lambda r: Cell(r.kind), _NAME, on_page=True),
    Column("kernel", lambda r: Cell(r.kernel), _NAME, on_page=True),
    Column("count", lambda r: count_cell(r.count)),
    Column("device", lambda r: time_cell(r.device_us)),
    Column("TFLOP/s", lambda r: rate_cell(r.tflop_s)),
    Column("GB/s", lambda r: rate_cell(r.gb_s)),
    Column("bound", lambda r: Cell(r.bound), if_any=True, on_page=True),
    Column("efficiency", lambda r: _efficiency(r)),
    Column("lost", lambda r: time_cell(r.lost_us) if r.lost_us else NO_CELL),
    Column("reason", lambda r: Cell(r.reason), if_any=True),
    Column("evidence", lambda r: Cell(r.evidence), _NAME, on_page=True),
)
_COLLECTIVES = (
    Column("collective", lambda r: Cell(r.name), _NAME),
    Column("type", lambda r: Cell(r.data_type), 12),
    Column("size", lambda r: Cell(bytes_text(r.bytes), r.bytes)),
    Column("ranks", lambda r: count_cell(r.ranks)),
    Column("count", lambda r: count_cell(r.count)),
    Column("sum", lambda r: time_cell(r.total_us)),
    Column("GB/s", lambda r: rate_cell(r.gb_s)),
    Column("best", lambda r: rate_cell(r.best_gb_s)),
    Column("of link", lambda r: _part_of(r.efficiency), if_any=True),
    Column("reason", lambda r: Cell(r.reason), if_any=True),
)
_ENGINE_KINDS = (
    Column("engine", lambda r: Cell(r.engine), 8, if_varied=True),
    Column("kind", lambda r: Cell(r.kind), 8),
    Column("exposed", lambda r: Cell(_largest(r.exposed_us)), 72),
    Column("steps", lambda r: count_cell(r.count)),
    Column("batch", lambda r: _count_if(r.batch), if_any=True),
    Column("padding", lambda r: _part_of(r.padding), if_any=True),
    Column("tokens", lambda r: _count_if(r.tokens), if_any=True, on_page=True),
    Column("period", lambda r: _time_if(r.period_us), if_any=True),
    Column("host", lambda r: time_cell(r.host_us)),
    Column("device", lambda r: time_cell(r.device_us)),
    Column("busy", lambda r: time_cell(r.busy_us)),
    Column("gap", lambda r: _time_if(r.gap_us), if_any=True),
    Column("gap is", lambda r: Cell(_largest(r.gap_parts_us)), 72, on_page=True),
    Column("draft", lambda r: _time_if(r.draft_us), if_any=True, on_page=True),
    Column("prompt waits", lambda r: count_cell(r.prompt_waits), on_page=True),
    Column("launches", lambda r: count_cell(r.launches)),
    Column("graphs", lambda r: count_cell(r.graph_launches), on_page=True),
    Column("work", lambda r: count_cell(r.work), on_page=True),
)
_GRAPHS = (
    Column("graph", lambda g: count_cell(g.number)),
    Column("launches", lambda g: count_cell(g.launches)),
    Column("nodes", lambda g: count_cell(g.nodes)),
    Column("sum", lambda g: time_cell(g.total_us)),
    Column("a launch", lambda g: time_cell(g.median_us)),
    Column("operators", lambda g: _part_of(g.captured_share), if_any=True),
    Column("batch", lambda g: count_cell(g.batch_size), if_any=True),
    Column("launched by", lambda g: Cell(_launched_by(g)), 40),
    Column(
        "nodes are",
        lambda g: Cell(_parts_text(g)) if g.parts else NO_CELL,
        60,
        if_any=True,
    ),
    Column("capture", lambda g: _capture_cell(g), 100, if_any=True),
)
_UTILIZATION = (
    Column("device", lambda r: count_cell(r.device)),
    Column("step", lambda r: _step(r), if_any=True),
    Column("time", lambda r: time_cell(r.span_us)),
    Column("busy", lambda r: time_cell(r.busy_us)),
    Column("known", lambda r: _part_of(r.known_share)),
    Column("TFLOP/s", lambda r: rate_cell(r.tflop_s)),
    Column("MFU", lambda r: _part_of(r.mfu)),
    Column("GB/s", lambda r: rate_cell(r.gb_s)),
    Column("of peak", lambda r: _part_of(r.bandwidth_share)),
    Column("tensor cores", lambda r: _part_of(r.tensor_core_share)),
)


def _launched_by(graph: Graph) -> str:
    where = place_text(graph.location, "")
    names = dict.fromkeys((where, graph.annotation, graph.operator))
    return ", ".join(filter(None, names)) or NO_CELL.text


def _parts_text(graph: Graph) -> str:
    return ", ".join(
        f"{part.name} {share_text(part.total_us, graph.total_us)}"
        for part in graph.parts
    )


def _capture_cell(graph: Graph) -> Cell:
    if not graph.joined_by:
        return Cell(graph.note) if graph.note else NO_CELL
    file = f"{graph.capture or 'this trace'} {graph.mode}".rstrip()
    return Cell(f"{file}: {graph.note}" if graph.note else file)


def _graphs_legend(report: ReportData) -> str:
    if report.core.has_captures:
        return (
            "operators: share of the work whose operator the capture tells; the tables "
            "Roofline and Utilization count it."
        )
    return (
        "The operators of these kernels are in the traces of the capture: pass their "
        "folder with --capture (analyze(capture=...)), or record the capture, too."
    )


def _step(row: Utilization) -> Cell:
    return NO_CELL if row.step is None else Cell(str(row.step), row.step)


def _largest(parts: Mapping[str, float]) -> str:
    """Return the names of parts with their times, the largest first."""
    times = sorted(parts.items(), key=lambda item: -item[1])
    known = [f"{name} {time_text(us)}" for name, us in times if us > 0]
    more = [f"{len(known) - 3} more"] if known[4:] else known[3:]
    return ", ".join(known[:3] + more)


def _count_if(value: int | None) -> Cell:
    return NO_CELL if value is None else count_cell(value)


def _time_if(value: float | None) -> Cell:
    return NO_CELL if value is None else time_cell(value)


def _part_of(value: float | None) -> Cell:
    return NO_CELL if value is None else Cell(share_text(value, 1), value)


def _efficiency(row: RooflineRow) -> Cell:
    return NO_CELL if row.efficiency is None else share_cell(row.efficiency, 1)


def _threads(span_us: float) -> list[Column]:
    def part(title: str, field: str) -> Column:
        def cell(thread: Any) -> Cell:
            us = getattr(thread, field)
            return share_cell(us, span_us) if us else NO_CELL

        return Column(title, cell, if_any=title != "busy")

    return [
        Column("name", lambda t: Cell(t.name or NO_CELL.text), _THREAD),
        Column("process", lambda t: Cell(printable(str(t.pid), 16))),
        Column("thread", lambda t: Cell(printable(str(t.tid), 16))),
        part("busy", "busy_us"),
        *(part(title, field) for title, field in _PARTS.items()),
    ]


def _overlap(report: ReportData) -> list[Column]:
    return [
        Column("device", lambda o: Cell(device_text(o, report), o.device)),
        Column("compute", lambda o: time_cell(o.compute_us)),
        Column("communication", lambda o: time_cell(o.communication_us)),
        Column(
            "hidden",
            lambda o: share_cell(o.communication_hidden_us, o.communication_us),
        ),
        Column("copies", lambda o: time_cell(o.copy_us)),
        Column("hidden", lambda o: share_cell(o.copy_hidden_us, o.copy_us)),
    ]
