# SPDX-License-Identifier: BSD-3-Clause
"""problems.py: errors as problem documents (RFC 9457), whatever went wrong.

``kind`` is a member of our own: a stable word, of a trace that of `TraceError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from torchtraceap.base.children import ChildEnded
from torchtraceap.base.safe_text import printable
from torchtraceap.service.pool import Full, Overtime, Unstarted

MEDIA_TYPE = "application/problem+json"
_WIDTH = 1900  # Of a detail; names of files may be long.
GONE = 499  #: As nginx logs a client that did not wait. It is never sent.
_RETRY_S = 5  # About as long as an analysis of a large trace.
_AGAIN = {"Retry-After": str(_RETRY_S)}
#: What may go wrong with a request, by status, for OpenAPI: title and kind.
EXAMPLES: Mapping[int, tuple[str, str]] = {
    400: ("invalid", "the body is not multipart/form-data: it has no boundary."),
    401: ("token", "this server needs its token: Authorization: Bearer TOKEN."),
    403: ("host", "a server without a token is called localhost, 127.0.0.1 or [::1] "
          "only."),
    404: ("no_such_file", "nightly/a.json: there is no such file. Give a path relative "
          "to the first root of this server, or an absolute one."),
    408: ("time_limit", "the body did not arrive within 300 s. Send less, or start "
          "the server with a greater --max-seconds."),
    413: ("gzip_bomb", "trace.json.gz: it inflates to more than 200 times its size."),
    415: ("media_type", "text/csv is not a trace. Send multipart/form-data."),
    422: ("truncated", "trace.json: the file ends in the middle of an event."),
    429: ("busy", "all places of the queue are taken. Ask again in 5 s."),
    500: ("crashed", "the process that analyzed it ended without an answer."),
    503: ("not_ready", "a folder of the server is gone."),
    504: ("time_limit", "the analysis took longer than 300 s."),
    507: ("storage", "the server has no space left for the upload."),
}  # fmt: skip
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "kind"],
    "properties": {
        "type": {"const": "about:blank"},
        "title": {"type": "string", "description": "The phrase of the status."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "Where, what, and what to do."},
        "kind": {"type": "string", "description": "A stable word for the fault."},
    },
}


class Problem(Exception):
    """What a client reads in place of an answer."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = headers

    def form(self) -> dict[str, Any]:
        """Return the document."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": printable(self.detail, _WIDTH),
            "kind": self.kind,
        }

    def response(self) -> Response:
        """Return the document as a response."""
        return JSONResponse(
            self.form(), self.status, dict(self.headers or {}), MEDIA_TYPE
        )


def problem_of(error: Exception, seconds: float) -> Problem:
    """Return the problem that an exception of a route is; raises any other."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Full):
        text = "all places of the queue are taken. Ask again in 5 s."
        return Problem(429, "busy", text, _AGAIN)
    if isinstance(error, Overtime):
        text = (
            f"the analysis took longer than {seconds:g} s. Ask for fewer steps, or "
            "start the server with a greater --max-seconds."
        )
        return Problem(504, "time_limit", text)
    if isinstance(error, Unstarted):
        text = "no process can be started for it now. Ask again in 5 s."
        return Problem(503, "no_process", text, _AGAIN)
    if isinstance(error, asyncio.TimeoutError):
        text = (
            f"the body did not arrive within {seconds:g} s. Send less, or start the "
            "server with a greater --max-seconds."
        )
        return Problem(408, "time_limit", text)
    if isinstance(error, ChildEnded):
        text = (
            "the process that analyzed it ended without an answer. If memory ran out, "
            "ask for fewer steps; else please report it, with the trace if you can."
        )
        return Problem(500, "crashed", text)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return Problem(422, "invalid", f"{where}: {first['msg']}.")
    if isinstance(error, HTTPException):
        text = f"{error.detail}. GET /openapi.json lists the routes."
        return Problem(error.status_code, "http", text, error.headers)
    raise error


def add_handlers(app: FastAPI, seconds: float) -> None:
    """Have every exception of a route end as a problem document."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, ClientDisconnect):
            return Response(status_code=GONE)
        return problem_of(error, seconds).response()

    kinds = (Problem, Full, Overtime, Unstarted, ChildEnded, ClientDisconnect)
    of_asyncio = (asyncio.TimeoutError, RequestValidationError, HTTPException)
    for kind in (*kinds, *of_asyncio):
        app.add_exception_handler(kind, answer)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about these statuses."""
    made: dict[int | str, dict[str, Any]] = {}
    for status in statuses:
        kind, detail = EXAMPLES[status]
        example = Problem(status, kind, detail).form()
        content = {MEDIA_TYPE: {"schema": SCHEMA, "example": example}}
        made[status] = {"description": HTTPStatus(status).phrase, "content": content}
    return made
