# SPDX-License-Identifier: BSD-3-Clause
"""data_set.py: the folder of a fleet's results, written batch by batch.

    DIR/fleet.json                          what the folder is, and how traces were read
    DIR/<table>/day=2026-10-01/000012.parquet
    DIR/_batches/000012.json                the items of a batch, and its files

A batch counts once its file in ``_batches`` is there, which is moved into place after
its tables were written and synced. So whatever ends a run, an item is in the data set
once or not at all: files that no batch names are removed when the next run begins.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from torchtraceap.base.errors import ConfigError
from torchtraceap.base.files import write_text
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.rows import TABLES
from torchtraceap.fleets.tasks import Done

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT, _VERSION = "torchtraceap fleet", 1
_HEAD, _BATCHES, _LOCK = "fleet.json", "_batches", "_lock"


@dataclass(frozen=True)
class Mark:
    """An item of the data set."""

    files: tuple[tuple[str, int, str], ...]  #: URL, size and stamp of each.
    traces: tuple[str, ...]  #: The ids of its traces.
    failed: bool  #: One of its traces could not be analyzed.

    @classmethod
    def of(cls, done: Done) -> Mark:
        """Return the mark of a finished item."""
        return cls(_states(done.item), done.traces, bool(done.failures))

    def is_of(self, item: Item) -> bool:
        """Tell whether the item is unchanged."""
        return self.files == _states(item)


@dataclass(frozen=True)
class _Batch:
    """A file in ``_batches``."""

    number: int
    items: Mapping[str, Mark]
    parts: tuple[str, ...]
    replaces: int | None = None


class DataSet:
    """The results of a fleet in a folder, to read or, by one process, to write."""

    def __init__(self, folder: str) -> None:
        """Open a data set. Raises ConfigError if the folder is something else, or of
        another version; OSError."""
        self.folder = folder
        self.settings = _settings_of(folder)
        self._batches = _batches_of(folder)

    @classmethod
    def create(cls, folder: str, settings: Mapping[str, Any]) -> DataSet:
        """Open a data set that these settings made, or begin one in a new or an empty
        folder. Raises what `DataSet` does."""
        os.makedirs(folder, exist_ok=True)
        if not set(os.listdir(folder)) - {_LOCK}:
            head = {"format": _FORMAT, "version": _VERSION, "settings": settings}
            write_text(os.path.join(folder, _HEAD), json.dumps(head, indent=2))
        found = cls(folder)
        if found.settings != settings:
            was, now = (json.dumps(one) for one in (found.settings, settings))
            raise ConfigError(
                f"{folder}: its traces were analyzed with the settings {was}, and now "
                f"they are {now}. Use the same, or give another folder."
            )
        return found

    @property
    def marks(self) -> dict[str, Mark]:
        """The items by their ids."""
        batches = self._batches.values()
        return {id: mark for batch in batches for id, mark in batch.items.items()}

    def parts(self, table: str) -> list[str]:
        """Return the paths of the files of a table, in the order of writing."""
        names = [p for _, batch in sorted(self._batches.items()) for p in batch.parts]
        start = f"{table}/"
        return [os.path.join(self.folder, p) for p in names if p.startswith(start)]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one process that writes, and remove unfinished batches of another one.

        Raises ConfigError if there is another one.
        """
        import fcntl

        with open(os.path.join(self.folder, _LOCK), "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConfigError(
                    f"{self.folder}: another process writes there. Wait until it is "
                    "done, or give another folder."
                ) from error
            self._batches = _batches_of(self.folder)  # As they are by now.
            self._remove_rest()
            yield

    def add(self, done: Sequence[Done]) -> None:
        """Write finished items as one batch: all of them, or none and an OSError."""
        import pyarrow as pa

        tables: dict[tuple[str, str], list[pa.Table]] = defaultdict(list)
        for one in done:
            for name, table in one.tables.items():
                tables[name, one.day].append(table)
        joined = {key: pa.concat_tables(parts) for key, parts in tables.items()}
        self._write(joined, {one.item.id: Mark.of(one) for one in done})

    def forget(self, ids: Collection[str]) -> None:
        """Remove items, to be analyzed again. Raises OSError."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        for batch in list(self._batches.values()):
            gone = {id: mark for id, mark in batch.items.items() if id in ids}
            if not gone:
                continue
            traces = pa.array([t for mark in gone.values() for t in mark.traces])
            tables = {}
            for part in batch.parts:
                name, day = part.split("/")[:2]
                table = pq.read_table(
                    os.path.join(self.folder, part), partitioning=None
                )
                key, values = (
                    ("job", list(gone)) if name == "jobs" else ("trace", traces)
                )
                is_in = pc.is_in(table[key], value_set=pa.array(values))
                if left := table.filter(pc.invert(is_in)):
                    tables[name, day.removeprefix("day=")] = left
            kept = {id: mark for id, mark in batch.items.items() if id not in gone}
            self._write(tables, kept, batch)
        self._remove_rest()

    def _write(
        self,
        tables: Mapping[tuple[str, str], pa.Table],
        items: Mapping[str, Mark],
        replaces: _Batch | None = None,
    ) -> None:
        import pyarrow.parquet as pq

        number = max(self._batches, default=0) + 1
        parts: list[str] = []
        try:
            for (name, day), table in sorted(tables.items()):
                parts.append(f"{name}/day={day}/{number:06}.parquet")
                with _synced(os.path.join(self.folder, parts[-1])) as file:
                    pq.write_table(table, file, compression="zstd")
            replaced = None if replaces is None else replaces.number
            batch = _Batch(number, items, tuple(parts), replaced)
            path = _path_of(self.folder, number)
            with _synced(f"{path}.new") as file:
                file.write(json.dumps(_form_of(batch)).encode())
            os.replace(f"{path}.new", path)
        except OSError:
            for part in parts:  # The disk may be full.
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.folder, part))
            raise
        self._batches[number] = batch
        if replaces is not None:
            del self._batches[replaces.number]

    def _remove_rest(self) -> None:
        """Remove what no batch names, and batches that were replaced."""
        known = {_path_of(self.folder, number) for number in self._batches}
        folders = [os.path.join(self.folder, _BATCHES)]
        for table in TABLES:
            known.update(self.parts(table))
            folders += _entries(os.path.join(self.folder, table))
        for path in (path for folder in folders for path in _entries(folder)):
            if path not in known:
                os.unlink(path)
        for folder in folders[1:]:
            if not os.listdir(folder):
                os.rmdir(folder)


@contextlib.contextmanager
def _synced(path: str) -> Iterator[BinaryIO]:
    """Give a file to write that is on the disk after the block."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _batches_of(folder: str) -> dict[int, _Batch]:
    found = {batch.number: batch for batch in _read_batches(folder)}
    replaced = {batch.replaces for batch in found.values()}
    return {number: one for number, one in found.items() if number not in replaced}


