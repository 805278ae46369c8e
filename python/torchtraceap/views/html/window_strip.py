# SPDX-License-Identifier: BSD-3-Clause
"""window_strip.py: the windows as a strip, each filled by the share that it lost.

Below the row of rules is one of the learned detector, where that ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchtraceap._core import Window
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import share_text, time_text
from torchtraceap.detection.detection import SIDES, Detection
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import whose_text
from torchtraceap.views.html.balance_bars import MOST_ROWS
from torchtraceap.views.html.colors import family

# Of a lane, and of all lanes together; more windows than that share cells.
_MOST_CELLS, _MOST_TOGETHER = 300, 900
HEIGHT, MODEL_HEIGHT = 36, 16  # Of a lane of rules, of the model, in pixels.


class Block(NamedTuple):
    """One label's part of a cell, in pixels from the top of its lane."""

    color: str
    y: float
    height: float


class Cell(NamedTuple):
    """A window, or some that follow one another."""

    first: int  # Index of the first window, and of the last.
    last: int
    x: float  # In percent of the analyzed time.
    width: float
    title: str
    blocks: tuple[Block, ...]
    differs: bool = False  # Of the model's row: rules say otherwise.


class Lane(NamedTuple):
    """The windows of one device or process, as rules or as the model see them."""

    title: str
    cells: tuple[Cell, ...]
    label: str  # For those who do not see it.
    height: int = HEIGHT
    by_model: bool = False


def window_strip(report: ReportData) -> list[Lane]:
    """Return a lane for each of the first devices or processes, and after it that of
    the model."""
    lanes: dict[tuple[object, ...], list[Window]] = {}
    for window in report.windows:
        lanes.setdefault((window.device, window.pid), []).append(window)
    shown = list(lanes.values())[:MOST_ROWS]
    most = min(_MOST_CELLS, _MOST_TOGETHER // max(1, len(shown)))
    made = []
    for windows in shown:
        title = whose_text(windows[0], report)
        cells = tuple(_cells(report, windows, most))
        label = f"Windows of {title}, filled by the share of their time that was lost"
        asked = report.detection.run
        made.append(Lane(title + ", rules" * asked, cells, label))
        if asked:
            made.append(_model_lane(report.detection, title, cells))
    return made


def _model_lane(detection: Detection, title: str, cells: Sequence[Cell]) -> Lane:
    """Return the same cells as the model sees them: filled by the share of their
    windows that are flagged, in the colors of the patterns it takes them for."""
    return Lane(
        "detector",
        tuple(_model_cell(detection, cell) for cell in cells),
        f"Windows of {title} that the learned detector flags",
        MODEL_HEIGHT,
        by_model=True,
    )


def _model_cell(detection: Detection, cell: Cell) -> Cell:
    group = range(cell.first, cell.last + 1)
    found: Counter[str] = Counter()
    for window in group:
        own = detection.flagged[window] & detection.judged[window]
        sides = [side for side in (0, 1) if own[side]]
        if sides:
            side = max(sides, key=lambda side: detection.probability[window, side])
            found[detection.guessed(window, side)] += 1
    ordered = [(name, float(count)) for name, count in found.most_common()]
    differs = int(detection.differs[group.start : group.stop].any(axis=1).sum())
    return cell._replace(
        title=_model_title(detection, group, ordered, differs),
        blocks=tuple(_blocks(ordered, len(group), MODEL_HEIGHT)),
        differs=differs > 0,
    )


def _model_title(
    detection: Detection,
    group: range,
    found: Sequence[tuple[str, float]],
    differs: int,
) -> str:
    told = [
        [
            p
            for w in group
            if detection.judged[w, side] and (p := detection.told(w, side)) is not None
        ]
        for side in (0, 1)
    ]
    upto = "up to " if len(group) > 1 else ""
    parts = [
        f"{side.upper()} {upto}{share_text(max(values), 1)}"
        for side, values in zip(SIDES, told, strict=True)
        if values
    ]
    if not detection.judged[group.start : group.stop].any():
        parts.append("follows the rules: unlike its training data")
    parts += [
        f"taken for {printable(name)}" + (f" ×{count:g}" if len(group) > 1 else "")
        for name, count in found
    ]
    if differs:
        of = f" of {differs}" if len(group) > 1 else ""
        parts.append(f"rules say otherwise{of}")
    which = _numbers(group.start, group.stop - 1)
    return f"{which}, by the detector: " + ", ".join(parts)


def _cells(report: ReportData, windows: Sequence[Window], most: int) -> Iterator[Cell]:
    start_us, span_us = report.trace.start_us, report.trace.span_us
    if span_us <= 0:
        return
    together = -(-len(windows) // most)
    for i in range(0, len(windows), together):
        group = windows[i : i + together]
        begin_us, end_us = group[0].start_us, group[-1].end_us
        lost: dict[str, float] = {}
        for label in (label for window in group for label in window.rule_labels):
            lost[label.pattern] = lost.get(label.pattern, 0.0) + label.wasted_us
        ordered = sorted(lost.items(), key=lambda item: (-item[1], item[0]))
        length_us = end_us - begin_us
        yield Cell(
            first=group[0].index,
            last=group[-1].index,
            x=100 * (begin_us - start_us) / span_us,
            width=100 * length_us / span_us,
            title=_cell_title(group, begin_us - start_us, length_us, ordered),
            blocks=tuple(_blocks(ordered, length_us)),
        )


def _blocks(
    lost: Sequence[tuple[str, float]], length_us: float, height_px: int = HEIGHT
) -> Iterator[Block]:
    bottom = float(height_px)
    for pattern, us in lost:
        # A sliver that cannot be seen says nothing; the title has it.
        height = min(height_px * us / length_us, bottom) if length_us > 0 else 0
        if height >= 0.5:
            bottom -= height
            yield Block(family(pattern), bottom, height)


def _cell_title(
    group: Sequence[Window],
    from_us: float,
    length_us: float,
    lost: Sequence[tuple[str, float]],
) -> str:
    first, last = group[0], group[-1]
    which = _numbers(first.index, last.index)
    parts = [f"{which}, +{time_text(from_us)}, {time_text(length_us)} long"]
    if first.step is not None and first.step == last.step:
        parts.append(f"step {first.step}")
    parts += [f"{printable(n)} {share_text(us, length_us)}" for n, us in lost]
    return ", ".join(parts if lost else [*parts, "nothing lost"])


def _numbers(first: int, last: int) -> str:
    return f"Window {first}" if first == last else f"Windows {first} to {last}"
