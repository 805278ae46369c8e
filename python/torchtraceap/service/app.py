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
from pydantic import BaseModel, ConfigDict, Field
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
from torchtraceap.service.uploads import Upload, not_kept

# Address space of a child: of Python and the libraries, of each thread's stack and
# arena, and of an analysis, which takes up to 3 times the text.
_BASE_BYTES, _THREAD_BYTES, _BYTES_OF_TEXT = 2 << 30, 128 << 20, 4
_MOST = 2**53  # Of a number in JSON.
_Number = Annotated[int, Field(ge=0, le=_MOST)]


class Strict(BaseModel):  # type: ignore[misc]
    """Parameters of a query, of which none is let pass that is not known."""

    model_config = ConfigDict(extra="forbid")


class How(Strict):
    """How a trace is analyzed, and in which form the report is."""

    form: Literal["json", "text", "html"] = Field(
        "json", description="JSON (docs/reference/formats.md), plain text, or one page."
    )
    recover: bool = Field(False, description="Read what is sound of a damaged file.")
    step: _Number | None = Field(None, description="Only the time of this step.")
    last_step: _Number | None = Field(
        None, description="With step: up to the end of this one."
    )

    def steps(self) -> tuple[int, int] | None:
        """Return the first and the last step. Raises Problem."""
        last = self.step if self.last_step is None else self.last_step
        if last is not None and (self.step is None or last < self.step):
            text = "last_step is of use with a step before it only."
            raise Problem(422, "invalid", text)
        return None if self.step is None or last is None else (self.step, last)


class Named(How):
    """The same, of a trace that the server can read."""

    path: str = Field(
        min_length=1,
        max_length=4096,
        description="Relative to the first root of the server, or absolute.",
        examples=["nightly/trace.json.gz"],
    )


class FleetForm(Strict):
    """The form of a report on a data set."""

    form: Literal["text", "html", "markdown"] = "html"


class Rows(Strict):
    """How much is answered."""

    rows: int = Field(100, ge=1, le=2000, description="Of the answer, at most.")


_How = Annotated[How, Query()]
_Named = Annotated[Named, Query()]
_FleetForm = Annotated[FleetForm, Query()]
_Rows = Annotated[Rows, Query()]
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


def make_app(settings: Settings, uploads: str) -> FastAPI:
    """Return the application, which keeps uploads in a folder. Raises RootsError for a
    root that is not a folder."""
    return Service(settings, uploads).app


class Service:
    """The routes of one server."""

    def __init__(self, settings: Settings, uploads: str) -> None:
        self._settings, self._uploads = settings, uploads
        self._roots = Roots(settings.roots).folders
        self._threads = max(1, processors() // settings.workers)
        self._pool = Pool(
            settings.workers,
            settings.queue,
            settings.seconds,
            _BASE_BYTES
            + self._threads * _THREAD_BYTES
            + settings.text_bytes * _BYTES_OF_TEXT,
        )
        self._metrics = Metrics(self._pool)
        self.app = app = FastAPI(
            title="torchtraceap",
            version=_core.__version__,
            description="Tells where time is wasted in PyTorch profiler traces.",
            # These pages load scripts of another site.
            docs_url=None,
            redoc_url=None,
            # It would lead to a host of the client's choice, before its token is read.
            redirect_slashes=False,
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
        guarded: dict[str, Any] = {}
        if token is not None:
            # The scheme is for OpenAPI; Token compares.
            scheme = HTTPBearer(auto_error=False)
            guarded["dependencies"] = [Depends(scheme), Depends(Token(token))]
        faults = (401,) if token is not None else (403,)
        work = (422, 429, 500, 503, 504, *faults)

        def add(path: str, endpoint: Any, tag: str, method: str, **more: Any) -> None:
            # Its default would add JSON to what OpenAPI says about each answer.
            more = {"response_class": Response, "tags": [tag], **more}
            app.add_api_route(path, endpoint, methods=[method], **more)

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
        add("/", self.page, "server", "GET", responses=examples.PAGE)

    # --- Analyses ---------------------------------------------------------------------

    async def report(self, request: Request, how: _How) -> Response:
        """Analyze a trace that is sent. It is deleted afterwards."""
        return await self._sent(request, how, False)

    async def job(self, request: Request, how: _How) -> Response:
        """Analyze the traces of the ranks of one job together: a file each, or a merged
        one. They are deleted afterwards."""
        return await self._sent(request, how, True)

    async def named_report(self, request: Request, how: _Named) -> Response:
        """Analyze a trace below the roots of the server."""
        return await self._named(request, how, False)

    async def named_job(self, request: Request, how: _Named) -> Response:
        """Analyze the traces of a job's ranks below the roots of the server: those in a
        folder, or in a merged file."""
        return await self._named(request, how, True)

    async def _sent(self, request: Request, how: How, is_job: bool) -> Response:
        most, headers = self._settings.upload_bytes, request.headers
        how.steps()  # Before a body is read.
        with self._pool.seat(), self._folder() as folder:
            upload = Upload(folder, headers.get("content-type", ""), most, is_job)
            upload.refuse(headers.get("content-length"))
            receiving = upload.receive(request.stream())
            await asyncio.wait_for(receiving, self._settings.seconds)
            task = self._task((folder,), tuple(upload.names), how, is_job)
            return await self._answered(request, task)

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        try:
            return tempfile.TemporaryDirectory(dir=self._uploads)
        except OSError as error:
            raise not_kept(error) from error

    async def _named(self, request: Request, how: Named, is_job: bool) -> Response:
        if not self._roots:
            text = "this server reads no files. Send the trace, or start it with --root"
            raise Problem(404, "no_roots", f"{text} DIR.")
        task = self._task(self._roots, (how.path,), how, is_job)
        with self._pool.seat():
            return await self._answered(request, task)

    def _task(
        self, roots: tuple[str, ...], names: tuple[str, ...], how: How, is_job: bool
    ) -> TraceTask:
        return TraceTask(
            roots,
            names,
            is_job,
            how.form,
            how.recover,
            how.steps(),
            self._settings.text_bytes,
            self._threads,
        )

    async def _answered(
        self, request: Request, task: TraceTask | FleetTask
    ) -> Response:
        reply = await _unless_gone(request, self._pool.ask(task))
        outcome = reply.outcome
        if isinstance(outcome, Fault):
            raise Problem(outcome.status, outcome.kind, outcome.detail)
        return Response(outcome.body, media_type=MEDIA[outcome.form])

    # --- A fleet ----------------------------------------------------------------------

    async def fleet(self, request: Request, how: _FleetForm) -> Response:
        """Report on the data set of the server, made by ``torchtraceap fleet``."""
        return await self._asked(request, None, how.form, 0)

    async def fleet_question(
        self, request: Request, question: _Question, how: _Rows
    ) -> Response:
        """Ask the data set one question: its facts, the worst programs, lost time by
        pattern, model, commit, host or GPU, new findings, regressions, failures."""
        return await self._asked(request, question, "json", how.rows)

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
        if not os.access(self._uploads, os.W_OK):
            text = "the folder of uploads is gone, or cannot be written."
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
