# SPDX-License-Identifier: BSD-3-Clause
"""client.py: OpenAI's client, set up so that a request reaches the endpoint alone.

Redirects are not followed. Environment proxies are used for https only, as a tunnel:
over plain http a proxy would read the request. Headers that describe the machine or the
account are removed.
"""

from __future__ import annotations

from typing import Any

import httpx2
import openai

from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap.explain.model.failures import failure_of
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
_THOUGHTS = 4096  # Tokens, which some models take out of the answer's room.
_FORMAT_WORDS = ("response_format", "json_schema", "structured output", "grammar")


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

    def complete(self, request: Request, more_room: int = 0) -> str:
        """Return the body of the answer to a request, with room for so many tokens more
        than it asks for.

        A parameter that the endpoint refuses is left out, now and later. Raises Failed.
        """
        model = self._endpoint.model
        while True:
            body = _without(request.body(model, more_room), self._without)
            try:
                # Not chat.completions.create: of an answer in an unexpected form it
                # makes an object without saying so, or raises an error of its JSON.
                answer = self._client.post(
                    "/chat/completions", cast_to=httpx2.Response, body=body
                )
                return str(answer.content, "utf-8", "replace")
            except openai.OpenAIError as error:
                refused = _refused(error, body)
                if refused is None:
                    raise failure_of(error, self._endpoint) from error
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
