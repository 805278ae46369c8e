# SPDX-License-Identifier: BSD-3-Clause
"""asking.py: asks a language model about digests, several at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torchtraceap.data.opinion import Opinion
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.explanation import Usage
from torchtraceap.explain.model.endpoint import Endpoint
from torchtraceap.explain.model.interview import Interview

if TYPE_CHECKING:
    from torchtraceap.explain.model.client import Client


def ask(
    digests: Sequence[Digest],
    endpoint: Endpoint,
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
    interview = Interview(client, endpoint, advise)
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
