# SPDX-License-Identifier: BSD-3-Clause
"""target_file.py: writes files that users name, and none besides."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


def same_file(one: str, other: str) -> bool:
    """Tell whether two paths name one file that exists."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # One is not there; ValueError: no name of a file.
        return False


def refuse_trace(path: str, trace: str, instead: str = "file") -> None:
    """Raise ValueError if what is to be written is the trace itself."""
    if same_file(path, trace):
        raise ValueError(f"{path} is the trace itself. Give another {instead}.")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text and the end of its line. Raises OSError.

    Text that UTF-8 cannot hold raises UnicodeEncodeError and leaves the file alone.
    """
    data = (text + "\n").encode("utf-8")
    with open(path, "wb") as file:
        file.write(data)


@contextmanager
def new_file(path: str) -> Iterator[str]:
    """Give the name of a file to write, which becomes ``path`` after the block.

    It lies in a folder of its own beside ``path``, in which the block may have other
    files, and which is gone afterwards. If the block raises, ``path`` is as it was. As
    the core's `write_file` does: links are followed, and a file that is replaced keeps
    its permissions.

    Raises:
        ValueError: ``path`` is read-only or cannot be written.
    """
    import shutil
    import tempfile

    place = _meant_by(path)
    # A pipe or device has no place beside it that could be moved into it.
    is_special = os.path.exists(place) and not os.path.isfile(place)
    with ExitStack() as stack:
        with writing(path):
            folder = tempfile.TemporaryDirectory(
                prefix=".torchtraceap-",
                dir=None if is_special else os.path.dirname(place),
                ignore_cleanup_errors=True,
            )
            new = os.path.join(stack.enter_context(folder), "new")
        yield new
        with writing(path):
            if is_special:
                with open(new, "rb") as source, open(place, "wb") as special:
                    shutil.copyfileobj(source, special)
                return
            if os.path.exists(place):
                os.chmod(new, stat.S_IMODE(os.stat(place).st_mode))
            os.replace(new, place)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, or leave it as it was. Raises as `new_file` does."""
    with new_file(os.fspath(path)) as new, open(new, "wb") as file:
        file.write(data)


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn an OSError into the ValueError with which the core would say it."""
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _meant_by(path: str) -> str:
    """Return the file that a path means: its own, or where its links lead."""
    place = os.path.realpath(path)
    if not os.path.exists(place):
        if os.path.islink(path):
            raise _unwritable(path, "it is a link that leads nowhere")
    elif os.path.isfile(place):
        # Its folder would let it be replaced all the same, and so would root.
        if not stat.S_IMODE(os.stat(place).st_mode) & 0o222:
            raise _unwritable(path, "it is read-only")
        with writing(path), open(place, "ab"):
            pass
    return place


def _unwritable(path: str, why: str) -> ValueError:
    return ValueError(
        f"{path}: cannot be written: {why}. Choose a file in a folder that exists, may "
        "be written to and has room"
    )
