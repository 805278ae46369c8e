# SPDX-License-Identifier: BSD-3-Clause
"""own_file.py: what this process writes down for its parent beside a program that may
close, and use again, every descriptor that it did not open."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from typing import IO

#: Programs that close what they inherited begin at 3, and often end at 100.
_HIGH = 200


class OwnFile:
    """A file under a descriptor that programs seldom touch, which is looked at before
    each write: by then it may be the program's own file.

    Args:
        file: Is closed, so that the program gets the descriptors that it would have.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            descriptor = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD_CLOEXEC, _HIGH)
        except OSError:  # So many may not be open here.
            descriptor = os.dup(file.fileno())
        file.close()
        self._descriptor = descriptor
        self._is = self._identity()

    @property
    def descriptor(self) -> int | None:
        """None: it is no longer of this file."""
        try:
            return self._descriptor if self._identity() == self._is else None
        except OSError:
            return None

    def write(self, data: bytes) -> None:
        """Write all of it, or raise OSError."""
        while data:
            if (descriptor := self.descriptor) is None:
                raise OSError(
                    errno.EBADF, "the program closed a file of torchtraceap's"
                )
            data = data[os.write(descriptor, data) :]

    def _identity(self) -> tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_dev, found.st_ino


class Slip:
    """A line of text in memory that a process shares with what it forks: it needs no
    descriptor, and no room on a disk."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def write(self, text: str) -> None:
        """Replace what it says."""
        data = text.encode("utf-8", "replace")[: mmap.PAGESIZE - 1] + b"\0"
        self._memory[: len(data)] = data

    def read(self) -> str:
        """Return what it says."""
        return self._memory[:].split(b"\0", 1)[0].decode("utf-8", "replace")
