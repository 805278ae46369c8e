# SPDX-License-Identifier: BSD-3-Clause
"""events.py: single events and windows of the trace, as a report points to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torchtraceap import _core
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.from_core import from_core


@dataclass(frozen=True)
class Event:
    """An event of the trace that takes time. Times are on the trace's clock."""

    index: int  #: Row in ``Trace.columns``.
    name: str
    start_us: float
    duration_us: float


@dataclass(frozen=True)
class Unexplained:
    """A long stretch of idle time that no pattern accounts for."""

    device: int | None  #: None: of a process in a trace without device work.
    start_us: float
    end_us: float
    during: Event | None  #: What the host was in for most of it; None: unrecorded.
    pid: int | str | None = None  #: The process, or the one that feeds the device.

    @property
    def duration_us(self) -> float:
        """Length of the stretch."""
        return self.end_us - self.start_us


@dataclass(frozen=True)
class Label:
    """A pattern that a window shows."""

    pattern: str
    side: str  #: "cpu" or "gpu": whose code has to change.
    #: Its own part of the window, 0 to 1: ``wasted_us`` as a share. Those of a window
    #: add up to at most 1.
    wasted_fraction: float
    #: Share of the window that goes with a fix of this pattern alone, 0 to 1, by
    #: replay: several fixes may save the same time, so those of a window may add up to
    #: more than 1. Where nothing could be replayed, the same as ``wasted_fraction``.
    saved_fraction: float
    #: "rule": exact; "dry-run": the same of a simulated trace; "model": the learned
    #: detector's. That claims no time, its ``wasted_us`` is 0, and its
    #: ``saved_fraction`` is a guess.
    origin: str
    wasted_us: float  #: Its own part of the window, each microsecond once.
    #: That patterns of this side cost 5 % and more; None: a rule says so.
    probability: float | None = None


@dataclass(frozen=True)
class Node:
    """An event of a window's tree: device work, or a host event that led to it."""

    index: int  #: Row in ``Trace.columns``.
    name: str
    category: str
    start_us: float
    duration_us: float
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, parents first."""
        open_nodes = [self]
        while open_nodes:
            node = open_nodes.pop()
            yield node
            open_nodes.extend(reversed(node.children))


@dataclass(frozen=True)
class Window:
    """A half-open stretch of one device's time, on the trace's clock.

    The windows of a device do not overlap and cover the analysed span. Without device
    work those of each process do, and ``device`` is None.
    """

    index: int
    start_us: float
    end_us: float
    step: int | None  #: N of the ProfilerStep#N it lies in.
    device: int | None
    pid: int | str | None  #: The process, or the one that feeds the device.
    events: int  #: Operators, annotations, calls and device work that start in it.
    busy_us: float  #: Of the device; 0 without one.
    labels: tuple[Label, ...]  #: Most wasted time first; those of the model last.
    cpu_wasted_fraction: float  #: Share wasted by patterns of the CPU side, 0 to 1.
    gpu_wasted_fraction: float  #: The same for the GPU side.
    #: That patterns of the CPU side cost 5 % and more, by the learned detector. None:
    #: it was not run, or says nothing of this window.
    cpu_probability: float | None
    #: The same for the GPU side; None also of a window without a device.
    gpu_probability: float | None
    _report: _core.Report = field(repr=False, compare=False)
    _trace: _core.Trace = field(repr=False, compare=False)

    @property
    def duration_us(self) -> float:
        """Length of the window."""
        return self.end_us - self.start_us

    @property
    def wasted_us(self) -> float:
        """Time that its labels waste together."""
        return sum(label.wasted_us for label in self.labels)

    @property
    def rule_labels(self) -> tuple[Label, ...]:
        """The labels that are exact: without those of the learned detector."""
        return tuple(label for label in self.labels if label.probability is None)

    def tree(self) -> list[Node]:
        """Return the device work that starts in the window, under what caused it.

        The roots are the outermost operators and annotations, or the work itself if
        its launch is not in the trace. Launches may lie before the window. Made anew
        at each call, at a cost of the window's work times the depth of the tree.
        """
        tree = self._report.window_tree(self.index)
        category, names = self._trace.columns["category"], _core.category_names()
        roots: list[Node] = []
        nodes: list[Node] = []
        events = read_events(self._trace, [row for row, _ in tree])
        for event, (row, parent) in zip(events, tree, strict=True):
            node = Node(category=names[int(category[row])], **vars(event))
            nodes.append(node)
            (roots if parent < 0 else nodes[parent].children).append(node)
        return roots


def read_windows(core: _core.Report, trace: _core.Trace) -> tuple[Window, ...]:
    """Convert the core's windows, labeled by rules: in order of device, then time."""
    return tuple(
        from_core(
            Window,
            row,
            trace,
            labels=tuple(
                from_core(Label, label, probability=None) for label in row.labels
            ),
            cpu_probability=None,
            gpu_probability=None,
            _report=core,
            _trace=trace,
        )
        for row in core.windows
    )


def read_events(trace: _core.Trace, rows: list[int]) -> tuple[Event, ...]:
    """Read rows of a trace. All must have a start and a duration."""
    columns = trace.columns
    starts, durations = columns["ts"], columns["dur"]
    return tuple(
        Event(
            index=row,
            name=trace.name(row),
            start_us=us_from_ns(int(starts[row])),
            duration_us=us_from_ns(int(durations[row])),
        )
        for row in rows
    )
