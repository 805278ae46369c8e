# SPDX-License-Identifier: BSD-3-Clause
"""threaded_programs.py: programs with threads, each also without: the same work done by
the calling thread."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

from torchtraceap.dryrun.record import Op, Record, TensorInfo

Batch = tuple[Tensor, Any]


def load(count: int = 3) -> Iterator[Batch]:
    """Move batches to the GPU on a stream of their own."""
    stream = torch.cuda.Stream()
    for _ in range(count):
        batch = torch.ones(8, 16).pin_memory()
        with torch.cuda.stream(stream):
            batch = batch.to("cuda", non_blocking=True) * 2.0
            ready = stream.record_event()
        yield batch, ready


def prefetched() -> Iterator[Batch]:
    """The same, in a thread that is two batches ahead."""
    done = object()
    batches: queue.Queue[Any] = queue.Queue(2)

    def work() -> None:
        for batch in load():
            batches.put(batch)
        batches.put(done)

    thread = threading.Thread(target=work, name="prefetch")
    thread.start()
    while (batch := batches.get(timeout=60)) is not done:
        yield batch
    thread.join()


def train(
    batches: Callable[[], Iterator[Batch]], log: Callable[[Tensor], None]
) -> None:
    """Train on batches; ``log`` reads losses."""
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for batch, ready in batches():
        torch.cuda.current_stream().wait_event(ready)
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        log(loss)


def read(loss: Tensor) -> None:
    """Wait for a loss."""
    loss.item()


def plain() -> None:
    """Train without threads."""
    train(load, read)


def threaded() -> None:
    """Train with a thread that loads and one that logs."""
    with ThreadPoolExecutor(1, "log") as pool:
        train(prefetched, lambda loss: pool.submit(read, loss).result())


def infos(values: Any) -> tuple[TensorInfo, ...]:
    return tuple(value for value in values if isinstance(value, TensorInfo))


def content(record: Record) -> Counter[Any]:
    """What was done, whoever did it and when."""
    return Counter(
        (
            entry.name,
            infos(entry.args),
            entry.outputs,
            entry.phase,
            entry.module,
            entry.stream,
            str(entry.line),
            str(entry.copy),
        )
        if isinstance(entry, Op)
        else (entry.kind, entry.stream, str(entry.line))
        for entry in record.entries
    )


def waits(record: Record) -> Counter[Any]:
    """The same of waits."""
    return Counter(
        (sync.api, sync.how, sync.value, sync.phase, str(sync.line), sync.module)
        for sync in record.syncs
    )
