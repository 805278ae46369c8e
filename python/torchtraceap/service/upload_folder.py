# SPDX-License-Identifier: BSD-3-Clause
"""upload_folder.py: a folder for the uploads of one server, which no server leaves."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torchtraceap.base.errors import ConfigError

_PREFIX = "torchtraceap-serve-"


@contextmanager
def upload_folder() -> Iterator[str]:
    """Make a folder below TMPDIR for the block, and delete those of servers that were
    killed. Raises ConfigError if there is no place for it.

    A server holds a lock on its folder, which the system frees however it ends.
    """
    try:
        for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            _sweep(left)
        folder, lock = _locked()
    except OSError as error:
        raise ConfigError(
            f"there is no folder for uploads: {error.strerror or error}. Set TMPDIR "
            "to one that can be written"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked() -> tuple[str, int]:
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):
            return folder, lock
        os.close(lock)  # Another server swept it before it was locked.


def _sweep(folder: Path) -> None:
    """Delete a folder, unless it is of a server that runs or of someone else."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        pass
    finally:
        os.close(lock)
