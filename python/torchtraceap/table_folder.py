# SPDX-License-Identifier: BSD-3-Clause
"""table_folder.py: a folder with one file for each of a report's tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchtraceap.table_columns import TABLES
from torchtraceap.target_file import BESIDE, refuse_trace

if TYPE_CHECKING:
    from torchtraceap.report import Report


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Raise ValueError if the folder holds anything but our own files.

    So what is written can replace the tables of another report, but no file of the
    user's that happens to have the name of one.
    """
    known = {f"{name}.parquet" for name in TABLES}
    try:
        there = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in there:
        if entry.name.startswith(BESIDE):  # Somebody is writing, or was killed.
            continue
        if entry.name not in known or not entry.is_file(follow_symlinks=False):
            raise ValueError(
                f"the folder {os.fspath(folder)} holds {entry.name}, which is none of "
                "the tables. Give a new or an empty folder, or one of such tables, "
                "which are replaced."
            )


def table_paths(
    report: Report, folder: str | os.PathLike[str]
) -> list[tuple[str, str]]:
    """Return each table with its file, in a folder that is made if it is not there.

    Raises:
        OSError: The folder cannot be made or read.
        ValueError: It holds other things, or the trace itself.
    """
    check_folder(folder)
    os.makedirs(folder, exist_ok=True)
    paths = [(name, os.path.join(folder, f"{name}.parquet")) for name in TABLES]
    for _, path in paths:
        refuse_trace(path, report.trace.path, "folder")
    return paths
