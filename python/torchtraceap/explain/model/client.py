# SPDX-License-Identifier: BSD-3-Clause
"""client.py: OpenAI's client, held to what was asked for.

Nothing is contacted but the endpoint's own host: no other one that it redirects to, and
a proxy of the environment only as a tunnel for https, which it cannot look into; with
plain http it would read all, and get what is meant for this machine. Sent are the body
and the headers that HTTP needs: none that tells of the machine or of the account. An
attempt is bounded in time, from the host's name to the answer's last byte, and what is
read of the answer in bytes.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import openai

from torchtraceap.explain.model.endpoint import MOST_WAIT_S, Endpoint
from torchtraceap.explain.model.failures import Failed, failure_of, said_by
from torchtraceap.explain.model.messages import Request

MOST_BYTES = 4 << 20  # Of an answer; those of models that think aloud take some 100 KB.
_HEADERS = ("host", "accept", "connection", "content-type", "content-length")
_TOO_SLOW = "the answer is not at its end"
_THOUGHTS = 4096  # Tokens, which some models take out of the answer's room.
_FORMAT_WORDS = ("response_format", "json_schema", "structured output", "grammar")


class Client:
    """Asks an endpoint; threads may share it. Learns what it does not take."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._without: frozenset[str] = frozenset()
        self._client = openai.OpenAI(
            base_url=endpoint.url,
            api_key="unused",  # The transport writes the header.
            max_retries=endpoint.retries,
            # Short of the whole: who does not connect is told from who is slow.
            timeout=httpx2.Timeout(
                endpoint.timeout_s, connect=min(10.0, 0.8 * endpoint.timeout_s)
            ),
            http_client=httpx2.Client(
                transport=_Transport(endpoint),
                follow_redirects=False,
                trust_env=False,
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def complete(self, request: Request, more_room: int = 0) -> str:
        """Return the body of the answer to a request, with room for so many tokens more
        than it asks for.

        A parameter that the endpoint refuses is left out, now and later. Raises Failed.
        """
        model = self._endpoint.model
        while True:
            body = _without(request.body(model, more_room), self._without)
            try:
                create = self._client.chat.completions.with_raw_response.create
                return str(create(**body).http_response.text)
            except openai.OpenAIError as error:
                failed = self._failure(error)
                refused = _refused(error, body) if failed.kind == "server" else None
                if refused is None:
                    raise failed from error
                self._without |= {refused}

    def _failure(self, error: openai.OpenAIError) -> Failed:
        if isinstance(error, _Unusable):
            return Failed("malformed", f"{self._endpoint.url} {error}")
        failed = failure_of(error, self._endpoint)
        if failed.kind == "model" and (models := self._models()):
            shown = ", ".join(said_by(name, self._endpoint) for name in models[:8])
            failed.why = (
                f"{self._endpoint.url} has no model {self._endpoint.model!r}. It has: "
                f"{shown}{' and others' if len(models) > 8 else ''}"
            )
        return failed

    def _models(self) -> list[str]:
        """Return the models that the endpoint lists; none if it lists none."""
        with suppress(openai.OpenAIError, ValueError, TypeError, KeyError):
            models = self._client.with_options(max_retries=0).models
            listed = json.loads(models.with_raw_response.list().http_response.text)
            return [str(one["id"]) for one in listed["data"]]
        return []


def _without(body: dict[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    if "max_tokens" in refused:
        body["max_completion_tokens"] = body.pop("max_tokens") + _THOUGHTS
    for name in {"temperature", "seed", "response_format"} & refused:
        del body[name]
    if "json_schema" in refused and "response_format" in body:
        body["response_format"] = {"type": "json_object"}
    return body


def _refused(error: openai.OpenAIError, body: dict[str, Any]) -> str | None:
    """Return what of a body an error is about, if it can be left out."""
    if not isinstance(error, openai.BadRequestError | openai.UnprocessableEntityError):
        return None
    said = error.response.text.lower()
    for name in ("max_tokens", "temperature", "seed"):
        if name in body and name in said:
            return name
    if "response_format" in body and any(word in said for word in _FORMAT_WORDS):
        is_schema = body["response_format"]["type"] == "json_schema"
        return "json_schema" if is_schema else "response_format"
    return None


class _Unusable(openai.OpenAIError):  # type: ignore[misc]
    """An answer that is not read to its end; the client passes it on as it is."""


class _Transport(httpx2.BaseTransport):  # type: ignore[misc]
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._inner = httpx2.HTTPTransport(proxy=_tunnel(endpoint.url))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: request.headers.get(name) for name in _HEADERS}
        headers |= {"user-agent": "torchtraceap", "accept-encoding": "identity"}
        if self._endpoint.api_key:
            headers["authorization"] = f"Bearer {self._endpoint.api_key}"
        sent = httpx2.Request(
            request.method,
            request.url,
            headers={name: value for name, value in headers.items() if value},
            stream=request.stream,
            extensions=request.extensions,
        )
        # HTTP's own limits are for each read: headers may come byte by byte, each in
        # time. So a thread waits for it, which ends with its connection.
        done: queue.SimpleQueue[httpx2.Response | BaseException] = queue.SimpleQueue()

        def work() -> None:
            try:
                done.put(self._whole_answer(sent))
            except BaseException as error:  # Raised again where it is waited for.
                done.put(error)

        threading.Thread(target=work, daemon=True).start()
        try:
            answer = done.get(timeout=self._endpoint.timeout_s)
        except queue.Empty:
            raise httpx2.ReadTimeout(_TOO_SLOW) from None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _whole_answer(self, request: httpx2.Request) -> httpx2.Response:
        until = time.monotonic() + self._endpoint.timeout_s
        response = self._inner.handle_request(request)
        try:
            # A small compressed answer could be a large one.
            if response.headers.get("content-encoding", "identity") != "identity":
                raise _Unusable("answers in a compressed form that was not asked for")
            body = bytearray()
            for part in response.stream:
                body += part
                if len(body) > MOST_BYTES:
                    raise _Unusable(f"answers with more than {MOST_BYTES >> 20} MiB")
                if time.monotonic() > until:  # Nobody waits any more.
                    raise httpx2.ReadTimeout(_TOO_SLOW)
        finally:
            response.close()
        headers = response.headers
        if _wait_s(response) > MOST_WAIT_S:
            headers["x-should-retry"] = "false"  # Which the client obeys.
        return httpx2.Response(
            response.status_code, headers=headers, content=bytes(body)
        )

    def close(self) -> None:
        self._inner.close()


def _tunnel(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.scheme != "https" or proxy_bypass(parts.netloc):
        return None
    return getproxies().get("https")


def _wait_s(response: httpx2.Response) -> float:
    try:
        if (ms := response.headers.get("retry-after-ms")) is not None:
            return float(ms) / 1000
        return float(response.headers.get("retry-after", 0))
    except ValueError:  # A date, for example.
        return 0.0
