# SPDX-License-Identifier: BSD-3-Clause
"""asking.py: asks a language model about digests, several at a time, and makes opinions
of what it answers.

Two requests a digest. The first shows no text that the trace chose, and its answer
alone is the opinion's pattern; the second shows all of the digest, and its answer is
words.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.explanation import Usage
from torchtraceap.explain.model.answers import answer_of, problems_of, safe_words
from torchtraceap.explain.model.endpoint import Endpoint, Failed, malformed
from torchtraceap.explain.model.messages import (
    Request,
    advise_request,
    classify_request,
)

if TYPE_CHECKING:
    from torchtraceap.explain.model.client import Client, Completion

# Tokens that an answer which was cut off is given more, once: for thoughts before it.
_MORE_ROOM = 4096


def ask(
    digests: Sequence[Digest],
    endpoint: Endpoint,
    progress: Callable[[int, int], object] | None = None,
    advise: bool = True,
) -> list[Opinion]:
    """Return a model's opinion of each digest, in their order.

    A failure is an opinion that says so; after one that the next question would meet as
    well (a wrong key, no server), no more is asked. ``progress`` is called in this
    thread with how many are done and how many there are. ``advise``: ask for words too,
    not only for the pattern. Ctrl-C ends it at once.

    Raises ImportError, which names the extra, if OpenAI's client is not installed.
    """
    client = _client(endpoint)
    interview = _Interview(client, endpoint, advise)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Opinion | BaseException]] = queue.SimpleQueue()
    for index in range(len(digests)):
        todo.put(index)
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            try:
                index = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((index, interview.opinion_on(digests[index])))
            except BaseException as error:  # Raised again where it is waited for.
                done.put((index, error))

    # No pool: that would wait for its threads on Ctrl-C, for as long as a model thinks.
    count = min(endpoint.parallel, len(digests))
    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    opinions: dict[int, Opinion] = {}
    try:
        for thread in threads:
            thread.start()
        for number in range(1, len(digests) + 1):
            index, opinion = done.get()
            if isinstance(opinion, BaseException):
                raise opinion
            opinions[index] = opinion
            if progress is not None:
                progress(number, len(digests))
    finally:
        is_over.set()
        client.close()
    return [opinions[index] for index in range(len(digests))]


def usage_of(opinions: Iterable[Opinion]) -> Usage:
    """Add up the cost of opinions."""
    listed = list(opinions)
    return Usage(
        requests=sum(o.requests for o in listed),
        failed=sum(bool(o.failure) for o in listed),
        prompt_tokens=sum(o.prompt_tokens for o in listed),
        completion_tokens=sum(o.completion_tokens for o in listed),
    )


def _client(endpoint: Endpoint) -> Client:
    try:
        from torchtraceap.explain.model.client import Client
    except ImportError as error:
        raise ImportError(
            "a language model is asked through OpenAI's client, which here cannot be "
            f"imported ({error}): pip install 'torchtraceap[llm]'"
        ) from error
    return Client(endpoint)


@dataclass
class _Spent:
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, reply: Completion) -> None:
        self.requests += 1
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.completion_tokens += reply.usage.completion_tokens


@dataclass
class _Interview:
    """Asks about one digest after the other; threads may share it.

    A failure that the next request would meet as well ends it: no more is asked.
    """

    client: Client
    endpoint: Endpoint
    advise: bool
    _ended_by: Failed | None = field(default=None, init=False)

    def opinion_on(self, digest: Digest) -> Opinion:
        """Return the model's opinion of a digest, or why there is none."""
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
                reply = self.client.complete(request, more_room)
            except Failed as failed:
                # The room for the answer counts as well.
                if more_room and failed.kind == "overflow":
                    break
                raise
            spent.add(reply)
            message, finish = reply.choices[0].message, reply.choices[0].finish_reason
            if message.refusal or finish == "content_filter":
                words = message.refusal or "its filter took it out"
                said = self.endpoint.quoted(words)
                raise Failed(
                    "refused", f"{self.endpoint.model} refuses to answer: {said}"
                )
            try:
                return answer_of(message.content, request.schema)
            except ValueError as error:
                if finish != "length":
                    what = f"The answer of {self.endpoint.model} {error}"
                    raise malformed(what) from error
        raise Failed(
            "truncated",
            f"The answer of {self.endpoint.model} was cut off, also with room for "
            f"{_MORE_ROOM:,} tokens more. Choose a model that thinks less aloud, or "
            "give it more context",
        )
