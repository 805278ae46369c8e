# SPDX-License-Identifier: BSD-3-Clause
"""result_form.py: a dry run's result for programs. docs/dryrun.md lists the fields."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torchtraceap.views.json_form import location_form
from torchtraceap.waits.wait import Wait
from torchtraceap_dryrun.estimate.step_notes import step_notes
from torchtraceap_dryrun.result import CANNOT_KNOW, INTERRUPTED

if TYPE_CHECKING:
    from torchtraceap_dryrun.estimate.totals import Totals
    from torchtraceap_dryrun.result import Result

#: Of the form: grows when a field changes its meaning.
SCHEMA_VERSION = 1


def result_form(result: Result) -> dict[str, Any]:
    """Return the result as plain values. Microseconds are estimates, none measured."""
    record = result.record
    step, stopped = record.last_step, record.stopped
    return {
        "schema_version": SCHEMA_VERSION,
        "origin": "dry-run",
        "gpu": result.gpu.name,
        "waits": [_wait_form(wait) for wait in result.waits],
        "steps": [asdict(totals) for totals in result.steps],
        "usual_step": asdict(result.usual_step),
        "launch_bound_us": result.launch_bound_us,
        "peak_bytes": result.peak_bytes,
        "modules": _rows("module", result.by_module(step)),
        "lines": [
            {"location": location_form(line), **asdict(totals)}
            for line, totals in result.by_line(step).items()
        ],
        "unknown_operators": dict(result.unknown_ops),
        "stopped": stopped
        and {
            "after_steps": record.steps,
            "location": location_form(stopped.line),
            "not_reached": list(stopped.not_reached),
        },
        "notes": [INTERRUPTED] * record.interrupted + record.notes + step_notes(record),
        "cannot_know": list(CANNOT_KNOW),
    }


def _rows(name: str, found: dict[str, Totals]) -> list[dict[str, Any]]:
    return [{name: at, **asdict(totals)} for at, totals in found.items()]


def _wait_form(wait: Wait) -> dict[str, Any]:
    return {
        "location": location_form(wait.line),
        "library": location_form(wait.inner),
        "api": wait.api,
        "how": wait.how,
        "value": wait.value,
        "module": wait.module,
        "phase": wait.phase,
        "count": wait.count,
        "steps": wait.steps,
        "why": wait.cause.why,
        "advice": wait.cause.instead,
    }
