# SPDX-License-Identifier: BSD-3-Clause
"""files.py: reads and writes files that users name, and none besides.

Each is written beside its place and then moved there, so that readers find
the old file or the new one, whole: on a full disk, after Ctrl-C, with two writers.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: What the names of folders begin with that hold a file until it is whole.
BESIDE = ".torchtraceap-"


def same_file(one: str, other: str) -> bool:
    """Tell whether two paths name one file that exists."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # One is not there; ValueError: no name of a file.
        return False


def open_file(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a regular file to read its bytes.

    Raises OSError, also for a pipe or a device, without waiting for one; ValueError for
    what is not the name of a file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is a pipe or a device; give a file", path)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file. Raises as `open_file` does."""
    with open_file(path) as stream:
        return stream.read()


def refuse_trace(path: str, trace: str, instead: str = "file") -> None:
    """Raise ValueError if what is to be written is the trace itself."""
    if same_file(path, trace):
        raise ValueError(f"{path} is the trace itself. Give another {instead}.")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text and the end of its line, or leave the file as it was. No text is an
    empty file.

    Raises OSError as `replacing` does; text that UTF-8 cannot hold raises
    UnicodeEncodeError.
    """
    data = (text + "\n" if text else "").encode("utf-8")
    with replacing(path) as new, open(new, "wb") as file:
        file.write(data)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give the name of a file to write, which becomes ``path`` after the block.

    It lies in a folder of its own beside ``path``, in which the block may have other
    files, and which is gone afterwards. If the block raises, ``path`` is as it was. As
    the core's `write_file` does: links are followed, and a file that is replaced keeps
    its permissions.

    Raises OSError, which names ``path``, if that is a folder, is read-only or cannot be
    written, also where that shows in the block only. Else what the block raises.
    """
    import shutil
    import tempfile

    where = os.fspath(path)
    # A pipe or device has no place beside it that could be moved into it; and what a
    # process has open under /dev/stdout would stay open on the old file.
    special = where.startswith(("/dev/std", "/dev/fd/", "/proc/")) or (
        os.path.exists(where) and not os.path.isfile(where) and not os.path.isdir(where)
    )
    try:
        place = where if special else _meant_by(where)
        with tempfile.TemporaryDirectory(
            prefix=BESIDE,
            dir=None if special else os.path.dirname(place),
            ignore_cleanup_errors=True,
        ) as folder:
            new = os.path.join(folder, "new")
            yield new
            if special:
                with open(new, "rb") as source, open(place, "wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                _move(new, place)
    except OSError as error:  # Of a file that the user knows, not one of ours.
        name = error.filename
        if error.errno and (name is None or BESIDE in os.fsdecode(name)):
            raise OSError(error.errno, error.strerror, where) from error
        raise


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """Do as `replacing`, but raise for an OSError that names ``path`` the ValueError
    with which the core says that a file cannot be written."""
    try:
        with replacing(path) as new:
            yield new
    except OSError as error:
        if error.filename != path:
            raise
        raise ValueError(
            f"{path}: cannot be written: {error.strerror or error}. Choose a file in "
            "an existing, writable folder with free space"
        ) from error


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, or leave it as it was. Raises as `new_file` does."""
    with new_file(os.fspath(path)) as new, open(new, "wb") as file:
        file.write(data)


def _move(new: str, place: str) -> None:
    if os.path.exists(place):
        old = os.stat(place)
        with suppress(OSError):  # Only root can give a file to somebody else.
            os.chown(new, old.st_uid, old.st_gid)
        os.chmod(new, stat.S_IMODE(old.st_mode))
    os.replace(new, place)


def _meant_by(path: str) -> str:
    """Return the file that a path means: its own, or where its links lead."""
    place = os.path.realpath(path)
    if os.path.isdir(place) or not os.path.basename(path):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if os.path.isfile(place):
        # Its folder would let it be replaced all the same, and so would root.
        if not stat.S_IMODE(os.stat(place).st_mode) & 0o222:
            raise PermissionError(errno.EACCES, "it is read-only")
        with open(place, "ab"):
            pass
    elif os.path.islink(path):
        raise OSError(errno.ENOENT, "it is a broken link")
    return place