def _entries(folder: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []


def _states(item: Item) -> tuple[tuple[str, int, str], ...]:
    return tuple((file.url, file.size, file.stamp) for file in item.files)


def _path_of(folder: str, number: int) -> str:
    return os.path.join(folder, _BATCHES, f"{number:06}.json")


def _settings_of(folder: str) -> Any:
    path = os.path.join(folder, _HEAD)
    try:
        with open(path, encoding="utf-8") as file:
            head = json.load(file)
        if head["format"] != _FORMAT:
            raise ValueError
        version, settings = head["version"], head["settings"]
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.exists(folder):
            raise ConfigError(
                f"{folder}: there is no such folder. Give one that `torchtraceap "
                "fleet` wrote."
            ) from None
        raise ConfigError(
            f"{folder}: holds something else than the results of a fleet. Give a new "
            "or an empty folder, or one that `torchtraceap fleet` wrote."
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path}: does not say what the folder holds. Give another folder."
        ) from error
    if version != _VERSION:
        raise ConfigError(
            f"{folder}: is of version {version!r} of the data set, and this "
            f"torchtraceap has version {_VERSION}. Give another folder, or use the "
            "torchtraceap that wrote it."
        )
    return settings


def _form_of(batch: _Batch) -> dict[str, Any]:
    items = {
        id: [mark.files, mark.traces, mark.failed] for id, mark in batch.items.items()
    }
    return {"items": items, "parts": batch.parts, "replaces": batch.replaces}


def _read_batches(folder: str) -> Iterator[_Batch]:
    try:
        names = sorted(os.listdir(os.path.join(folder, _BATCHES)))
    except FileNotFoundError:
        return
    for name in names:
        path = os.path.join(folder, _BATCHES, name)
        if not name.endswith(".json"):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                form = json.load(file)
            items = {
                id: Mark(tuple((u, n, s) for u, n, s in files), tuple(traces), failed)
                for id, (files, traces, failed) in form["items"].items()
            }
            parts, replaces = tuple(form["parts"]), form["replaces"]
            yield _Batch(int(name.removesuffix(".json")), items, parts, replaces)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{path}: is damaged ({error}). Remove it, and run the fleet again: "
                "its traces are analyzed once more."
            ) from error
