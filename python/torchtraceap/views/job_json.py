# SPDX-License-Identifier: BSD-3-Clause
"""job_json.py: the ranks of a job in their JSON form, by ``job.schema.json``.

Members may be added without notice. Removing one, or changing what it means, takes a
new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from torchtraceap import _core
from torchtraceap.base.location import location_form
from torchtraceap.data.job import JobData, Late, Meeting, RankFinding
from torchtraceap.views.json_form import json_text, members

SCHEMA_VERSION = 1
MOST_ARRIVALS = 100_000  #: Of ranks in the meetings that are listed.


def job_json(job: JobData) -> dict[str, Any]:
    """Return a job as what ``json.dumps`` takes."""
    facts = job.facts
    meetings = _most_waited(job.meetings)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "job": {
            **members(facts, *(f.name for f in fields(facts)), "slowdown"),
            "missing": list(facts.missing),
            "notes": [note.to_dict() for note in facts.notes],
        },
        "ranks": [{**asdict(row), "span_us": row.span_us} for row in job.ranks],
        "late": [_late_form(late) for late in job.late],
        "culprits": [asdict(row) for row in job.culprits],
        "collectives": [asdict(row) for row in job.collectives],
        "meetings": [
            {**asdict(one), "arrivals": [asdict(a) for a in one.arrivals]}
            for one in meetings
        ],
        "unlisted": {"meetings": len(job.meetings) - len(meetings)},
    }


def job_json_text(job: JobData) -> str:
    """Return the form of a job as JSON text, plain ASCII."""
    return json_text(job_json(job))


def _most_waited(meetings: Sequence[Meeting]) -> list[Meeting]:
    """Return the meetings with most waiting, in their order, as many as may be."""
    kept, arrivals = set(), 0
    for meeting in sorted(meetings, key=lambda one: -one.wait_us):
        arrivals += len(meeting.arrivals)
        if arrivals > MOST_ARRIVALS:
            break
        kept.add(id(meeting))
    return [meeting for meeting in meetings if id(meeting) in kept]


def _late_form(late: Late) -> dict[str, Any]:
    return {
        **members(late, *(field.name for field in fields(late))),
        "location": location_form(late.location),
        "finding": late.finding and _finding_form(late.finding),
    }


def _finding_form(finding: RankFinding) -> dict[str, Any]:
    return {**asdict(finding), "location": location_form(finding.location)}
