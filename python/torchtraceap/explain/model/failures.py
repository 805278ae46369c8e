# SPDX-License-Identifier: BSD-3-Clause
"""failures.py: why a model gave no answer, in a word and in a sentence."""

from __future__ import annotations

from typing import Any

from torchtraceap.base.safe_text import printable
from torchtraceap.explain.model.endpoint import KEY_VARIABLE, Endpoint

_QUOTED = 300  # Characters of a server's message that are shown.
# After one of these, the next request would fail as well.
_OF_ALL = frozenset({"key", "unreachable", "model"})
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


class Failed(Exception):
    """A request without an answer that can be used.

    Attributes:
        kind: As in `Opinion.failure`.
        why: A sentence or two: what happened, and what to do.
        ends_all: The next request would fail as this one did.
    """

    def __init__(self, kind: str, why: str, ends_all: bool = False) -> None:
        super().__init__(kind, why)
        self.kind = kind
        self.why = why
        self.ends_all = ends_all or kind in _OF_ALL


def failure_of(error: Exception, endpoint: Endpoint) -> Failed:
    """Return the failure for an error of the client."""
    kind = _kind(error)
    status = getattr(error, "status_code", None)
    says = f"{endpoint.url} answers {status}" if status else endpoint.url
    said = said_by(_message(error), endpoint)
    if kind == "timeout":
        said = f"no answer within {endpoint.timeout_s:g} s"
    spent = getattr(error, "code", None) == "insufficient_quota"
    return Failed(kind, f"{says}: {said}. {_TODO[kind]}", ends_all=spent)


def said_by(text: object, endpoint: Endpoint) -> str:
    """Return a server's message as one short line, without a key that it quotes."""
    words = str(text)[: 10 * _QUOTED]
    if endpoint.api_key:
        words = words.replace(endpoint.api_key, "[key]")
    return printable(" ".join(words.split()), _QUOTED).rstrip(".")


def _kind(error: Exception) -> str:
    import httpx2
    import openai

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
