# SPDX-License-Identifier: BSD-3-Clause
"""app.py: the routes of the server.

An endpoint takes a seat in the pool, has a child do the work, and returns what that
made. None reads its body through FastAPI, which would have to hold it.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query
from fastapi.security import HTTPBearer
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from torchtraceap import _core
from torchtraceap.base.children import processors
from torchtraceap.base.roots import Roots
from torchtraceap.service import examples
from torchtraceap.service.guard import Guard, Metrics, Token
from torchtraceap.service.page import drop_page
from torchtraceap.service.pool import Pool
from torchtraceap.service.problems import Problem, add_handlers, responses
from torchtraceap.service.settings import Settings
from torchtraceap.service.tasks import MEDIA, Fault, FleetTask, Reply, TraceTask
from torchtraceap.service.uploads import Upload

_MOST = 2**53  # Of a number in JSON.
_MOST_ROWS = 2000
_Form = Annotated[
    Literal["json", "text", "html"],
    Query(description="JSON (docs/reference/formats.md), plain text, or one page."),
]
_Recover = Annotated[bool, Query(description="Read what is sound of a damaged file.")]
_Step = Annotated[
    int | None, Query(ge=0, le=_MOST, description="Only the time of this ProfilerStep.")
]
_LastStep = Annotated[
    int | None,
    Query(ge=0, le=_MOST, description="With step: up to the end of this one."),
]
_Path = Annotated[
    str,
    Query(
        min_length=1,
        max_length=4096,
        description="Relative to the first root of the server, or absolute.",
        examples=["runs/trace.json.gz"],
    ),
]
_FleetForm = Annotated[
    Literal["text", "html", "markdown"], Query(description="The form of the report.")
]
_Question = Literal[
    "facts",
    "programs",
    "pattern",
    "model",
    "commit",
    "host",
    "gpu",
    "new",
    "regressions",
    "failures",
]
_Rows = Annotated[int, Query(ge=1, le=_MOST_ROWS, description="Of the answer.")]


def make_app(settings: Settings) -> FastAPI:
    """Return the application. Raises RootsError for a root that is not a folder."""
    return Service(settings).app


class Service:
    """The routes of one server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._roots = Roots(settings.roots).folders
        self._pool = Pool(settings.workers, settings.queue, settings.seconds)
        self._metrics = Metrics(self._pool)
        self._threads = max(1, processors() // settings.workers)
        self.app = app = FastAPI(
            title="torchtraceap",
            version=_core.__version__,
            description="Tells where time is wasted in PyTorch profiler traces.",
            # These pages load scripts of another site.
            docs_url=None,
            redoc_url=None,
            lifespan=self._lifespan,
        )
        add_handlers(app, settings.seconds)
        self._add_routes(app)
        is_open = settings.token is None
        app.add_middleware(Guard, metrics=self._metrics, is_open=is_open)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        yield
        self._pool.close()

    def _add_routes(self, app: FastAPI) -> None:
        token = self._settings.token
        guarded = {}
        if token is not None:
            # The scheme is for OpenAPI; Token compares.
            scheme = HTTPBearer(auto_error=False)
            guarded["dependencies"] = [Depends(scheme), Depends(Token(token))]
        faults = (401,) if token is not None else ()
        work = (422, 429, 500, 504, *faults)

        def add(path: str, endpoint: Any, tag: str, method: str, **more: Any) -> None:
            app.add_api_route(path, endpoint, methods=[method], tags=[tag], **more)

        for path, upload, named, example in (
            ("/v1/reports", self.report, self.named_report, examples.REPORT),
            ("/v1/jobs", self.job, self.named_job, examples.JOB),
        ):
            body = examples.body(is_job=path == "/v1/jobs")
            add(
                *(path, upload, "analyses", "POST"),
                responses={**example, **responses(*examples.OF_UPLOADS, *work)},
                openapi_extra={"requestBody": body},
                **guarded,
            )
            add(
                *(path, named, "analyses", "GET"),
                responses={**example, **responses(404, 413, *work)},
                **guarded,
            )
        for path, endpoint, example in (
            ("/v1/fleet", self.fleet, examples.FLEET),
            ("/v1/fleet/{question}", self.fleet_question, examples.QUESTION),
        ):
            more = {**example, **responses(404, *work)}
            add(path, endpoint, "fleet", "GET", responses=more, **guarded)
        add(
            *("/metrics", self.metrics, "server", "GET"),
            responses={**examples.METRICS, **responses(*faults)},
            **guarded,
        )
        add("/healthz", self.health, "server", "GET", responses=examples.HEALTH)
        more = {**examples.HEALTH, **responses(503)}
        add("/readyz", self.readiness, "server", "GET", responses=more)
        page = HTMLResponse
        add("/", self.page, "server", "GET", response_class=page)

    # --- Analyses ---------------------------------------------------------------------

    async def report(
        self,
        request: Request,
        form: _Form = "json",
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
    ) -> Response:
        """Analyze a trace that is sent. It is deleted afterwards."""
        return await self._upload(request, False, form, recover, step, last_step)

    async def job(
        self,
        request: Request,
        form: _Form = "json",
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
    ) -> Response:
        """Analyze the traces of the ranks of one job together: a file each, or a merged
        one. They are deleted afterwards."""
        return await self._upload(request, True, form, recover, step, last_step)

    async def named_report(
        self,
        request: Request,
        path: _Path,
        form: _Form = "json",
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
    ) -> Response:
        """Analyze a trace below the roots of the server."""
        return await self._named(request, path, False, form, recover, step, last_step)

    async def named_job(
        self,
        request: Request,
        path: _Path,
        form: _Form = "json",
        recover: _Recover = False,
        step: _Step = None,
        last_step: _LastStep = None,
    ) -> Response:
        """Analyze the traces of a job's ranks below the roots of the server: those in a
        folder, or in a merged file."""
        return await self._named(request, path, True, form, recover, step, last_step)

    async def _upload(self, request: Request, is_job: bool, *how: Any) -> Response:
        settings, headers = self._settings, request.headers
        with (
            self._pool.seat(),
            tempfile.TemporaryDirectory(prefix="torchtraceap-") as folder,
        ):
            kind = headers.get("content-type", "")
            upload = Upload(folder, kind, settings.upload_bytes, is_job)
            upload.refuse(headers.get("content-length"))
            receiving = upload.receive(request.stream())
            await asyncio.wait_for(receiving, settings.seconds)
            task = self._task((folder,), tuple(upload.names), is_job, *how)
            return await self._answered(request, task)

    async def _named(
        self, request: Request, path: str, is_job: bool, *how: Any
    ) -> Response:
        if not self._roots:
            text = "this server reads no files. Send the trace, or start it with --root"
            raise Problem(404, "no_roots", f"{text} DIR.")
        with self._pool.seat():
            task = self._task(self._roots, (path,), is_job, *how)
            return await self._answered(request, task)

    def _task(
        self,
        roots: tuple[str, ...],
        names: tuple[str, ...],
        is_job: bool,
        form: str,
        recover: bool,
        step: int | None,
        last_step: int | None,
    ) -> TraceTask:
        if last_step is not None and (step is None or last_step < step):
            text = "last_step is of use with a step before it only."
            raise Problem(422, "invalid", text)
        last = step if last_step is None else last_step
        steps = None if step is None or last is None else (step, last)
        most, threads = self._settings.text_bytes, self._threads
        return TraceTask(roots, names, is_job, form, recover, steps, most, threads)

    async def _answered(
        self, request: Request, task: TraceTask | FleetTask
    ) -> Response:
        reply = await _unless_gone(request, self._pool.ask(task))
        outcome = reply.outcome
        if isinstance(outcome, Fault):
            raise Problem(outcome.status, outcome.kind, outcome.detail)
        return Response(outcome.body, media_type=MEDIA[outcome.form])

    # --- A fleet ----------------------------------------------------------------------

    async def fleet(self, request: Request, form: _FleetForm = "html") -> Response:
        """Report on the data set of the server, made by ``torchtraceap fleet``."""
        return await self._asked(request, None, form, _MOST_ROWS)

    async def fleet_question(
        self, request: Request, question: _Question, rows: _Rows = 100
    ) -> Response:
        """Ask the data set one question: its facts, the worst programs, lost time by
        pattern, model, commit, host or GPU, new findings, regressions, failures."""
        return await self._asked(request, question, "json", rows)

    async def _asked(
        self, request: Request, question: str | None, form: str, most: int
    ) -> Response:
        if self._settings.fleet is None:
            text = "this server has no data set. Start it with --fleet DIR."
            raise Problem(404, "no_fleet", text)
        with self._pool.seat():
            task = FleetTask(self._settings.fleet, question, form, most)
            return await self._answered(request, task)

    # --- The server -------------------------------------------------------------------

    async def page(self) -> Response:
        """A page to drop traces on."""
        headers = {"Content-Security-Policy": "frame-ancestors 'none'"}
        return HTMLResponse(drop_page(self._settings), headers=headers)

    async def health(self) -> Response:
        """Answer as long as the server can."""
        return JSONResponse({"status": "ok"})

    async def readiness(self) -> Response:
        """Tell whether what the server reads and writes is there."""
        fleet = self._settings.fleet
        folders = (*self._roots, *([fleet] if fleet is not None else []))
        for folder in folders:
            if not os.path.isdir(folder):
                raise Problem(503, "not_ready", "a folder of the server is gone.")
        if not os.access(tempfile.gettempdir(), os.W_OK):
            text = "the folder of uploads cannot be written: mount one at TMPDIR."
            raise Problem(503, "not_ready", text)
        return JSONResponse({"status": "ok"})

    async def metrics(self) -> Response:
        """Requests, times, queue and memory, for Prometheus."""
        return PlainTextResponse(self._metrics.text())


async def _unless_gone(request: Request, work: Coroutine[Any, Any, Reply]) -> Reply:
    """Return what work does; cancel it, and raise ClientDisconnect, once the client of
    the request is gone."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tasks = done, left = asyncio.ensure_future(work), asyncio.ensure_future(gone())
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            raise ClientDisconnect
        return done.result()
    finally:
        left.cancel()
        done.cancel()
        # The child is gone before the files that it reads are.
        await asyncio.wait(tasks)
