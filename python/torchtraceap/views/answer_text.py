# SPDX-License-Identifier: BSD-3-Clause
"""answer_text.py: the first screen: what is slow, where, what to do, what it gains.

Places that leave no room beside the figures have lines of their own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchtraceap._core import AnswerRow, Finding, JobAnswerRow, Location
from torchtraceap.base.location import called
from torchtraceap.base.safe_text import printable
from torchtraceap.base.text_table import Line, align, headed, marked, wrapped
from torchtraceap.base.units import counted, share_text
from torchtraceap.report_data import ReportData
from torchtraceap.views.heading import fact_texts, simulated_text

WIDTH = 100  # Where the terminal's is unknown, as in a pipe; of paragraphs at most.
_WHOLE = 50  # Columns: with fewer a place is not shortened any further.
MORE = "--full, --html FILE, torchtraceap explain TRACE"  # In the program.
_SENTENCE = 80  # A place in the verdict.
_NAME = 60  # A function, an operator or a file's name.


def screen_width() -> int:
    """Return the columns of the terminal on standard output; 100 without one."""
    try:
        watched = sys.stdout.isatty()
    except (AttributeError, ValueError):  # None, a stand-in, or closed.
        watched = False
    return max(40, shutil.get_terminal_size((WIDTH, 24)).columns) if watched else WIDTH


def answer_lines(report: ReportData, width: int = WIDTH, more: str = MORE) -> list[str]:
    """Return the first screen of a report: some ten lines of that width at most, except
    for places that are longer. ``more``: how to see the rest."""
    room = min(width, WIDTH)
    rows = report.answer.rows
    lines = [
        marked(printable(report.trace.path), "title"),
        *wrapped(", ".join(_facts(report)), "", width=room),
        *wrapped(simulated_text(report.trace.simulated), "", width=room),
    ]
    for sentence in verdict_texts(report):
        lines += wrapped(marked(sentence, "heading"), "", width=room)
    if rows:
        lines += ["", *_table(report, width), ""]
    notes = [*_notes(report), _more(report, more)]
    return lines + [part for line in notes for part in wrapped(line, "", width=room)]


def answer_line(report: ReportData) -> str:
    """Return the verdict in one line."""
    return f"{printable(report.trace.path)}: {' '.join(verdict_texts(report))}"


def _facts(report: ReportData) -> list[str]:
    facts = fact_texts(report)
    busy = report.answer.busy_fraction
    if report.trace.working_devices and busy is not None:
        least = "at least " if report.quality.incomplete else ""
        of = len(report.trace.working_devices)
        mean = f" (mean of {of} devices)" if of > 1 else ""
        facts.append(f"busy {least}{share_text(busy, 1)}{mean}")
    left_out = (x.count for x in report.quality.warnings if x.kind == "filtered")
    return facts + [f"{counted(count, 'event')} left out" for count in left_out]


def verdict_texts(report: ReportData) -> Iterator[str]:
    """Yield one or two sentences: the first row in words, or where the time goes."""
    rows = report.answer.rows
    if not rows:
        yield printable(report.answer.otherwise)
        return
    row = rows[0]
    cost = observed_of(row).replace("≤", "up to") + " of the time"
    place = place_of(report, row)
    where = _joined(_cut(place.frames, _SENTENCE - len(place.more)))
    if where and place.others:
        where += f" and {counted(place.others, 'other place')}"
    yield f"{printable(row.problem)}, {cost}{f', at {where}' if where else ''}."
    saves = f"A fix saves {gain_of(row)}."
    if not row.high_fraction:
        known = row.high_fraction is not None
        saves = "By itself it gains nothing." if known else "The gain is not known."
    yield f"{printable(row.fix)}. {saves}"


def observed_of(row: AnswerRow) -> str:
    """Write how much of the time was observed; of an estimate its bound."""
    most = "≤ " if row.basis == "estimate" else ""
    return most + share_text(row.observed_fraction, 1)


def gain_of(row: AnswerRow | JobAnswerRow) -> str:
    """Write what a fix saves: ``30 % (17 to 36)``; "-" if that is not known."""
    if row.middle_fraction is None:
        return "-"
    return shares_text(row.low_fraction, row.middle_fraction, row.high_fraction)


def shares_text(low: float | None, middle: float, high: float | None) -> str:
    """Write a gain in shares likewise; without a range, that it was seen once."""
    if low is None or high is None:
        return f"{_percent(middle)} % (seen once)" if middle else "0 %"
    if not high:
        return "0 %"
    return f"{_percent(middle)} % ({_percent(low)} to {_percent(high)})"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.5 or percent < 0.05 else f"{percent:.1f}"


def _table(report: ReportData, width: int) -> list[str]:
    heads = ("observed", "a fix saves", "pattern", "where")
    rows = [
        (
            observed_of(row),
            gain_of(row),
            marked(kind_of(row), report.rule_findings[row.findings[0]].severity),
        )
        for row in report.answer.rows
    ]
    places = [place_of(report, row) for row in report.answer.rows]
    left = align([heads[:3], *rows], right=(0,), indent="  ")
    room = width - max(map(len, left)) - 2
    fitted = [place.text(room) for place in places]
    short = [text if len(text) <= room else "" for text in fitted]
    cells = [heads if any(short) else (*heads[:3], "")]
    cells += [(*row, text) for row, text in zip(rows, short, strict=True)]
    head, *lines = align(cells, right=(0,), indent="  ")
    out = [head]
    for line, text, place in zip(lines, short, places, strict=True):
        out += [line] if text else [line, f"      {place.text(width - 6)}"]
    return out


def kind_of(row: AnswerRow) -> str:
    """Write the pattern and its sub-type."""
    return f"{row.pattern} ({row.subtype})" if row.subtype else row.pattern


class Place(NamedTuple):
    """Where to begin with a row."""

    #: The user's own before the library's: "train.py:3 in step()"; or an operator.
    frames: tuple[str, ...]
    others: int  #: Places of the row beside it.

    @property
    def more(self) -> str:
        """The others as a table has them."""
        return f" (+{self.others})" if self.frames and self.others else ""

    def text(self, room: int | None = None) -> str:
        """Write it, cut to ``room`` columns; None: whole."""
        if not self.frames:
            return "(no source line)"
        frames = self.frames
        if room is not None:
            frames = _cut(frames, room - len(self.more))
        return _joined(frames) + self.more


def place_of(report: ReportData, row: AnswerRow) -> Place:
    """Return the place to begin with: the first finding that has one."""
    every = [report.rule_findings[i] for i in row.findings]
    placed = next((f for f in every if f.location is not None), every[0])
    return Place(_frames(placed), len(every) - 1)


def _frames(finding: Finding) -> tuple[str, ...]:
    where, deepest = finding.location, finding.deepest
    if where is None:
        operator = printable(finding.operator, _NAME)
        return (operator,) if operator else ()
    if deepest is None:
        return (_frame(where),)
    return _frame(where), _frame(deepest, folders=deepest.file != where.file)


def _frame(where: Location, *, folders: bool = True) -> str:
    file = where.file if folders else where.file.rpartition("/")[2]
    text = printable(file, 400) + ("" if where.line is None else f":{where.line}")
    if where.function == "<module>" and where.line is not None:
        return text
    return f"{text} in {printable(called(where.function), _NAME)}"


def _joined(frames: Sequence[str]) -> str:
    return " > ".join(frames)


def _cut(frames: Sequence[str], room: int) -> tuple[str, ...]:
    """Leave out folders from the left of each path until the frames fit, then what is
    behind the first one: a file and its function stay whole."""
    kept = list(frames)
    while len(_joined(kept)) > room:
        longest = max(kept, key=lambda frame: frame.count("/"))
        if "/" in longest:
            kept[kept.index(longest)] = longest.partition("/")[2]
        elif kept[1:] and room >= _WHOLE:
            kept.pop()
        else:
            break
    return tuple(kept)


def together_text(report: ReportData) -> str:
    """Write what fixing all findings saves; "" if that is nothing, or not known."""
    gain, span = report.recovery.together, report.trace.span_us
    if gain is None or not gain.high_us:
        return ""
    shares = (us / span for us in (gain.low_us, gain.middle_us, gain.high_us))
    return shares_text(*shares)


def _is_judged(report: ReportData) -> bool:
    """Tell whether so much was recorded that the rules' silence says something."""
    return any(stage.id == "gain" and stage.known for stage in report.story)


