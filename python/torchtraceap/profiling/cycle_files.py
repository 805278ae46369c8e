# SPDX-License-Identifier: BSD-3-Clause
"""cycle_files.py: the files of a recorded cycle, whose names never collide."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from torchtraceap.base.arguments import instead_of, of_type
from torchtraceap.profiling import live
from torchtraceap.profiling.notices import guarded, reason, warn
from torchtraceap.report import Report
from torchtraceap.views.outputs import OUTPUTS, Output, write_output

# The profiler's own trace is a format of its own; TensorBoard knows the suffix.
_TRACE = Output("trace", ".pt.trace.json.gz", "the profiler's trace itself")
_USUAL = ("json", "html")


class CycleFiles:
    """Writes the files of cycles to one folder, which is made if there is none.

    Raises ValueError for an unknown format, one without a folder, or a wrong name, and
    OSError if the folder cannot be made.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None,
        formats: Iterable[str] | None,
        name: str,
    ) -> None:
        if not name or os.path.basename(name) != name or "\0" in name:
            raise ValueError(
                f"name must be what names of files can begin with, but is {name!r}"
            )
        self._folder = None if folder is None else os.fspath(folder)
        self._outputs = _outputs(formats, self._folder)
        self._name = name
        if self._folder is not None:
            os.makedirs(self._folder, exist_ok=True)

    def write(self, report: Report | None, prof: Any) -> list[str]:
        """Writes what there is to write and returns the paths of that.

        A file that cannot be written is warned of. Once the trace is written,
        ``report.trace.path`` is its path.
        """
        wanted = [o for o in self._outputs if report is not None or o is _TRACE]
        if self._folder is None or not wanted:
            return []
        stem = _file_stem(self._name, getattr(prof, "step_num", 0))
        try:
            paths = _claim(self._folder, stem, wanted)
        except OSError as error:
            warn(f"nothing was written to {self._folder}: {reason(error)}")
            return []
        written = [
            path
            for output, path in zip(wanted, paths, strict=True)
            if guarded(
                f"{path} was not written", partial(_write, output, report, prof, path)
            )
        ]
        _give_up(paths)  # removes what stayed empty
        return written


def rank() -> int | None:
    """Returns the rank of this process among several, None if it is alone."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        alone = distributed.get_world_size() == 1
        return None if alone else int(distributed.get_rank())
    number = os.environ.get("RANK", "")  # as torchrun sets it
    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    return int(number) if number.isdecimal() and not alone else None


def _file_stem(name: str, step: int) -> str:
    """Returns the name of a cycle's files, as in "report-rank1-step5"."""
    parts = [name]
    if (number := rank()) is not None:
        parts.append(f"rank{number}")
    if step:
        parts.append(f"step{step}")
    return "-".join(parts)


def _outputs(formats: Iterable[str] | None, folder: str | None) -> list[Output]:
    known = {output.name: output for output in (_TRACE, *OUTPUTS)}
    if formats is None:
        return [known[name] for name in _USUAL if folder]
    if not isinstance(formats, Iterable):
        raise TypeError(f"formats must be names of formats, but is {of_type(formats)}")
    wanted = [formats] if isinstance(formats, str) else list(formats)
    for name in wanted:
        if name not in known:
            raise ValueError(f"no format is called {name!r}: {instead_of(name, known)}")
    if wanted and not folder:
        raise ValueError(f"formats={wanted} need a folder to go to: give one")
    # The trace first: the others may name it.
    return [output for name, output in known.items() if name in wanted]


def _write(output: Output, report: Report | None, prof: Any, path: str) -> None:
    if output is _TRACE:
        live.save(prof, path)
        if report is not None:
            report.name_trace(path)
    elif report is not None:
        write_output(output, [report], path)


def _claim(folder: str, stem: str, outputs: Sequence[Output]) -> list[str]:
    """Makes a new empty file, or folder, in `folder` for each output.

    Returns their paths. All have the same stem, with a number added if one of them is
    taken, even by another process at this very moment. Raises OSError.
    """
    os.makedirs(folder, exist_ok=True)
    number = 1
    while True:
        name = os.path.join(folder, stem if number == 1 else f"{stem}-{number}")
        made: list[str] = []
        try:
            for output in outputs:
                path = name + (output.suffix or f"-{output.name}")
                _make(path, is_folder=not output.suffix)
                made.append(path)
            return made
        except FileExistsError:
            number += 1
            _give_up(made)
        except BaseException:
            _give_up(made)
            raise


def _give_up(paths: Sequence[str]) -> None:
    """Removes what `claim` made, as far as nothing was written there."""
    for path in paths:
        try:
            if os.path.isdir(path):
                os.rmdir(path)
            elif os.path.getsize(path) == 0:
                os.remove(path)
        except OSError:
            continue


def _make(path: str, is_folder: bool) -> None:
    if is_folder:
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
