# SPDX-License-Identifier: BSD-3-Clause
"""journal.py: a record that one process writes down as it goes, and another one reads.

It is a row of pickled frames, so what was written remains however the writer ends.
Each says from which place on it holds: what was written of these before is replaced, as
the end of a step may be known only later. Loads no torch.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from torchtraceap_dryrun.record import Record
from torchtraceap_dryrun.script.ended import Ended


@dataclass
class Written:
    """What a journal says."""

    record: Record = field(default_factory=Record)
    ops: int = 0  #: How many operators had run.
    ended: Ended | None = None  #: None: it broke off.


class Journal:
    """Writes a record down, as far as it has come.

    A failed write is not the program's fault, so the program continues undisturbed.

    Args:
        append: Writes all of some bytes, or raises OSError.
        broke: Called with the reason why the journal cannot be completed.
    """

    def __init__(
        self, append: Callable[[bytes], object], broke: Callable[[str], None]
    ) -> None:
        self._append, self._broke = append, broke
        self._process = os.getpid()  # Not what that forks.
        # Reentrant: finalizers may run, and write, in the middle of a write.
        self._lock = threading.RLock()
        self._entries = self._syncs = 0  # That are written.
        self._closed = False

    def write(self, record: Record, ops: int, ended: Ended | None = None) -> None:
        """Write what is new; with how the program ended, for the last time."""
        if os.getpid() != self._process:  # A fork may lack the thread with the lock.
            return
        with self._lock:
            if self._closed:
                return
            entries = record.entries[self._entries :]
            syncs = record.syncs[self._syncs :]
            state = record.steps, record.peak_bytes, record.notes, ops
            frame = pickle.dumps(
                (self._entries, entries, self._syncs, syncs, state, ended), 5
            )
            self._closed = ended is not None
            try:
                self._append(frame)
            except OSError as error:  # After a part of a frame none can be read.
                self._closed = True
                self._broke(error.strerror or str(error))
            self._entries += len(entries)
            self._syncs += len(syncs)

    def again(self, entries: int = 0, syncs: int = 0) -> None:
        """Rewrite the entries from a place on, as they were changed."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._entries = min(self._entries, entries)
            self._syncs = min(self._syncs, syncs)


def read_journal(file: IO[bytes]) -> Written:
    """Read all that was written, until the end is reported; an unfinished frame is left
    out."""
    file.seek(0)
    written = Written()
    record = written.record
    while written.ended is None and (frame := _frame(file)) is not None:
        entries_at, entries, syncs_at, syncs, state, written.ended = frame
        record.entries[entries_at:] = entries
        record.syncs[syncs_at:] = syncs
        record.steps, record.peak_bytes, record.notes, written.ops = state
    return written


def _frame(file: IO[bytes]) -> Any:
    try:
        return pickle.load(file)
    except (EOFError, pickle.UnpicklingError):
        return None