def _notes(report: ReportData) -> Iterator[str]:
    quality, answer = report.quality, report.answer
    if answer.memory:
        yield headed("Memory", printable(answer.memory, 600))
    if answer.steps:
        yield printable(answer.steps, 400)
    if quality.verdict != "ok":
        more = f" ({len(quality.reasons) - 1} more)" if quality.reasons[1:] else ""
        reason = printable(quality.reasons[0].detail) if quality.reasons else ""
        yield Line(
            (f"Recording {quality.verdict}:", quality.verdict), (f" {reason}{more}", "")
        )
    elif not answer.rows and _is_judged(report) and report.detection.run:
        counts = report.detection.counts
        if silent := counts.flagged - counts.with_rules:
            yield (
                f"The learned detector flags {counted(silent, 'window')} in which the "
                "rules find little."
            )
    if len(answer.rows) > 1 and (saved := together_text(report)):
        yield f"All findings fixed together: {saved} saved."
    if any(_saves_more(row) for row in answer.rows):
        yield "A fix may save more than was observed: later work comes earlier, too."
    if answer.kernels:
        yield printable(answer.kernels)
    if answer.rows and report.recovery.refusal:
        why = f"a replay would mislead: {report.recovery.refusal}."
        yield headed("No gains", why)
    elif answer.caveat:
        yield printable(answer.caveat)


def _saves_more(row: AnswerRow) -> bool:
    """Tell whether a reader would wonder at a saving above what was observed."""
    return (row.middle_fraction or 0.0) > row.observed_fraction + 0.01


def _more(report: ReportData, how: str) -> str:
    rest = report.answer.rest
    also = f" ({counted(rest, 'smaller finding')})" if rest else ""
    return f"More{also}: {how}"
