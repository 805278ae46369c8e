# SPDX-License-Identifier: BSD-3-Clause
"""stretches.py: windows as people read them, neighbors with the same labels as one.

Windows are short, as rules and models see more in short ones. A list of those in which
a fix saves most would name the same cause again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from torchtraceap._core import Label, Window
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.cells import (
    NO_CELL,
    Cell,
    Column,
    Table,
    count_cell,
    share_cell,
    time_cell,
)
from torchtraceap.views.heading import device_text

_LABELS = 400  # Characters of a window's labels in plain text.


@dataclass(frozen=True)
class Stretch:
    """Windows of one device or process and one step that follow one another."""

    windows: tuple[Window, ...]
    judged: bool  #: The learned detector judged one, rather than follow the rules.

    @property
    def first(self) -> Window:
        """The first of them."""
        return self.windows[0]

    @property
    def name(self) -> str:
        """The numbers of the windows."""
        first, last = self.first.index, self.windows[-1].index
        return str(first) if first == last else f"{first}-{last}"

    @property
    def duration_us(self) -> float:
        """Length of all together."""
        return self.windows[-1].end_us - self.first.start_us

    @property
    def busy_us(self) -> float:
        """Time in which the device was busy."""
        return sum(window.busy_us for window in self.windows)

    @property
    def saved_us(self) -> float:
        """The most time that a fix of one of the labels saves."""
        return self.labels[0][1] * self.duration_us if self.labels else 0.0

    @property
    def flagged(self) -> str:
        """How many of the windows the learned detector flags: "3 of 4"; "-": it says
        nothing of its own."""
        if not self.judged:
            return "-"
        count = sum(
            any(label.probability is not None for label in window.labels)
            for window in self.windows
        )
        return f"{count} of {len(self.windows)}"

    @property
    def labels(self) -> list[tuple[Label, float]]:
        """The labels of the first window, by rules, with the share of the stretch that
        goes with a fix of each; most first."""
        shares: dict[tuple[str, str], float] = {}
        for window in self.windows:
            for label in window.rule_labels:
                key = (label.pattern, label.origin)
                length = label.saved_fraction * window.duration_us
                shares[key] = shares.get(key, 0.0) + length / self.duration_us
        of = {(label.pattern, label.origin): label for label in self.first.rule_labels}
        ordered = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
        return [(of[key], share) for key, share in ordered]


def labeled_stretches(report: ReportData) -> list[Stretch]:
    """Return the windows that rules label in stretches of the same labels, those first
    of which a fix saves most time."""
    judged = report.detection.judged  # Of no window if it was not run.

    def made(windows: tuple[Window, ...]) -> Stretch:
        rows = judged[[window.index for window in windows]] if len(judged) else judged
        return Stretch(windows, bool(rows.any()))

    stretches = [
        made(tuple(group)) for key, group in groupby(report.windows, _alike) if key[-1]
    ]
    return sorted(stretches, key=lambda stretch: -stretch.saved_us)


def _alike(window: Window) -> tuple[object, ...]:
    labels = frozenset((label.pattern, label.origin) for label in window.rule_labels)
    return (window.device, window.pid, window.step, labels)


def ranges_text(numbers: Sequence[int], most: int) -> str:
    """Return ascending numbers as text, "0-3, 7", with at most ``most`` ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    told = [str(a) if a == b else f"{a}-{b}" for a, b in ranges[:most]]
    left = sum(b - a + 1 for a, b in ranges[most:])
    return ", ".join(told) + (f" and {left:,} more" if left else "")


def window_table(report: ReportData) -> Table:
    """Return the windows with labels of rules."""
    stretches = labeled_stretches(report)
    labeled = sum(len(stretch.windows) for stretch in stretches)
    return Table(
        "Windows, largest saving first, similar neighbors merged",
        "",
        stretches,
        _windows(report),
        f"{labeled} of {len(report.windows)} labeled",
    )


def _windows(report: ReportData) -> list[Column]:
    start_us = report.trace.start_us

    def start(stretch: Stretch) -> Cell:
        us = stretch.first.start_us - start_us
        return Cell("+" + time_text(us), us)

    def whose(stretch: Stretch) -> Cell:
        window = stretch.first
        if report.trace.processes > 1:
            return Cell(printable(str(window.pid), 16))
        return (
            NO_CELL
            if window.device is None
            else Cell(device_text(window, report), window.device)
        )

    def busy(stretch: Stretch) -> Cell:
        if stretch.first.device is None:
            return NO_CELL
        return share_cell(stretch.busy_us, stretch.duration_us)

    def labels(stretch: Stretch) -> Cell:
        return Cell(
            ", ".join(f"{x.pattern} {share_text(s, 1)}" for x, s in stretch.labels)
        )

    columns = [
        Column("#", lambda s: Cell(s.name, s.first.index)),
        Column("from", start),
        Column("length", lambda s: time_cell(s.duration_us)),
        Column("step", lambda s: count_cell(s.first.step)),
        Column("process" if report.trace.processes > 1 else "device", whose),
        Column("busy", busy),
        Column("saving", lambda s: share_cell(s.saved_us, s.duration_us), on_page=True),
    ]
    if report.detection.run:
        # How many of the windows it flags.
        columns.append(Column("detector", lambda s: Cell(s.flagged)))
    title = "labels (saving if fixed alone)"
    return [*columns, Column(title, labels, _LABELS)]
