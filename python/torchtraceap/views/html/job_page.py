# SPDX-License-Identifier: BSD-3-Clause
"""job_page.py: the ranks of a job as one HTML file, a timeline with a row per rank."""

from __future__ import annotations

from typing import Any

from torchtraceap.base.units import counted, time_text
from torchtraceap.data.job import JobData
from torchtraceap.views.html.document import MOST_ROWS, document, notebook
from torchtraceap.views.html.job_timeline_json import job_timeline_json
from torchtraceap.views.job_answer import job_verdict_texts
from torchtraceap.views.job_drawing import drawing_of
from torchtraceap.views.job_tables import job_tables
from torchtraceap.views.job_words import (
    is_slow_by_transfers,
    job_fact_texts,
    late_place,
    late_why,
    notable_causes,
    on_gpus,
    step_text,
    together_text,
    trust_texts,
    waited_text,
)

_MOST_LATE = 50  # Cards: of causes of at least 1 % of the waiting.
_LEAST_SHARE = 0.01
SCRIPTS = (
    *("slices.js", "time_view.js", "rank_timeline.js", "viewer.js"),
    "job_page.js",
)


def job_page(job: JobData) -> str:
    """Return the page; the same for the same job."""
    facts, gpus = job.facts, on_gpus(job)
    drawing = drawing_of(job)
    least_us = _LEAST_SHARE * facts.waited_us
    first = enumerate(job.late[:_MOST_LATE])
    cards = [number for number, late in first if late.waited_us >= least_us]
    exposed_us = sum(row.exposed_us for row in job.ranks)
    values = _values(job) | {
        "name": facts.source.replace("\\", "/").rstrip("/").rpartition("/")[2]
        or facts.source,
        "degraded": bool(notable_causes(job)),
        "waited": together_text(facts.waited_us, gpus),
        "exposed": together_text(exposed_us, gpus),
        "cards": cards,  # Places in ``job.late``.
        "gpus": gpus,
        "late_why": late_why,
        "late_place": late_place,
        "waited_text": waited_text,
        "more_cards": len(job.late) - len(cards),
        "step": step_text(job),
        "even": "with usual transfers"
        if is_slow_by_transfers(job)
        else "with even ranks",
        "span_us": max((row.end_us for row in job.ranks), default=0.0),
        "left_out": _left_out(drawing.left_out, drawing.left_out_us),
    }
    return document("job.html", values, SCRIPTS, job_timeline_json(job, drawing))


def job_notebook(job: JobData) -> str:
    """Return what a notebook shows for a job."""
    return notebook("notebook_job.html", _values(job))


def _values(job: JobData) -> dict[str, Any]:
    """Return what page and notebook show alike."""
    return {
        "job": job,
        "facts": list(job_fact_texts(job)),
        "verdict": list(job_verdict_texts(job)),
        "notes": [note.detail for note in job.facts.notes],
        "trust": list(trust_texts(job)),
        "tables": job_tables(job, MOST_ROWS),
    }


def _left_out(count: int, us: float) -> str:
    if not count:
        return ""
    left = counted(count, "collective")
    return (
        f"Not drawn, and shown as work: the shortest {left}, {time_text(us)} over all "
        "ranks."
    )
