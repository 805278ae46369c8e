# SPDX-License-Identifier: BSD-3-Clause
"""heading.py: the head of a summary: the trace, its quality, where the time went.

The page and Markdown use parts of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from torchtraceap._core import (
    Balance,
    CriticalPath,
    Memory,
    Note,
    Overlap,
    Simulated,
    Stage,
    TraceFacts,
    Window,
)
from torchtraceap.base.location import NAME_WIDTH, place_text
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import Line, headed, marked, wrapped
from torchtraceap.base.units import counted, share_text, time_text
from torchtraceap.report_data import ReportData

_MOST_DEVICES = 16  # The largest machines that one process feeds.
# Warnings shown with any verdict: they state what the figures describe.
_ALWAYS_SAID = {
    "filtered",
    "graph_launches_few_kernels",
    "launches_after_recording",
    "launches_without_work",
    "merged_devices",
    "outlier_times",
    "several_processes",
    "work_overruns",
    "work_without_launch",
}
# Stages of the story that add to the lines above them.
_STORY = {
    "limit": "Limit",
    "work": "Busy with",
    "overlap": "Overlap",
    "gain": "What matters most",
}
_NOTABLE = 0.01  # Of a critical path: kinds of time and places below are left out.
_MOST_PLACES = 3


def device_text(row: Balance | Memory | Overlap | Window, report: ReportData) -> str:
    """Write a device's number, in a file of several ranks with its process: ``0``,
    ``0 of process 4242``.
    """
    if row.device not in report.numbers_alike:
        return str(row.device)
    whose = "an unknown process" if row.pid is None else f"process {row.pid}"
    return f"{row.device} of {printable(whose, NAME_WIDTH)}"


def whose_text(row: Balance | Window, report: ReportData) -> str:
    """Write whose time a row is: ``Device 0``, ``Process 7``, ``CPU``."""
    if row.device is not None:
        return f"Device {device_text(row, report)}"
    return f"Process {row.pid}" if report.trace.processes > 1 else "CPU"


def heading_lines(report: ReportData) -> Iterator[str]:
    """Yield the trace's facts, its quality, its balance and its story."""
    trace = report.trace
    yield marked(printable(trace.path), "title")
    yield from wrapped(", ".join(fact_texts(report)), "  ")
    yield from wrapped(simulated_text(trace.simulated), "  ")
    yield from _quality(report)
    for row in report.balance[:_MOST_DEVICES]:
        if row.device is None:
            line = _host_balance(row, several=trace.processes > 1)
        else:
            line = _balance(row, device_text(row, report), report.quality.incomplete)
        yield from wrapped(line, "  ")
    if more := report.balance[_MOST_DEVICES:]:
        what = (
            ("more process", "more processes") if trace.processes else ("more device",)
        )
        yield f"and {counted(len(more), *what)} in report.balance"
    yield from _story(report.story)


def fact_texts(report: ReportData) -> list[str]:
    """Write the trace's facts: events, time, steps, rank, devices, processes."""
    trace = report.trace
    parts = [counted(trace.events, "event"), time_text(trace.span_us)]
    if report.steps:
        parts.append(counted(len(report.steps), "step"))
    if trace.rank is not None and (trace.world_size or 0) > 1:
        parts.append(f"rank {trace.rank} of {trace.world_size}")
    parts.append(_devices(trace, "loaded" if report.is_part else "recorded"))
    if trace.processes > 1:
        parts.append(counted(trace.processes, "process", "processes"))
    return parts


def simulated_text(assumed: Simulated | None) -> str:
    """State that times are simulated, and the assumptions; "" for a recording."""
    if assumed is None:
        return ""
    gpu = printable(assumed.gpu, NAME_WIDTH) or "an unnamed GPU"
    host = "host time"
    if assumed.host_us_per_op is not None:
        host = f"{time_text(assumed.host_us_per_op)} of host time"
    return (
        f"No time here was measured: a dry run simulated it, assuming {host} for each "
        f"operator and estimated kernel times for {gpu}."
    )


def _story(story: Sequence[Stage]) -> Iterator[str]:
    """Write the stages that add to the balance, in at most six lines."""
    for stage in story:
        if stage.id not in _STORY or not stage.known:
            continue
        # Below 3 % of the time, an exposed copy is not worth a mention.
        if stage.id == "overlap" and stage.severity in (None, "low"):
            continue
        text = headed(_STORY[stage.id], _lowered(printable(stage.answer)))
        yield from wrapped(text, "  ")


