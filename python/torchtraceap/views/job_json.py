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
from torchtraceap.data.job import JobData, JoinedCollective, Late, RankFinding
from torchtraceap.views.json_form import json_text, members

SCHEMA_VERSION = 2
MOST_ARRIVALS = 100_000  #: Of ranks in the collectives that are listed.


def job_json(job: JobData) -> dict[str, Any]:
    """Return a job as what ``json.dumps`` takes."""
    facts = job.facts
    collectives = _most_waited(job.joined_collectives)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "job": {
            **members(facts, *(f.name for f in fields(facts))),
            "missing": list(facts.missing),
            "notes": [note.to_dict() for note in facts.notes],
        },
        "ranks": [asdict(row) for row in job.ranks],
        "late": [_late_form(late) for late in job.late],
        "culprits": [asdict(row) for row in job.culprits],
        "collectives": [asdict(row) for row in job.collectives],
        "joined_collectives": [
            {**asdict(one), "arrivals": [asdict(a) for a in one.arrivals]}
            for one in collectives
        ],
        "unlisted": {
            "joined_collectives": len(job.joined_collectives) - len(collectives)
        },
    }


def job_json_text(job: JobData) -> str:
    """Return the form of a job as JSON text, plain ASCII."""
    return json_text(job_json(job))


def _most_waited(collectives: Sequence[JoinedCollective]) -> list[JoinedCollective]:
    """Return the collectives with most waiting, in their order, as many as may be."""
    kept, arrivals = set(), 0
    for collective in sorted(collectives, key=lambda one: -one.wait_us):
        arrivals += len(collective.arrivals)
        if arrivals > MOST_ARRIVALS:
            break
        kept.add(id(collective))
    return [collective for collective in collectives if id(collective) in kept]


def _late_form(late: Late) -> dict[str, Any]:
    return {
        **members(late, *(field.name for field in fields(late))),
        "location": location_form(late.location),
        "finding": late.finding and _finding_form(late.finding),
    }


def _finding_form(finding: RankFinding) -> dict[str, Any]:
    return {**asdict(finding), "location": location_form(finding.location)}
