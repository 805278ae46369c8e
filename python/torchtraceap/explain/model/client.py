# SPDX-License-Identifier: BSD-3-Clause
"""client.py: OpenAI's client, set up so that a request reaches the endpoint alone.

Redirects are not followed. Environment proxies are used for https only, as a tunnel:
over plain http a proxy would read the request. Headers that describe the machine or the
account are removed.
"""

from __future__ import annotations

from typing import Annotated, Any

import httpx2
import openai
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from torchtraceap.base.safe_text import printable
from torchtraceap.explain.model.endpoint import (
    KEY_VARIABLE,
    Endpoint,
    Failed,
    malformed,
)
from torchtraceap.explain.model.messages import Request

# Sent besides the key.
_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }
)
_MOST_TOKENS = 10**9  # A larger count is ignored.
_THOUGHTS = 4096  # Tokens, which some models take out of the answer's room.
_TODO = {
    "key": "Check the API key: name its variable (--key-env), or give api_key=; by "
    f"itself {KEY_VARIABLE} goes to OpenAI and to this machine only",
    "limit": "Lower parallel, wait, or check the account's credit",
    "model": "Check the model's name, and that the URL ends in /v1",
    "overflow": "Make the digest smaller (tokens=, --tokens), or give the model more "
    "context",
    "refused": "The server's content filter rejected the digest",
    "server": "Check the server's log, or try again later",
    "timeout": "Raise timeout_s, lower parallel, or use a faster model",
    "unreachable": "Check host and port, that the server runs, and its certificate "
    "(SSL_CERT_FILE names those to trust); redirects are not followed",
}
_OVERFLOW = ("exceed_context", "maximum context", "context_length", "context size")
_FORMAT_WORDS = ("response_format", "json_schema", "structured output", "grammar")


# What is missing or of a wrong type is empty.
_Text = Annotated[str, BeforeValidator(lambda x: x if isinstance(x, str) else "")]
_Count = Annotated[
    int,
    BeforeValidator(lambda x: x if type(x) is int and 0 <= x <= _MOST_TOKENS else 0),
]


class Message(BaseModel):  # type: ignore[misc]
    """The words of a model."""

    content: _Text = ""
    refusal: _Text = ""  #: The words of a model that refuses; "" if it does not.


class Choice(BaseModel):  # type: ignore[misc]
    """One answer."""

    message: Message = Message()
    #: "stop", "length", "content_filter"; "" if that is not reported.
    finish_reason: _Text = ""


class Usage(BaseModel):  # type: ignore[misc]
    """The cost of an answer."""

    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0


class Completion(BaseModel):  # type: ignore[misc]
    """An answer of chat completions, of which servers differ in all else."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: Usage | None = None


def completion_of(body: bytes) -> Completion:
    """Read an answer's body. Raises ValueError, which says what it is instead."""
    try:
        made: Completion = Completion.model_validate_json(body)
        return made
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        if wrong["type"] != "json_invalid":
            raise ValueError("answers with JSON that holds no choice") from error
        text = str(body[:400], "utf-8", "replace")
        start = printable(" ".join(text.split()), 60)
        what = "an HTML page" if text.lstrip()[:1] == "<" else "no JSON"
        raise ValueError(f"answers with {what} ({start!r})") from error


class Client:
    """Asks an endpoint; threads may share it. Learns which parameters it refuses."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._without: frozenset[str] = frozenset()
        timeout_s = endpoint.timeout_s
        self._client = openai.OpenAI(
            base_url=endpoint.url,
            api_key="unused",  # _set_headers writes the header.
            max_retries=endpoint.retries,
            timeout=openai.Timeout(timeout_s, connect=min(10.0, timeout_s)),
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                trust_env=endpoint.url.startswith("https:"),
                event_hooks={"request": [self._set_headers]},
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def complete(self, request: Request, more_room: int = 0) -> Completion:
        """Return the answer to a request, with room for that many tokens more than it
        asks for.

        A parameter that the endpoint refuses is left out, now and later. Raises Failed.
        """
        model = self._endpoint.model
        while True:
            body = _without(request.body(model, more_room), self._without)
            try:
                # Not chat.completions.create: of an answer in an unexpected form it
                # makes an object all the same, or raises an error of its JSON. Nor
                # .parse: it refuses a whole answer that fills its room, and JSON
                # after thoughts or in a fence.
                answer = self._client.post(
                    "/chat/completions", cast_to=httpx2.Response, body=body
                )
                return completion_of(answer.content)
            except ValueError as error:
                raise malformed(f"{self._endpoint.url} {error}") from error
            except openai.OpenAIError as error:
                refused = _refused(error, body)
                if refused is None:
                    raise _failure_of(error, self._endpoint) from error
                self._without |= {refused}

    def _set_headers(self, request: httpx2.Request) -> None:
        # OPENAI_CUSTOM_HEADERS and OPENAI_ORG_ID add headers as well.
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        if self._endpoint.api_key:
            request.headers["authorization"] = f"Bearer {self._endpoint.api_key}"


def _without(body: dict[str, Any], refused: frozenset[str]) -> dict[str, Any]:
    if "max_tokens" in refused:
        body["max_completion_tokens"] = body.pop("max_tokens") + _THOUGHTS
    for name in {"temperature", "seed", "response_format"} & refused:
        del body[name]
    if "json_schema" in refused and "response_format" in body:
        body["response_format"] = {"type": "json_object"}
    return body


def _refused(error: openai.OpenAIError, body: dict[str, Any]) -> str | None:
    """Return the parameter of a body that an error is about, if it can be left out."""
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


def _failure_of(error: Exception, endpoint: Endpoint) -> Failed:
    """Return the failure for an error of the client."""
    kind = _kind(error)
    status = getattr(error, "status_code", None)
    says = f"{endpoint.url} answers {status}" if status else endpoint.url
    said = endpoint.quoted(_message(error))
    if kind == "timeout":
        said = f"no answer within {endpoint.timeout_s:g} s"
    spent = getattr(error, "code", None) == "insufficient_quota"
    return Failed(kind, f"{says}: {said}. {_TODO[kind]}", ends_all=spent)


def _kind(error: Exception) -> str:
    connecting = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError
    if isinstance(error.__cause__, connecting):
        return "unreachable"
    kinds: tuple[tuple[type[Exception], str], ...] = (
        (openai.APITimeoutError, "timeout"),
        (openai.APIConnectionError, "server"),
        (openai.AuthenticationError, "key"),
        (openai.PermissionDeniedError, "key"),
        (openai.NotFoundError, "model"),
        (openai.RateLimitError, "limit"),
    )
    for type_, kind in kinds:
        if isinstance(error, type_):
            return kind
    status = getattr(error, "status_code", 0)
    words = f"{getattr(error, 'code', '')} {getattr(error, 'type', '')} {error}".lower()
    if 300 <= status < 400:
        return "unreachable"
    if "content_filter" in words:
        return "refused"
    if status == 413 or (status < 500 and any(word in words for word in _OVERFLOW)):
        return "overflow"
    return "server"


def _message(error: Any) -> object:
    """Return a server's own message, or the cause of an error without one."""
    body = getattr(error, "body", None)
    if isinstance(body, dict) and body.get("message"):
        return body["message"]
    return error.__cause__ or error
