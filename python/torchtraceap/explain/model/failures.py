# SPDX-License-Identifier: BSD-3-Clause
"""failures.py: why a model gave no answer, in a word and in a sentence."""

from __future__ import annotations

import re
from typing import Any

from torchtraceap.base.safe_text import printable
from torchtraceap.explain.model.endpoint import KEY_VARIABLE, Endpoint

_QUOTED = 300  # Characters of what a server says that are shown.
# After one of these, the next request would fail as well.
_OF_ALL = frozenset({"key", "unreachable", "model"})
_CHECK_KEY = (
    "Check the API key: name its variable (--key-env), or give api_key=; by itself "
    f"{KEY_VARIABLE} goes to OpenAI and to this machine only"
)
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length"
    r"|context (?:size|length|window)",
    re.IGNORECASE,
)


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
    """Return what an error of the client means."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error, endpoint)
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(error, endpoint)
    said = said_by(error, endpoint)
    return Failed("malformed", f"{endpoint.url} answers what cannot be read: {said}")


def said_by(text: object, endpoint: Endpoint) -> str:
    """Return what a server says as one short line, without a key that it quotes."""
    words = str(text)[: 10 * _QUOTED]
    if endpoint.api_key:
        words = words.replace(endpoint.api_key, "[key]")
    return printable(" ".join(words.split()), _QUOTED).rstrip(".")


def _of_connection(error: Exception, endpoint: Endpoint) -> Failed:
    import httpx2
    import openai

    cause = error.__cause__
    said = said_by(cause or error, endpoint)
    where = f"{endpoint.url} cannot be reached"
    if isinstance(cause, httpx2.ConnectTimeout):
        return Failed("unreachable", f"{where}: nothing answers. Check host and port")
    if isinstance(error, openai.APITimeoutError):
        return Failed(
            "timeout",
            f"{endpoint.url} took longer than {endpoint.timeout_s:g} s. Give it more "
            "time (timeout_s), fewer digests at a time (parallel), or a faster model",
        )
    if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
        todo = "Check host and port, and that the server runs"
        if re.search(r"certificate|ssl|tls", said, re.IGNORECASE):
            todo = "Check its certificate (SSL_CERT_FILE names those to trust)"
        return Failed("unreachable", f"{where} ({said}). {todo}")
    return Failed(
        "server",
        f"{endpoint.url} broke off ({said}). Look into the server's log, or try again",
    )


def _of_status(error: Any, endpoint: Endpoint) -> Failed:
    status = error.status_code
    body = error.body if isinstance(error.body, dict) else {}
    words = f"{body.get('code')} {body.get('type')} {error.message}"
    said = said_by(body.get("message") or error.message, endpoint)
    says = f"{endpoint.url} answers {status}: {said}"
    if 300 <= status < 400:
        target = said_by(error.response.headers.get("location", "?"), endpoint)
        return Failed(
            "unreachable",
            f"{endpoint.url} sends on to {target}, which is not followed: nobody asked "
            "for that. Give the URL that is meant",
        )
    if status in (401, 403):
        return Failed("key", f"{says}. {_CHECK_KEY}")
    if status == 413 or (status in (400, 422) and _OVERFLOW.search(words)):
        return Failed("overflow", _overflow(body, said, endpoint))
    if status == 404:
        todo = "Check the model's name, and that the URL ends as it has to (/v1)"
        return Failed("model", f"{says}. {todo}")
    if status == 429:
        spent = "insufficient_quota" in words
        wait = said_by(error.response.headers.get("retry-after", ""), endpoint)
        asks = f" It asks to wait {wait} s." if wait.isdigit() else ""
        todo = "Look at the account's credit" if spent else "Lower parallel, or wait"
        return Failed("limit", f"{says}.{asks} {todo}", ends_all=spent)
    if "content_filter" in words:
        return Failed("refused", f"{says}. Its filter took the digest for harmful")
    todo = "Try again later" if status >= 500 else "It may not take such requests"
    return Failed("server", f"{says}. {todo}; its log may tell more")


def _overflow(body: dict[str, Any], said: str, endpoint: Endpoint) -> str:
    room, needed = body.get("n_ctx"), body.get("n_prompt_tokens")
    if not (isinstance(room, int) and isinstance(needed, int)):
        # As OpenAI and vLLM say it: the room first, then what is needed.
        numbers = re.findall(r"\b\d[\d,]{2,11}\b", said)[:2]
        room, needed = (int(n.replace(",", "")) for n in (*numbers, "0", "0")[:2])
    much = said
    if room and needed:
        much = f"it takes {needed:,} tokens, and the model {room:,}"
    return (
        f"The request is too long for {endpoint.model}: {much}. Make the digest "
        "smaller (tokens=, --tokens), or give the model more context"
    )
