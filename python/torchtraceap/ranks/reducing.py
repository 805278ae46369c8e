# SPDX-License-Identifier: BSD-3-Clause
"""reducing.py: traces of ranks reduced, several at a time, each in a child process.

A child gives all its memory back, and a crash costs one file. Peak memory is that of
the largest files, one for each child. It is sent pickles, each behind its length in
eight bytes: the options, then paths, each answered with its records or an exception. A
child imports none of the user's modules, so a script needs no ``__main__`` guard.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from torchtraceap.analysis_plan import AnalysisPlan
from torchtraceap.base.errors import TraceError, trace_error
from torchtraceap.base.program_files import read_below, read_roots
from torchtraceap.data.load import LoadPlan
from torchtraceap.ranks.merged import FAULTS, analyzed_ranks
from torchtraceap.ranks.rank_record import RankRecord, record_of

#: The ranks in a file, or the error that it caused.
Reduced = list[RankRecord] | Exception

_MOST_WORKERS = 16
# Memory that an analysis takes, by the size of its file: of 20 traces the most was 3.1
# times the text, which gzip makes 8 to 20 times smaller.
_PLAIN, _GZIPPED = 4, 60
_CGROUP = Path("/sys/fs/cgroup")

_CHILD = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from torchtraceap.ranks.reducing import main; main(int(sys.argv[1]))"
)


def reduce_files(
    paths: Sequence[str],
    loading: LoadPlan,
    plan: AnalysisPlan,
    progress: Callable[[int, int], object] | None = None,
) -> list[Reduced]:
    """Reduce files, in their order; the answer for a file that fails is its error.

    Runs as many at a time as processors and memory allow. ``progress`` is called with
    the number of files done, and of all. KeyboardInterrupt ends all children. Raises
    errors that are not the fault of a file (`FAULTS`).
    """
    workers = _workers(paths)
    threads = max(1, _processors() // workers)
    settings = {"threads": threads, **loading.settings}
    options = (replace(loading, settings=settings, progress=False), plan, read_roots())
    children: list[subprocess.Popen[bytes]] = []
    own = threading.local()
    done, over = 0, False

    def reduce(path: str) -> Reduced:
        nonlocal done
        child, fresh = getattr(own, "child", None), False
        if child is None or child.poll() is not None:
            child = own.child = _start()
            children.append(child)
            fresh = True
        if over:  # Those that the list had then are killed; this may be a later one.
            child.kill()
        answer: Reduced
        try:
            if fresh:
                send(_pipe(child.stdin), options)
            send(_pipe(child.stdin), path)
            answer = receive(_pipe(child.stdout))
        except (EOFError, OSError):
            answer = _crashed(path, child.wait())
        if isinstance(answer, Exception) and not isinstance(answer, FAULTS):
            raise answer
        done += 1
        if progress is not None:
            progress(done, len(paths))
        return answer

    # Ctrl-C reaches all processes of a terminal, and a child from its first moment on.
    # It inherits the mask; the main thread hears the signal and ends the children.
    mask = (signal.SIG_BLOCK, {signal.SIGINT})
    pool = ThreadPoolExecutor(workers, "reducing", signal.pthread_sigmask, mask)
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
            for stream in (child.stdin, child.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            child.wait()


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _start() -> subprocess.Popen[bytes]:
    # Modules are found where this process finds them, and not in the folder that it is
    # in now, in which a user's pickle.py may be. This package may be found by a hook.
    here = str(Path(__file__).parents[2])
    paths = [part for part in sys.path if part]
    if here not in paths:
        paths.insert(0, here)
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(os.getpid()), *paths],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # both were asked for
    return stream


def _crashed(path: str, code: int) -> TraceError:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    cause = f"the process that read it ended with {how}"
    hint = "Analyze this file alone; if memory ran out, load fewer categories or steps"
    return trace_error(path, "crashed", cause, hint)


def needed_bytes(path: str) -> int:
    """Return about how much memory the analysis of a file takes; 0 if there is none."""
    try:
        size = os.path.getsize(path)
    except (OSError, ValueError):  # ValueError: a NUL byte.
        return 0
    return size * (_GZIPPED if path.endswith(".gz") else _PLAIN)


def _workers(paths: Sequence[str]) -> int:
    """Return how many files to read at a time."""
    needs = max(1, *map(needed_bytes, paths))
    fit = max(1, _free_bytes() // 2 // needs)
    return max(1, min(_processors(), _MOST_WORKERS, len(paths), fit))


def _free_bytes() -> int:
    """Return the memory that is free, to this container too; 0 if unknown (macOS)."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
    with suppress(OSError, ValueError):  # No cgroup, or its limit is "max".
        most = int((_CGROUP / "memory.max").read_text())
        free = min(free, most - int((_CGROUP / "memory.current").read_text()))
    return max(0, free)


# --- What both processes use, and the child -------------------------------------------


def send(stream: IO[bytes], what: object) -> None:
    """Write an object whole."""
    data = pickle.dumps(what)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read an object; EOFError at the end, or where it is cut off."""
    head = stream.read(8)
    size = int.from_bytes(head, "little")
    data = stream.read(size) if len(head) == 8 else b""
    if len(head) < 8 or len(data) < size:
        raise EOFError
    return pickle.loads(data)


def watch_parent(parent: int) -> None:
    """Have this process end within a second of the one that started it, whatever
    ended that and whatever is being read."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(parent: int) -> None:
    """Reduce files in a child of this process until its input ends."""
    watch_parent(parent)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a library's output must not mix with answers
    with suppress(EOFError):
        loading, plan, roots = receive(requests)
        read_below(roots)
        while True:
            answer = _answer(receive(requests), loading, plan)
            try:
                send(answers, answer)
            except BrokenPipeError:  # No one reads it, nor what Python says at its end.
                os._exit(1)


def _answer(path: str, loading: LoadPlan, plan: AnalysisPlan) -> object:
    try:
        return [record_of(report) for report in analyzed_ranks(path, loading, plan)]
    except Exception as error:
        return error
