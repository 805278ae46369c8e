# SPDX-License-Identifier: BSD-3-Clause
"""job_timeline_json.py: what the page of a job draws, as JSON inside the page.

Times are whole nanoseconds from the begin of the job. Of each rank, what it was in are
columns, in which begins and numbers of collectives count from the one before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from torchtraceap._core import JoinedCollective
from torchtraceap.base.safe_text import printable
from torchtraceap.base.units import bytes_text
from torchtraceap.data.job import JobData
from torchtraceap.views.html.document import script_json
from torchtraceap.views.job_drawing import Drawing, DrawnCollective, shown_causes

_MOST_STEPS = 20_000  # Borders of steps, in the rows of all ranks together.
_MOST_CAUSES = 3  # Of a collective.
_NAME_WIDTH = 80


def job_timeline_json(job: JobData, drawing: Drawing) -> str:
    """Return the data as JSON that may stand in a ``script`` element."""
    names = _Names()
    columns = {row.rank: _Columns() for row in job.ranks}
    for place, drawn in enumerate(drawing.collectives):
        for arrival in drawn.collective.arrivals:
            begin, end = _ns(arrival.begin_us), _ns(arrival.end_us)
            columns[arrival.rank].add(begin, end - begin, _ns(arrival.wait_us), place)
    order = {row.rank: place for place, row in enumerate(job.ranks)}
    steps: dict[int, list[int]] = defaultdict(list)
    for step in job.steps[:_MOST_STEPS]:
        steps[step.rank] += [_ns(step.begin_us), _ns(step.end_us)]
    data = {
        "span": _ns(max((row.end_us for row in job.ranks), default=0)),
        "steps": _steps(job),
        "ranks": [
            {
                "label": f"rank {row.rank}",
                "begin": _ns(row.begin_us),
                "end": _ns(row.end_us),
                "caused": _ns(row.caused_us),
                "steps": sorted(set(steps[row.rank])),
                **columns[row.rank].written(),
            }
            for row in job.ranks
        ],
        "collectives": [
            _collective(job, drawn, names, order[drawn.collective.last])
            for drawn in drawing.collectives
        ],
        "lates": _worst(job, drawing),
        "names": names.texts,
    }
    return script_json(data)


def _ns(us: float) -> int:
    return round(us * 1000)


class _Names:
    """Texts by their numbers: each is stored once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text as it is shown."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


class _Columns:
    """What one rank was in."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int]] = []

    def add(self, begin: int, length: int, wait: int, collective: int) -> None:
        self._rows.append((begin, length, min(wait, length), collective))

    def written(self) -> dict[str, list[int]]:
        """Return the columns by name."""
        rows = sorted(self._rows)
        begins, lengths, waits, collectives = (
            [row[column] for row in rows] for column in range(4)
        )
        return {
            "start": _differences(begins),
            "length": lengths,
            "wait": waits,
            "collective": _differences(collectives),
        }


def _differences(numbers: list[int]) -> list[int]:
    return [b - a for a, b in zip([0, *numbers], numbers, strict=False)]


def _collective(
    job: JobData, drawn: DrawnCollective, names: _Names, last: int
) -> dict[str, Any]:
    collective = drawn.collective
    why = shown_causes(job, drawn)[:_MOST_CAUSES]
    return {
        "name": names.number(printable(drawn.title, _NAME_WIDTH)),
        "of": names.number(", ".join(_of(collective))),
        "begin": min(_ns(a.begin_us) for a in collective.arrivals),
        "end": max(_ns(a.end_us) for a in collective.arrivals),
        "arrived": _ns(drawn.last.begin_us),
        "last": last,
        "late": _ns(drawn.late_us),
        # The one that came last may have waited for another before.
        "own": not drawn.causes or drawn.causes[0].rank == collective.last,
        "wait": _ns(collective.wait_us),
        "transfer": _ns(collective.transfer_us),
        "why": [[names.number(text), _ns(cause.waited_us)] for text, cause in why],
    }


def _of(collective: JoinedCollective) -> Iterable[str]:
    if collective.step is not None:
        yield f"step {collective.step}"
    if collective.bytes is not None:
        yield bytes_text(collective.bytes)
    if collective.group:
        yield f"group {printable(collective.group, 40)}"
    yield f"{len(collective.arrivals)} ranks"


def _steps(job: JobData) -> list[tuple[int, int, int]]:
    """Return the job's steps: each from where its first rank began to the next one."""
    begins: dict[int, int] = {}
    end = 0
    for step in job.steps:
        begin = _ns(step.begin_us)
        begins[step.number] = min(begin, begins.get(step.number, begin))
        end = max(end, _ns(step.end_us))
    rows = sorted((begin, number) for number, begin in begins.items())
    ends = [begin for begin, _ in rows[1:]] + [end]
    return [(n, begin, after) for (begin, n), after in zip(rows, ends, strict=False)]


def _worst(job: JobData, drawing: Drawing) -> list[int]:
    """Return for each row of ``job.late`` the drawn collective in which others waited
    longest for it; -1 if there is none."""
    worst = [(0.0, -1)] * len(job.late)
    for place, drawn in enumerate(drawing.collectives):
        for cause in drawn.causes:
            if cause.late is not None and cause.waited_us > worst[cause.late][0]:
                worst[cause.late] = (cause.waited_us, place)
    return [place for _, place in worst]
