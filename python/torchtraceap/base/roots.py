# SPDX-License-Identifier: BSD-3-Clause
"""roots.py: folders that files may be read from, and none besides."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from torchtraceap.base.safe_text import printable

_NAME_WIDTH = 300


class RootsError(ValueError):
    """A file that may not be read: ``str()`` says why, in the words of who named it,
    and what to do."""


@dataclass(frozen=True)
class FoundFile:
    """A regular file or a folder below a root, and its state when it was found."""

    given: str  #: As it was named, made printable.
    path: str  #: Absolute, all links followed.
    size: int  #: Bytes.
    state: tuple[int, ...]  #: Another one is another file, or another content.
    is_folder: bool = False


class Roots:
    """Folders that files may be read from.

    A name is resolved first, so that neither ``..`` nor a link leads out of them. Who
    may replace folders below a root while a file is read can still have another file
    opened; `refuse_changed` afterwards says so, unless it was put back meanwhile.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        """Take folders, of which links are followed now. Raises RootsError for what is
        none."""
        self.folders = tuple(map(_real_folder, folders))

    def hold(self, path: str) -> bool:
        """Tell whether a path that has no links in it lies below one of them."""
        return any(os.path.commonpath((path, f)) == f for f in self.folders)

    def find(self, name: str) -> FoundFile:
        """Return the file or folder of this name, absolute or relative to the first
        root.

        Raises RootsError. It does not reveal whether files outside exist.
        """
        given = printable(name.rstrip("/") or name, _NAME_WIDTH)
        try:
            path = os.path.realpath(os.path.join(self.folders[0], name))
            inside = self.hold(path)
            status = os.lstat(path) if inside else None
        except FileNotFoundError:
            raise RootsError(
                f"{given}: there is no such file. Give a path relative to the first "
                "root of this server, or an absolute one."
            ) from None
        except (OSError, ValueError):  # Such as a name too long, or with a null.
            raise RootsError(
                f"{given}: cannot be the name of a file here. Check the path."
            ) from None
        if status is None:
            raise RootsError(
                f"{given}: lies outside the folders that this server may read. Give a "
                "file below one of its roots, or start it with another --root."
            )
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            raise RootsError(
                f"{given}: is not a regular file. Give a trace, .json[.gz] or "
                ".pftrace[.gz]."
            )
        return FoundFile(given, path, status.st_size, _state(status), is_folder)

    def name(self, path: str) -> str:
        """Write an absolute path as `find` takes it: relative to the first root if it
        lies below that."""
        first = self.folders[0]
        below = os.path.commonpath((path, first)) == first
        return os.path.relpath(path, first) if below else path

    def refuse_changed(self, file: FoundFile) -> None:
        """Raise RootsError if a file is not what it was when it was found."""
        try:
            same = os.path.realpath(file.path) == file.path
            same = same and _state(os.lstat(file.path)) == file.state
        except OSError:
            same = False
        if not same:
            raise RootsError(
                f"{file.given}: the file was changed while it was read. Ask again when "
                "it is whole."
            )


def _state(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _real_folder(name: str) -> str:
    path = os.path.realpath(name)
    if not (name and os.path.isdir(path)):  # "" would be the current one.
        given = printable(name, _NAME_WIDTH)
        raise RootsError(
            f"{given or repr(name)} is not a folder. Give one whose traces may be read."
        )
    return path
