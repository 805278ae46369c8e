# SPDX-License-Identifier: BSD-3-Clause
"""data_set.py: the folder of a fleet's results, written batch by batch.

    DIR/fleet.json                          what the folder is, and how traces were read
    DIR/<table>/day=2026-10-01/000012.parquet
    DIR/_batches/000012.json                the items of a batch, and its files
    DIR/_new/                               files that are not whole yet

A batch counts once its file in ``_batches`` is there, which is moved into place after
its tables were written, synced and moved. It may replace earlier batches: their other
rows are written again with it. So whatever ends a run, an item is in the data set once
or not at all, and never lost to a later run: files that no batch names are removed when
the next run begins.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from torchtraceap.base.errors import ConfigError
from torchtraceap.fleets.batches import (
    BATCHES,
    Batch,
    Mark,
    batches_of,
    form_of,
    path_of,
)
from torchtraceap.fleets.rows import TABLES
from torchtraceap.fleets.tasks import Done

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT, _VERSION = "torchtraceap fleet", 1
_HEAD, _LOCK, _NEW = "fleet.json", "_lock", "_new"


class NotWritten(OSError):
    """The folder of a data set cannot be written."""


class DataSet:
    """The results of a fleet in a folder, to read or, by one process, to write."""

    def __init__(self, folder: str, give: str = "a folder") -> None:
        """Open a data set. Raises ConfigError if the folder is something else, or of
        another version; OSError. ``give`` is what may be given in place of that."""
        self.folder = folder
        self.settings = _settings_of(folder, give)
        self._batches = batches_of(folder)

    @classmethod
    def create(cls, folder: str, settings: Mapping[str, Any]) -> DataSet:
        """Open a data set that these settings made, or begin one in a new or an empty
        folder, which is one with its first batch. Raises what `DataSet` does."""
        with _told(folder):
            os.makedirs(folder, exist_ok=True)
            is_new = not set(os.listdir(folder)) - {_LOCK, _NEW}
        if is_new:
            found = cls.__new__(cls)
            found.folder, found.settings, found._batches = folder, settings, {}
            return found
        found = cls(folder, "a new or an empty folder, or one")
        found._refuse_others(settings)
        return found

    def _refuse_others(self, settings: Any) -> None:
        if self.settings != settings:
            was, now = (json.dumps(one) for one in (self.settings, settings))
            raise ConfigError(
                f"{self.folder}: its traces were analyzed with the settings {was}, and "
                f"now they are {now}. Use the same, or give another folder."
            )

    @property
    def marks(self) -> dict[str, Mark]:
        """The items by their ids."""
        batches = self._batches.values()
        return {id: mark for batch in batches for id, mark in batch.items.items()}

    def parts(self, table: str) -> list[str]:
        """Return the paths of the files of a table, in the order of writing: each trace
        once, also while a run writes."""
        names = [p for _, batch in sorted(self._batches.items()) for p in batch.parts]
        start = f"{table}/"
        return [os.path.join(self.folder, p) for p in names if p.startswith(start)]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Be the one process that writes, and remove unfinished batches of another one.

        Batches of which a file is gone or cut off count as lost, so their items are
        analyzed again. Raises ConfigError if there is another process; NotWritten.
        """
        import fcntl

        with _told(self.folder):
            lock = open(os.path.join(self.folder, _LOCK), "ab")  # noqa: SIM115
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConfigError(
                    f"{self.folder}: another process writes there. Wait until it is "
                    "done, or give another folder."
                ) from error
            if os.path.exists(os.path.join(self.folder, _HEAD)):
                now, self.settings = self.settings, _settings_of(self.folder)
                self._refuse_others(now)
            self._batches = batches_of(self.folder)  # As they are by now.
            with _told(self.folder):
                self._mark_lost()
                self._remove_rest()
            yield

    def add(
        self, done: Sequence[Done], replaced: Mapping[str, Collection[str]]
    ) -> None:
        """Write finished items in place of earlier ones, which ``replaced`` has by the
        ids of new ones: each item or none of it, and NotWritten."""
        place = {id: n for n, batch in self._batches.items() for id in batch.items}
        # Items that replace some of one batch are written with its rest: batches stay
        # small, wherever changes are.
        groups: list[tuple[set[int], list[Done]]] = []
        for one in done:
            old = {place[id] for id in replaced.get(one.item.id, ()) if id in place}
            new = [one]
            for group in [g for g in groups if g[0] & old or not (g[0] or old)]:
                groups.remove(group)
                old, new = old | group[0], group[1] + new
            groups.append((old, new))
        for old, new in groups:
            gone = {id for one in new for id in replaced.get(one.item.id, ())}
            with _told(self.folder):
                self._write(new, gone, sorted(old))

    def _write(self, done: list[Done], gone: set[str], old: list[int]) -> None:
        """Write a batch in place of the ``old`` ones, without their items ``gone``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._batches:
            head = {"format": _FORMAT, "version": _VERSION, "settings": self.settings}
            with self._placed(_HEAD) as file:
                file.write(json.dumps(head, indent=2).encode())
        number = max(self._batches, default=0) + 1
        was = {id: mark for n in old for id, mark in self._batches[n].items.items()}
        items = {id: mark for id, mark in was.items() if id not in gone}
        items |= {one.item.id: Mark.of(one, was.get(one.item.id)) for one in done}
        new: dict[tuple[str, str], list[pa.Table]] = defaultdict(list)
        for one in done:
            for name, table in one.tables.items():
                new[name, f"day={one.day}"].append(table)
        kept: dict[tuple[str, str], list[str]] = defaultdict(list)
        for part in (part for n in old for part in self._batches[n].parts):
            name, day, _ = part.split("/")
            kept[name, day].append(part)
        marks = {id: mark for id, mark in was.items() if id in gone}
        parts: dict[str, int] = {}
        try:
            for name, day in sorted(new.keys() | kept.keys()):
                tables = [self._rest(part, marks) for part in kept[name, day]]
                table = pa.concat_tables([*tables, *new[name, day]])
                if not table.num_rows:
                    continue
                part = f"{name}/{day}/{number:06}.parquet"
                with self._placed(part) as file:
                    pq.write_table(table, file, compression="zstd")
                    parts[part] = file.tell()
            self._mark(Batch(number, items, parts, tuple(old)))
        except OSError:
            for part in parts:  # The disk may be full.
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.folder, part))
            raise
        for n in old:
            self._remove(self._batches.pop(n))

    def _rest(self, part: str, gone: Mapping[str, Mark]) -> pa.Table:
        """Return the rows of a file that are not of these items."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        path = os.path.join(self.folder, part)
        try:
            table = pq.read_table(path, partitioning=None)
        except (OSError, pa.ArrowInvalid) as error:
            raise ConfigError(
                f"{path}: cannot be read ({error}). If it is damaged, remove it, and "
                "run the fleet again: its traces are analyzed once more."
            ) from error
        traces = [trace for mark in gone.values() for trace in mark.traces]
        key, ids = ("job", list(gone)) if part[:5] == "jobs/" else ("trace", traces)
        is_gone = pc.is_in(table[key], value_set=pa.array(ids, pa.string()))
        return table.filter(pc.invert(is_gone))

    def _mark(self, batch: Batch) -> None:
        """Have a batch count."""
        with self._placed(f"{BATCHES}/{batch.number:06}.json") as file:
            file.write(json.dumps(form_of(batch)).encode())
        self._batches[batch.number] = batch

    @contextlib.contextmanager
    def _placed(self, name: str) -> Iterator[BinaryIO]:
        """Give a file to write, which has its name after the block, and is synced."""
        path = os.path.join(self.folder, name)
        new = os.path.join(self.folder, _NEW, os.path.basename(name))
        os.makedirs(os.path.dirname(new), exist_ok=True)
        with open(new, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(new, path)
        within = name.split("/")[:-1]
        for depth in range(len(within), -1, -1):  # Folders may be new, too.
            _sync_folder(os.path.join(self.folder, *within[:depth]))

    def _mark_lost(self) -> None:
        for batch in list(self._batches.values()):
            sound = {p: n for p, n in batch.parts.items() if self._size_of(p) == n}
            if len(sound) < len(batch.parts):
                items = {id: mark.lost() for id, mark in batch.items.items()}
                self._mark(replace(batch, items=items, parts=sound))

    def _size_of(self, part: str) -> int:
        try:
            return os.stat(os.path.join(self.folder, part)).st_size
        except FileNotFoundError:
            return -1

    def _remove(self, batch: Batch) -> None:
        """Remove a batch that was replaced: its mark first, for good."""
        os.unlink(path_of(self.folder, batch.number))
        _sync_folder(os.path.join(self.folder, BATCHES))
        for part in batch.parts:
            path = os.path.join(self.folder, part)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            with contextlib.suppress(OSError):  # Not empty, as a rule.
                os.rmdir(os.path.dirname(path))

    def _remove_rest(self) -> None:
        """Remove what no batch names, and batches that were replaced."""
        known = {path_of(self.folder, number) for number in self._batches}
        folders = [os.path.join(self.folder, name) for name in (BATCHES, _NEW)]
        days = []
        for table in TABLES:
            known.update(self.parts(table))
            entries = _entries(os.path.join(self.folder, table))
            days += [path for path in entries if os.path.isdir(path)]
        for path in (path for folder in folders + days for path in _entries(folder)):
            if path not in known and not os.path.isdir(path):
                os.unlink(path)
        for folder in days:
            if not os.listdir(folder):
                os.rmdir(folder)


@contextlib.contextmanager
def _told(folder: str) -> Iterator[None]:
    """Have an OSError say that the folder cannot be written."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise NotWritten(error.errno, why, folder) from error


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # Some file systems cannot.
            os.fsync(handle)
    finally:
        os.close(handle)


def _entries(folder: str) -> list[str]:
    try:
        # Replaced batches in their order, so that none counts again if this is killed.
        return sorted(entry.path for entry in os.scandir(folder))
    except FileNotFoundError:
        return []


def _settings_of(folder: str, give: str = "a folder") -> Any:
    path = os.path.join(folder, _HEAD)
    try:
        with open(path, encoding="utf-8") as file:
            head = json.load(file)
        if head["format"] != _FORMAT:
            raise ValueError
        version, settings = head["version"], head["settings"]
    except (FileNotFoundError, NotADirectoryError):
        what = "holds something other than the results of a fleet"
        if not os.path.exists(folder):
            what = "there is no such folder"
        elif os.path.isdir(folder) and not set(os.listdir(folder)) - {_LOCK}:
            what = "holds no results of a fleet"
        raise ConfigError(
            f"{folder}: {what}. Give {give} that `torchtraceap fleet` wrote."
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
