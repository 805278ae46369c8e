# SPDX-License-Identifier: BSD-3-Clause
"""ending.py: writes down what a run finds, in the process of its program, and says
until when that may go on: its parent ends it then."""

from __future__ import annotations

import _thread
import io
import mmap
import os
import struct
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.limits import Limits
from torchtraceap_dryrun.lines import user_stack
from torchtraceap_dryrun.record import Record
from torchtraceap_dryrun.script.ended import Ended
from torchtraceap_dryrun.script.journal import Journal

if TYPE_CHECKING:
    from torchtraceap_dryrun.dry_run import DryRun

#: What is written down may be lost for so long, if the process is killed.
_EVERY_S = 0.25
#: By so much operators, which let the program do its `finally`, see first that the time
#: is over.
_LATE_S = 0.5

exit_now = os._exit


class Shared:
    """What a process and its child both see: it needs no descriptor, which a program
    might close, and no room on a disk."""

    _BROKE, _LINE = 8, 1024
    _WIDTH = 1000

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    @property
    def until(self) -> float:
        """When the child is to have ended, as `time.monotonic` has it."""
        found: float = struct.unpack_from("d", self._memory)[0]
        return found

    @until.setter
    def until(self, moment: float) -> None:
        struct.pack_into("d", self._memory, 0, moment)

    @property
    def broke(self) -> str:
        """Why its record could not be written to its end; "": it could."""
        return self._text(self._BROKE)

    def break_off(self, why: str) -> None:
        """Say that."""
        self._set(self._BROKE, why)

    @property
    def line(self) -> Line | None:
        """The user's line that it was at last, if it is known."""
        file, _, rest = self._text(self._LINE).rpartition("\n")
        number, _, function = rest.partition(" ")
        return Line(file, int(number), function) if file else None

    def be_at(self, line: Line | None) -> None:
        """Say that."""
        at = f"{line.file}\n{line.line} {line.function}" if line else ""
        self._set(self._LINE, at if len(at.encode()) <= self._WIDTH else "")

    def _set(self, at: int, text: str) -> None:
        data = text.encode("utf-8", "replace")[: self._WIDTH] + b"\0"
        self._memory[at : at + len(data)] = data

    def _text(self, at: int) -> str:
        data = self._memory[at : at + self._WIDTH].split(b"\0", 1)[0]
        return data.decode("utf-8", "replace")


def _append(path: str, data: bytes) -> None:
    # Opened each time: programs close, and use again, descriptors that are not theirs.
    with io.FileIO(path, "ab") as file:
        while data:
            data = data[file.write(data) :]


class Ending:
    """Writes down what a run finds, and how its program ended."""

    def __init__(
        self, parent: int, journal: str, shared: Shared, grace_s: float
    ) -> None:
        self._parent, self._grace_s = parent, grace_s
        self._shared = shared
        self.journal = Journal(partial(_append, journal), shared.break_off)
        self._record = Record()
        self._limits: Limits | None = None
        self._process = os.getpid()  # Not what that forks.
        self._thread = threading.get_ident()
        self._told = False

    def begin(self, run: DryRun) -> None:
        """Write down what a run finds, from now on, also while its program does
        something else; and have the process ended soon after its time is over."""
        self._record, self._limits = run.record, run.limits
        self._end_in(run.limits.seconds_left + _LATE_S)
        # None of threading's, which the program sees.
        _thread.start_new_thread(self._write_often, ())

    def write(self, ended: Ended | None = None) -> None:
        """Write down what there is."""
        ops = self._limits.ops if self._limits else 0
        self.journal.write(self._record, ops, ended)

    def tell(self, ended: Ended, *, soon: bool = False) -> None:
        """Report how the program ended, or ask it to end: nothing that it does from now
        on counts, and it has to end soon. The first report holds."""
        if self._told or os.getpid() != self._process:
            return
        self.write(replace(ended, told_to_end=soon))
        self._told = True
        if soon:
            self._end_in(self._grace_s)

    def _write_often(self) -> None:
        # Without the parent nothing would end it any more.
        while os.getppid() == self._parent:
            stack = user_stack(sys._current_frames().get(self._thread))
            self._shared.be_at(stack[0] if stack else None)
            self.write()
            left = self._shared.until - time.monotonic()
            time.sleep(min(left, _EVERY_S) if left > 0 else _EVERY_S)
        exit_now(1)

    def _end_in(self, seconds: float) -> None:
        self._shared.until = time.monotonic() + seconds
