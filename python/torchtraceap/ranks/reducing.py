# SPDX-License-Identifier: BSD-3-Clause
"""reducing.py: traces of ranks reduced, several at a time, each in a child process.

A crash costs one file. Peak memory is that of the largest files, one for each child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.base.children import (
    Child,
    ChildEnded,
    free_bytes,
    processors,
    serve,
    threads_for_children,
)
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.program_files import read_below, read_roots
from torchtraceap.base.roots import Roots
from torchtraceap.data.load import LoadPlan
from torchtraceap.ranks.merged import FAULTS, analyzed_ranks
from torchtraceap.ranks.rank_record import RankRecord, record_of

#: The ranks in a file, or the error that it caused.
Reduced = list[RankRecord] | Exception

_MOST_WORKERS = 16
# Memory that an analysis takes, by the size of its file: of 20 traces the most was 3.1
# times the text, which gzip makes 8 to 20 times smaller.
_PLAIN, _GZIPPED = 4, 60
_GZIP_MAGIC = b"\x1f\x8b"  # A name may lie.


def reduce_files(
    paths: Sequence[str],
    loading: LoadPlan,
    plan: AnalysisPlan,
    progress: Callable[[int, int], object] | None = None,
    most: int | None = None,
) -> list[Reduced]:
    """Reduce files, in their order; the answer for a file that fails is its error.

    Runs as many at a time as processors, memory and ``most`` allow: with 1, one after
    the other in this process, which a crash then ends. ``progress`` is called with the
    number of files done, and of all. KeyboardInterrupt ends all children. Raises
    errors that are not the fault of a file (`FAULTS`).
    """
    if most == 1:
        return [*_reduced_here(paths, loading, plan, progress)]
    workers = min(_workers(paths), most or _MOST_WORKERS)
    threads = max(1, processors() // workers)
    settings = {"threads": threads, **loading.settings}
    options = (replace(loading, settings=settings, progress=False), plan, read_roots())
    children: list[Child] = []
    own = threading.local()
    done, over = 0, False

    def reduce(path: str) -> Reduced:
        nonlocal done
        child: Child | None = getattr(own, "child", None)
        if child is None or child.has_ended:
            child = own.child = Child(__name__, options)
            children.append(child)
        if over:  # Those that the list had then are killed; this may be a later one.
            child.kill()
        answer: Reduced
        try:
            answer = child.ask(path)
        except ChildEnded as ended:
            answer = _crashed(path, ended.code)
        if isinstance(answer, Exception) and not isinstance(answer, FAULTS):
            raise answer
        done += 1
        if progress is not None:
            progress(done, len(paths))
        return answer

    pool = threads_for_children(workers, "reducing")
    try:
        return list(pool.map(reduce, paths))
    except BaseException:
        over = True
        for child in children:
            child.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for child in children:
            child.close()


def _reduced_here(
    paths: Sequence[str],
    loading: LoadPlan,
    plan: AnalysisPlan,
    progress: Callable[[int, int], object] | None,
) -> Iterator[Reduced]:
    for done, path in enumerate(paths, 1):
        try:
            yield _records(path, loading, plan)
        except FAULTS as error:
            yield error
        if progress is not None:
            progress(done, len(paths))


def _crashed(path: str, code: int) -> TraceError:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    cause = f"the process that read it ended with {how}"
    hint = "Analyze this file alone; if memory ran out, load fewer categories or steps"
    return trace_error(path, "crashed", cause, hint)


def needed_bytes(path: str) -> int:
    """Return about how much memory the analysis of a file takes; 0 if there is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            is_gzip = file.read(2) == _GZIP_MAGIC
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):  # ValueError: a NUL byte.
        return 0
    return size * (_GZIPPED if is_gzip else _PLAIN)


def _workers(paths: Sequence[str]) -> int:
    """Return how many files to read at a time."""
    needs = max(1, *map(needed_bytes, paths))
    fit = max(1, (free_bytes() or 0) // 2 // needs)
    return max(1, min(processors(), _MOST_WORKERS, len(paths), fit))


# --- The child ------------------------------------------------------------------------


def main(parent: int) -> None:
    """Reduce files in a child of this process until its input ends."""

    def set_up(
        options: tuple[LoadPlan, AnalysisPlan, Roots | None],
    ) -> Callable[[str], object]:
        loading, plan, roots = options
        read_below(roots)
        return lambda path: _answer(path, loading, plan)

    serve(parent, set_up)


def _answer(path: str, loading: LoadPlan, plan: AnalysisPlan) -> object:
    try:
        return _records(path, loading, plan)
    except Exception as error:
        return error


def _records(path: str, loading: LoadPlan, plan: AnalysisPlan) -> list[RankRecord]:
    return [record_of(report) for report in analyzed_ranks(path, loading, plan)]
