# SPDX-License-Identifier: BSD-3-Clause
"""asking.py: asks a language model about digests, several at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.answer_cache import AnswerCache
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.endpoint import MOST_WAIT_S, Endpoint
from torchtraceap.explain.explanation import Usage
from torchtraceap.explain.interview import Interview

if TYPE_CHECKING:
    from torchtraceap.explain.client import Client


def ask(
    digests: Sequence[Digest],
    endpoint: Endpoint,
    cache: AnswerCache | None = None,
    progress: Callable[[int, int], object] | None = None,
    advise: bool = True,
) -> list[Opinion]:
    """Return what a model says of each digest, in their order.

    A failure is an opinion that says so; after one that the next question would meet as
    well (a wrong key, no server), no more is asked. ``progress`` is called in this
    thread with how many are done and how many there are. ``advise``: ask for words too,
    not only for the pattern. Ctrl-C ends it at once.

    Raises ImportError, which names the extra, if OpenAI's client is not installed.
    """
    client = _client(endpoint)
    interview = Interview(client, endpoint, cache, advise)
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
            index, opinion = done.get(timeout=_longest_s(endpoint))
            if isinstance(opinion, BaseException):
                raise opinion
            opinions[index] = opinion
            if progress is not None:
                progress(number, len(digests))
    except queue.Empty:
        pass
    finally:
        is_over.set()
        client.close()
    if cache is not None:
        cache.trim()
    return [
        opinions.get(index) or _without_end(digest, endpoint)
        for index, digest in enumerate(digests)
    ]


def usage_of(opinions: Iterable[Opinion], endpoint: Endpoint) -> Usage:
    """Add up what opinions cost; the seconds are those of all requests together."""
    listed = list(opinions)
    prompt = sum(o.prompt_tokens for o in listed)
    completion = sum(o.completion_tokens for o in listed)
    usd = None
    if endpoint.usd_per_million is not None:
        into, out = endpoint.usd_per_million
        usd = (prompt * into + completion * out) / 1e6
    return Usage(
        requests=sum(o.requests for o in listed),
        cached=sum(o.cached for o in listed),
        failed=sum(bool(o.failure) for o in listed),
        prompt_tokens=prompt,
        completion_tokens=completion,
        usd=usd,
        seconds=sum(o.seconds for o in listed),
    )


def _longest_s(endpoint: Endpoint) -> float:
    """Return how long no digest can take: an endpoint that answers with headers without
    end, for example, is past all other limits."""
    attempts = (endpoint.retries + 1) * (endpoint.timeout_s + MOST_WAIT_S)
    return 10 * attempts  # Two requests, each with more room, and parameters refused.


def _without_end(digest: Digest, endpoint: Endpoint) -> Opinion:
    return Opinion(
        subject=digest.subject,
        model=endpoint.model,
        key=digest.key,
        failure="timeout",
        why=f"{endpoint.url} answers without an end. Is it a server of models?",
    )


def _client(endpoint: Endpoint) -> Client:
    try:
        from torchtraceap.explain.client import Client
    except ImportError as error:
        raise ImportError(
            "a language model is asked through OpenAI's client, which here cannot be "
            f"imported ({error}): pip install 'torchtraceap[llm]'"
        ) from error
    return Client(endpoint)
