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
from contextlib import AbstractContextManager, contextmanager, suppress

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
    files, and which is gone afterwards. If the block raises, ``path`` is as it was.
    Links are followed, and a file that is replaced keeps its permissions.

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
    with _naming(where):
        place = where if special else _meant_by(where)
        beside = tempfile.gettempdir() if special else os.path.dirname(place)
        with _own_folder(beside) as folder:
            new = os.path.join(folder, "new")
            yield new
            if special:
                with open(new, "rb") as source, open(place, "wb") as target:
                    shutil.copyfileobj(source, target)
            else:
                _adopt(new, place)
                os.replace(new, place)


@contextmanager
def filling(path: str | os.PathLike[str]) -> Iterator[str]:
    """Give a folder to write files into, which are moved into the folder ``path`` after
    the block. It is made if it is not there, and else stays itself, for it may be
    mounted, or the current one: its files of these names are removed before the first
    new one is moved in, so there are never both old and new ones.

    Raises as `replacing` does.
    """
    where = os.fspath(path)
    with _naming(where):
        place = above = os.path.realpath(where)
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        with _own_folder(above) as folder:
            new = os.path.join(folder, "new")
            os.mkdir(new)
            yield new
            os.makedirs(place, exist_ok=True)
            names = os.listdir(new)
            for name in names:
                _adopt(os.path.join(new, name), _meant_by(os.path.join(place, name)))
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(place, name))
            for name in names:
                os.replace(os.path.join(new, name), os.path.join(place, name))


@contextmanager
def _naming(where: str) -> Iterator[None]:
    """Have an OSError about one of our own files name the one that the user knows."""
    try:
        yield
    except OSError as error:
        name = error.filename
        if error.errno and (name is None or BESIDE in os.fsdecode(name)):
            raise OSError(error.errno, error.strerror, where) from error
        raise


def _own_folder(beside: str) -> AbstractContextManager[str]:
    """Give a new folder in this one, which is gone after the block."""
    import tempfile

    return tempfile.TemporaryDirectory(
        prefix=BESIDE, dir=beside, ignore_cleanup_errors=True
    )


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


def _adopt(new: str, place: str) -> None:
    """Give a new file the owner and permissions of the one it replaces."""
    with suppress(FileNotFoundError):
        old = os.stat(place)
        with suppress(OSError):  # Only root can give a file to somebody else.
            os.chown(new, old.st_uid, old.st_gid)
        os.chmod(new, stat.S_IMODE(old.st_mode))


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
