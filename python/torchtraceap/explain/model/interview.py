# SPDX-License-Identifier: BSD-3-Clause
"""interview.py: asks a model about a digest, and makes an opinion of what it answers.

Two requests a digest. The first shows no text that the trace chose, and its answer
alone is the opinion's pattern; the second shows all of the digest, and its answer is
words.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.model.answers import problems_of, safe_words
from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap.explain.model.failures import Failed, said_by
from torchtraceap.explain.model.messages import (
    Request,
    advise_request,
    classify_request,
)
from torchtraceap.explain.model.replies import Reply, answer_of, reply_of

if TYPE_CHECKING:
    from torchtraceap.explain.model.client import Client

# Tokens that an answer which was cut off is given more, once: for thoughts before it.
_MORE_ROOM = 4096


@dataclass
class _Spent:
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, reply: Reply) -> None:
        self.requests += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens


@dataclass
class Interview:
    """Asks about one digest after the other; threads may share it.

    A failure that the next request would meet as well ends it: no more is asked.
    """

    client: Client
    endpoint: Endpoint
    advise: bool
    _ended_by: Failed | None = field(default=None, init=False)

    def opinion_on(self, digest: Digest) -> Opinion:
        """Return what the model says of a digest, or why it says nothing."""
        begin, spent = time.monotonic(), _Spent()
        opinion = Opinion(
            subject=digest.subject, model=self.endpoint.model, key=digest.key
        )
        try:
            answer = self._answer(classify_request(digest), spent)
            opinion = replace(opinion, pattern=answer["pattern"])
            if self.advise:
                answer = self._answer(advise_request(digest), spent)
                explanation = safe_words(answer["explanation"])
                advice = safe_words(answer["advice"])
                opinion = replace(
                    opinion,
                    explanation=explanation,
                    advice=advice,
                    problems=problems_of(f"{explanation}\n{advice}", digest),
                )
        except Failed as failed:
            if failed.ends_all and self._ended_by is None:
                self._ended_by = failed
            opinion = replace(opinion, failure=failed.kind, why=failed.why)
        return replace(
            opinion,
            requests=spent.requests,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            seconds=time.monotonic() - begin,
        )

    def _answer(self, request: Request, spent: _Spent) -> dict[str, str]:
        """Return the answer to a request. Raises Failed."""
        for more_room in (0, _MORE_ROOM):
            if self._ended_by is not None:
                ended = self._ended_by
                raise Failed(ended.kind, f"Not asked, as it failed before: {ended.why}")
            try:
                reply = reply_of(self.client.complete(request, more_room))
            except ValueError as error:
                raise self._malformed(f"{self.endpoint.url} {error}") from error
            except Failed as failed:
                # The room for the answer counts as well.
                if more_room and failed.kind == "overflow":
                    break
                raise
            spent.add(reply)
            if reply.refusal or reply.finish == "content_filter":
                said = said_by(reply.refusal or "its filter took it out", self.endpoint)
                raise Failed(
                    "refused", f"{self.endpoint.model} refuses to answer: {said}"
                )
            try:
                return answer_of(reply.content, request.schema)
            except ValueError as error:
                if reply.finish != "length":
                    raise self._malformed(
                        f"The answer of {self.endpoint.model} {error}"
                    ) from error
        raise Failed(
            "truncated",
            f"The answer of {self.endpoint.model} was cut off, also with room for "
            f"{_MORE_ROOM:,} tokens more. Choose a model that thinks less aloud, or "
            "give it more context",
        )

    @staticmethod
    def _malformed(what: str) -> Failed:
        return Failed(
            "malformed",
            f"{what}. Is the URL that of an OpenAI-compatible server (…/v1), and does "
            "the model follow a JSON schema?",
        )