def _lowered(answer: str) -> str:
    """Begin with a small letter, unless the first word is a name or an acronym."""
    first = answer.partition(" ")[0]
    return answer[:1].lower() + answer[1:] if first.istitle() else answer


def said_notes(report: ReportData) -> list[Note]:
    """Return the warnings to show although they do not change the verdict."""
    work = sum(device.events for device in report.trace.devices)
    return [
        note
        for note in report.quality.warnings
        if note.verdict == "ok"
        and (
            note.kind in _ALWAYS_SAID
            or (note.kind == "work_without_id" and note.count * 2 > work)
        )
    ]


def _quality(report: ReportData) -> Iterator[str]:
    quality, said = report.quality, said_notes(report)
    if quality.verdict == "ok":
        for note in said:
            yield from wrapped(headed("Note", printable(note.detail)), "  ")
        return
    yield marked(f"Quality: {quality.verdict}", quality.verdict)
    for note in (*quality.reasons, *said):
        yield from wrapped(f"- {printable(note.detail)}", "  ")
    rate = quality.linking_rate
    if rate is not None and rate < 1:
        text = f"The launch is known for {share_text(rate, 1)} of the device events."
        yield from wrapped(f"- {text}", "  ")


def _devices(trace: TraceFacts, verb: str) -> str:
    working = trace.working_devices
    if not working:
        listed = counted(len(trace.devices), "device")
        return f"{listed} listed, no work {verb}" if trace.devices else "CPU only"
    # A trace may list the machine's devices by other numbers than its work has.
    names = {d.name for d in working if d.name} or {d.name for d in trace.devices}
    text = " and ".join(sorted(names - {""})) or "device without a name"
    text = printable(text, NAME_WIDTH)
    return text if len(working) == 1 else f"{len(working)} × {text}"


def _balance(row: Balance, device: str, incomplete: bool) -> Line:
    idle = [*_shares(row.idle_us, row.span_us), _unattributed(row)]
    # Work missing from the trace may have filled any gap.
    least, most = (" at least", " at most,") if incomplete else ("", "")
    text = (
        f"busy{least} {share_text(row.busy_us, row.span_us)} "
        f"({time_text(row.busy_us)} of {time_text(row.span_us)}); "
        f"idle{most} by cause: {', '.join(idle)}"
    )
    if excess := _shares(row.excess_us, row.span_us):
        text += f"; wasted while busy: {', '.join(excess)}"
    return headed(f"Device {device}", text)


def _host_balance(row: Balance, several: bool) -> Line:
    of = f" of process {printable(str(row.pid), NAME_WIDTH)}" if several else ""
    times = {**row.idle_us, "operators": row.busy_us}
    shares = [*_shares(times, row.span_us), _unattributed(row)]
    return headed(f"CPU{of}", f"{', '.join(shares)} (of {time_text(row.span_us)})")


def _shares(times: Mapping[str, float], whole_us: float) -> list[str]:
    return [f"{name} {share_text(us, whole_us)}" for name, us in most_first(times)]


def most_first(times: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return the nonzero times, largest first."""
    there = [(name, us) for name, us in times.items() if us > 0]
    return sorted(there, key=lambda item: (-item[1], item[0]))


def _unattributed(row: Balance) -> str:
    return f"unattributed {share_text(row.unattributed_us, row.span_us)}"


def kinds_text(by_category: Mapping[str, float]) -> str:
    """Write a path's kinds of time, largest first: ``host 61.0 %, compute 38.2 %``."""
    whole = sum(by_category.values())
    return ", ".join(
        f"{name.replace('_', ' ')} {share_text(us, whole)}"
        for name, us in most_first(by_category)
        if us >= _NOTABLE * whole
    )


def path_line(path: CriticalPath) -> str:
    """Write the path of the whole trace, with the places where it is longest."""
    kinds = kinds_text(path.by_category) or "nothing"
    text = f"Critical path, the chain of work that sets the trace's length: {kinds}"
    places = [
        f"{place.strip()} ({time_text(p.us)})"
        for p in path.places
        if p.us >= _NOTABLE * path.span_us and (place := place_text(p.location, p.name))
    ][:_MOST_PLACES]
    return text + (f"; longest at {', '.join(places)}." if places else ".")
