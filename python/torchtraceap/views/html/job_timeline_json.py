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
from torchtraceap.views.html.document import Names, differences, script_json
from torchtraceap.views.job_drawing import Drawing, DrawnCollective, shown_causes

_MOST_STEPS = 20_000  # Borders of steps, in the rows of all ranks together.
_MOST_CAUSES = 3  # Of a collective.


def job_timeline_json(job: JobData, drawing: Drawing) -> str:
    """Return the data as JSON that may stand in a ``script`` element."""
    names = Names()
    rows: dict[int, list[tuple[int, ...]]] = {row.rank: [] for row in job.ranks}
    for place, drawn in enumerate(drawing.collectives):
        for arrival in drawn.collective.arrivals:
            begin = _ns(arrival.begin_us)
            length = _ns(arrival.end_us) - begin
            wait = min(_ns(arrival.wait_us), length)
            rows[arrival.rank].append((begin, length, wait, place))
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
                **_columns(rows[row.rank]),
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


def _columns(rows: list[tuple[int, ...]]) -> dict[str, list[int]]:
    """Return what a rank was in as columns by name."""
    ordered = sorted(rows)
    begins, lengths, waits, places = ([row[i] for row in ordered] for i in range(4))
    return {
        "start": differences(begins),
        "length": lengths,
        "wait": waits,
        "collective": differences(places),
    }


def _collective(
    job: JobData, drawn: DrawnCollective, names: Names, last: int
) -> dict[str, Any]:
    collective = drawn.collective
    why = shown_causes(job, drawn)[:_MOST_CAUSES]
    return {
        "name": names.number(drawn.title),
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
