# SPDX-License-Identifier: BSD-3-Clause
"""examples.py: what OpenAPI says about bodies and answers, with an example of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchtraceap.service.uploads import MEDIA_TYPES, MULTIPART
from torchtraceap.views import job_json, json_form

Responses = dict[int | str, dict[str, Any]]
#: Statuses of a request whose body cannot be taken.
OF_UPLOADS = (400, 408, 413, 415, 507)
_FINDING = {
    "id": "3c1d0e6a6b1f",
    "pattern": "dataloader_bound",
    "wasted_us": 357216.0,
    "location": {"file": "train.py", "line": 42, "function": "main"},
}
_TRACE = {
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 5, "dur": 9}
        | {"pid": 1, "tid": 1}
    ]
}


def _response(text: str, examples: Mapping[str, Any], **schema: Any) -> Responses:
    """Return an answer by its media types, each with an example."""
    content: dict[str, Any] = {}
    for kind, example in examples.items():
        is_json = kind == "application/json"
        of = {"type": "object", **schema} if is_json else {"type": "string"}
        content[kind] = {"schema": of, "example": example}
    return {200: {"description": text, "content": content}}


def _forms(what: str, version: int, example: Mapping[str, Any], text: str) -> Responses:
    return _response(
        f"{what}, as docs/reference/formats.md describes it; here an excerpt.",
        {
            "application/json": {"schema_version": version, **example},
            "text/plain": text,
            "text/html": "<!DOCTYPE html>",
        },
        required=["schema_version", *example],
    )


REPORT = _forms(
    "The report",
    json_form.SCHEMA_VERSION,
    {"trace": {"path": "trace.json.gz", "steps": 6}, "findings": [_FINDING]},
    "trace.json.gz\n75,718 events, 1.07 s, 6 steps",
)
JOB = _forms(
    "The report of a job",
    job_json.SCHEMA_VERSION,
    {"job": {"ranks": 8, "slowdown": 1.2}, "late_ranks": [{"rank": 3}]},
    "8 ranks: rank 3 is late",
)
FLEET = _response(
    "The report of a data set",
    {
        "text/plain": "120 traces: 3.1 h of 9.8 h GPU time lost (32 %)",
        "text/html": "<!DOCTYPE html>",
        "text/markdown": "### 3.1 h of 9.8 h GPU time lost (32 %)",
    },
)
QUESTION = _response(
    "The rows of an answer, the most important first; times are microseconds",
    {
        "application/json": {
            "question": "programs",
            "rows": [{"program": "train", "traces": 30, "lost_us": 4.1e9}],
        }
    },
    required=["question", "rows"],
)
METRICS = _response(
    "Metrics", {"text/plain": 'torchtraceap_serve_children_lost{why="time"} 0.0'}
)
PAGE = _response("The page", {"text/html": "<!DOCTYPE html>"})
HEALTH = _response("It does", {"application/json": {"status": "ok"}})


def body(is_job: bool) -> dict[str, Any]:
    """Return what a request sends: parts, or one file as it is."""
    file = {"type": "string", "format": "binary"}
    several = {"type": "array", "items": file, "minItems": 1}
    parts = {
        "type": "object",
        "required": ["trace"],
        "properties": {"trace": several if is_job else file},
    }
    content: dict[str, Any] = {MULTIPART: {"schema": parts}}
    for kind in MEDIA_TYPES:
        content[kind] = {"schema": file}
    events = {"type": "array", "items": {"type": "object"}}
    trace = {"type": "object", "properties": {"traceEvents": events}}
    trace["required"] = ["traceEvents"]
    content["application/json"] = {"schema": trace, "example": _TRACE}
    return {"required": True, "content": content}
