# SPDX-License-Identifier: BSD-3-Clause
"""children.py: child processes of this package that answer requests, one by one.

A child gives all its memory back when it ends, and a crash costs one request. It is
sent pickles, each behind its length in eight bytes: its settings, then requests, each
followed by the answer. A child imports none of the user's modules, so a script needs
no ``__main__`` guard.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_CGROUP = Path("/sys/fs/cgroup")
_CODE = (
    "import sys; sys.path[:] = sys.argv[3:]; from importlib import import_module; "
    "import_module(sys.argv[2]).main(int(sys.argv[1]))"
)


class ChildEnded(Exception):
    """A child ended before it answered: ``code`` is its exit code, or the negative
    number of the signal that killed it."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Child:
    """A process that runs ``main`` of a module of this package; see `serve`."""

    def __init__(self, module: str, settings: object) -> None:
        self._settings: tuple[object, ...] = (settings,)
        self._process = subprocess.Popen(
            command_of(module, os.getpid()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Its group, for `kill`.
        )

    def ask(self, request: object) -> Any:
        """Return the answer to a request. Raises ChildEnded if the child ends first."""
        try:
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None and stdout is not None  # both were asked for
            for what in (*self._settings, request):
                send(stdin, what)
            self._settings = ()
            return receive(stdout)
        except (EOFError, OSError):
            raise ChildEnded(self._process.wait()) from None

    @property
    def has_ended(self) -> bool:
        """The process is gone."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process and those that it started at once; `close` waits for it."""
        if not self.has_ended:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let the process end, and wait for that."""
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        self._process.wait()


def threads_for_children(workers: int, name: str) -> ThreadPoolExecutor:
    """Return threads that start and ask children, which Ctrl-C does not reach.

    It reaches all processes of a terminal, and a child from its first moment on. The
    children inherit the mask; the main thread hears the signal and ends them.
    """
    mask = (signal.SIG_BLOCK, {signal.SIGINT})
    return ThreadPoolExecutor(workers, name, signal.pthread_sigmask, mask)


def command_of(module: str, parent: int) -> list[str]:
    """Return the command of a child that ends with the process ``parent``."""
    # Modules are found where this process finds them, and not in the folder that it is
    # in now, in which a user's pickle.py may be. This package may be found by a hook.
    here = str(Path(__file__).parents[2])
    paths = [part for part in sys.path if part]
    if here not in paths:
        paths.insert(0, here)
    return [sys.executable, "-c", _CODE, str(parent), module, *paths]


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


def serve(parent: int, set_up: Callable[[Any], Callable[[Any], object]]) -> None:
    """Be a child until its input ends: ``set_up`` is given the settings and returns
    what answers a request, which must not raise."""
    watch_parent(parent)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # a library's output must not mix with answers
    with suppress(EOFError):
        answer = set_up(receive(requests))
        while True:
            made = answer(receive(requests))
            try:
                send(answers, made)
            except BrokenPipeError:  # No one reads it, nor what Python says at its end.
                os._exit(1)


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def free_bytes() -> int | None:
    """Return the memory free to this container, too; None if unknown (macOS)."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
    with suppress(OSError, ValueError):  # No cgroup, or its limit is "max".
        most = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        kinds = (_CGROUP / "memory.stat").read_text().partition("\ninactive_file ")[2]
        used -= int(kinds.partition("\n")[0] or 0)  # Of files: it is given up at need.
        free = min(free, most - used)
    return max(0, free)
