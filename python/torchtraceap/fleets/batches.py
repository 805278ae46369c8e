# SPDX-License-Identifier: BSD-3-Clause
"""batches.py: the account of a data set: which items a batch has, and which files.

It is the folder ``_batches``, with a file for each batch. A batch that another one
replaces is there until it is removed, and does not count.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torchtraceap.base.errors import ConfigError
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.tasks import Done

#: The folder of the batches.
BATCHES = "_batches"
#: Failures that may be gone in the next call, unlike a damaged file; and the calls that
#: try such a trace.
_TRANSIENT = frozenset(
    {"crashed", "memory", "unreadable", "internal", "changed", "missing"}
    | {"unreachable", "no_fsspec", "no_protocol"}
)
_TRIES = 3
_READS = 5  # Of the folder, which a run may change.


@dataclass(frozen=True)
class Mark:
    """An item of the data set."""

    files: tuple[tuple[str, int, str], ...]  #: URL, size and stamp of each.
    traces: tuple[str, ...]  #: The ids of its traces.
    failed: bool  #: One of its traces could not be analyzed.
    tries: int = 0  #: Calls that failed in a way that may be gone in the next.

    @classmethod
    def of(cls, done: Done, before: Mark | None = None) -> Mark:
        """Return the mark of a finished item, and of an earlier call."""
        tries = 0
        if any(one.kind in _TRANSIENT for one in done.failures):
            tries = 1 + (before.tries if before and before.is_of(done.item) else 0)
        return cls(_states(done.item), done.traces, bool(done.failures), tries)

    @property
    def is_open(self) -> bool:
        """The next call is to try it again."""
        return 0 < self.tries < _TRIES

    def is_of(self, item: Item) -> bool:
        """Tell whether the item is unchanged."""
        return self.files == _states(item)

    def has(self, item: Item) -> bool:
        """Tell whether the files of the item are here, unchanged."""
        return set(_states(item)) <= set(self.files)

    def lost(self) -> Mark:
        """Return a mark that is of no item: rows of it are gone."""
        files = tuple((url, size, "") for url, size, _ in self.files)
        return replace(self, files=files)


@dataclass(frozen=True)
class Batch:
    """A batch, and what it replaces."""

    number: int
    items: Mapping[str, Mark]
    parts: Mapping[str, int]  # Their bytes.
    replaces: tuple[int, ...] = ()


def batches_of(folder: str) -> dict[int, Batch]:
    """Return the batches that count, by their numbers. Raises ConfigError, OSError."""
    for left in reversed(range(_READS)):
        try:
            found = {batch.number: batch for batch in _read_batches(folder)}
            break
        except FileNotFoundError:  # Replaced since the folder was listed.
            if not left:
                raise
    replaced = {number for batch in found.values() for number in batch.replaces}
    return {number: one for number, one in found.items() if number not in replaced}


def form_of(batch: Batch) -> dict[str, Any]:
    """Return a batch as JSON."""
    items = {
        id: [mark.files, mark.traces, mark.failed, mark.tries]
        for id, mark in batch.items.items()
    }
    return {"items": items, "parts": batch.parts, "replaces": batch.replaces}


def _read_batches(folder: str) -> Iterator[Batch]:
    try:
        names = sorted(os.listdir(os.path.join(folder, BATCHES)))
    except FileNotFoundError:
        return
    for name in names:
        path = os.path.join(folder, BATCHES, name)
        if not name.endswith(".json"):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                form = json.load(file)
            items = {
                id: Mark(tuple((u, n, s) for u, n, s in files), tuple(traces), *state)
                for id, (files, traces, *state) in form["items"].items()
            }
            parts, replaces = dict(form["parts"]), tuple(form["replaces"])
            yield Batch(int(name.removesuffix(".json")), items, parts, replaces)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}: is damaged ({error}). Remove it, and run the fleet again: "
                "its traces are analyzed once more."
            ) from error


def _states(item: Item) -> tuple[tuple[str, int, str], ...]:
    return tuple((file.url, file.size, file.stamp) for file in item.files)


def path_of(folder: str, number: int) -> str:
    """Return the file of a batch."""
    return os.path.join(folder, BATCHES, f"{number:06}.json")
