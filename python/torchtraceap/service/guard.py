# SPDX-License-Identifier: BSD-3-Clause
"""guard.py: around every request: who may ask, what browsers may do with the answer,
and the metrics.

It is plain ASGI: what wraps requests and responses otherwise would keep an endpoint
from noticing that its client is gone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import suppress
from urllib.parse import urlsplit

import prometheus_client as prometheus
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from torchtraceap.service.pool import Pool
from torchtraceap.service.problems import GONE, Problem

_log = logging.getLogger("torchtraceap.service")
# No page of another site may frame, read or sniff an answer, nor may one be kept. A
# page is what a trace made: it may run its own script, and has an origin of its own.
_HEADERS = {
    "content-security-policy": "sandbox allow-scripts allow-downloads allow-popups; "
    "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Of `Sec-Fetch-Site`: a page of our own, and what a person typed.
_OURS = ("same-origin", "none")
_ENDING = Problem(503, "ending", "the server ends. Ask again once there is a new one.")
# Statuses of requests whose body may not have been read, which no one has to take.
_UNREAD = (400, 401, 403, 408, 413, 415, 429)
_DRAIN_S = 2.0
_INTERNAL = Problem(
    500, "internal", "the server failed. Please report it, with its log."
)
_METHODS = ("GET", "POST")
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """What Prometheus reads of a server."""

    def __init__(self, pool: Pool) -> None:
        self._registry = registry = prometheus.CollectorRegistry()
        self.requests = prometheus.Counter(
            "torchtraceap_serve_requests",
            "Requests that ended, by route and status",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = prometheus.Histogram(
            "torchtraceap_serve_request_seconds",
            "Time from a request to the end of its answer",
            ("method", "route"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.received = prometheus.Counter(
            "torchtraceap_serve_received_bytes",
            "Bytes of bodies, as they were sent",
            registry=registry,
        )
        ended = prometheus.Gauge(
            "torchtraceap_serve_children_lost",
            "Child processes that ended during a task since the start, by why",
            ("why",),
            registry=registry,
        )
        for why in pool.ended:
            ended.labels(why).set_function(lambda why=why: pool.ended[why])
        for name, text in (
            ("running", "Analyses that run"),
            ("waiting", "Requests with a place in the queue that do not run"),
            ("peak_bytes", "The most memory that a child has taken"),
        ):
            gauge = prometheus.Gauge(
                f"torchtraceap_serve_{name}", text, registry=registry
            )
            gauge.set_function(lambda name=name: getattr(pool, name))

    def text(self) -> bytes:
        """Return the metrics in Prometheus' text form."""
        made: bytes = prometheus.generate_latest(self._registry)
        return made


class Guard:
    """Wraps an application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, is_open: bool) -> None:
        """``is_open``: there is no token, so the server answers programs of this
        machine alone."""
        self._app, self._metrics, self._is_open = app, metrics, is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), GONE  # Unless an answer begins.
        is_read = False

        async def received() -> Message:
            nonlocal is_read
            message = await receive()
            is_read = not message.get("more_body", False)
            self._metrics.received.inc(len(message.get("body", b"")))
            return message

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if status in _UNREAD:
                    headers["connection"] = "close"
            elif status in _UNREAD and not is_read:
                # The answer is whole by its length. A connection that is closed at once
                # would lose it to a client that still sends.
                await send({**message, "more_body": True})
                await _drained(receive)
                message = {**message, "body": b""}
            await send(message)

        try:
            if self._is_open and (problem := refused(Headers(scope=scope))):
                await problem.response()(scope, received, sent)
            else:
                await self._app(scope, received, sent)
        except asyncio.CancelledError:  # By the server, whose time to end is over.
            if status == GONE:
                await _ENDING.response()(scope, received, sent)
        except Exception:  # Of the server's own, with text that may name its files.
            _log.exception("a request failed")
            if status == GONE:
                await _INTERNAL.response()(scope, received, sent)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            # A client may name any method, and none of them is a label of its own.
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).inc()
            seconds = time.monotonic() - began
            self._metrics.seconds.labels(method, route).observe(seconds)


async def _drained(receive: Receive) -> None:
    """Take what is left of a body, for a moment."""

    async def drained() -> None:
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False)

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(drained(), _DRAIN_S)


def refused(headers: Headers) -> Problem | None:
    """Return why a server without a token does not answer: a page of another site asks,
    or one whose name leads to this machine."""
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:  # Such as an unclosed bracket.
        name = None
    if name not in _LOOPBACK or "@" in host:
        text = "a server without a token is called localhost, 127.0.0.1 or [::1] only."
        return Problem(403, "host", text)
    ours = f"http://{host}"
    is_ours = headers.get("origin", ours).lower() == ours.lower()  # Else e.g. "null".
    if headers.get("sec-fetch-site", "none") not in _OURS or not is_ours:
        return Problem(403, "origin", "a page of another site may not ask this server.")
    return None


class Token:
    """A dependency that lets pass who has the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def __call__(self, request: Request) -> None:
        """Raises Problem. It takes as long for any wrong token."""
        given = request.headers.get("authorization", "")
        scheme, _, value = given.partition(" ")
        found = value.strip().encode("utf-8", "replace")
        if not secrets.compare_digest(found, self._token) or scheme.lower() != "bearer":
            raise Problem(
                401,
                "token",
                "this server needs its token: Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
