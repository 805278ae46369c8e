# SPDX-License-Identifier: BSD-3-Clause
"""job_json.py: the ranks of a job in their JSON form, by ``job.schema.json``.

Members may be added without notice. Removing one, or changing what it means, takes a
new ``SCHEMA_VERSION``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchtraceap import _core
from torchtraceap._core import JoinedCollective
from torchtraceap.data.job import JobData
from torchtraceap.views.json_form import json_text

SCHEMA_VERSION = 2
MOST_ARRIVALS = 100_000  #: Of ranks in the collectives that are listed.


def job_json(job: JobData) -> dict[str, Any]:
    """Return a job as what ``json.dumps`` takes."""
    collectives = _most_waited(job.joined_collectives)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "torchtraceap", "version": _core.__version__},
        "answer": job.answer.to_dict(),
        "job": job.facts.to_dict(),
        "ranks": [row.to_dict() for row in job.ranks],
        "late": [row.to_dict() for row in job.late],
        "late_ranks": [row.to_dict() for row in job.late_ranks],
        "shared": [row.to_dict() for row in job.shared],
        "decode_skew": [row.to_dict() for row in job.decode_skew],
        "culprits": [row.to_dict() for row in job.culprits],
        "collectives": [row.to_dict() for row in job.collectives],
        "joined_collectives": [row.to_dict() for row in collectives],
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
