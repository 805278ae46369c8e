# SPDX-License-Identifier: BSD-3-Clause
"""left_threads.py: ends this process though a program in it does not end.

Threads of one that was cut short may wait for ever: a loader that puts batches into a
full queue is never told that nobody takes them, and Python waits for threads before it
ends. (A program that came to its own end told its threads, or is waited for as
``python`` does.) And a program may catch whatever is to end it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn

from torchtraceap.cli.output import BAD_INPUT, complain

#: So long they may take to end by themselves.
SECONDS = 5.0

_LOOK_S = 0.02

# Threads from before the program that was cut short; None: none was.
_older: set[threading.Thread] | None = None


def forgotten_by(older: Iterable[threading.Thread]) -> None:
    """Say that a program was cut short, and which threads are not its own."""
    global _older
    _older = set(older)


def end_with(code: int) -> None:
    """End this process with a code, if threads of a program that was cut short keep it
    for so long after its main one has ended. For the process's last line only."""
    if _older is not None and _left(_older):
        # No daemon: Python does not wait for threads whose join() was broken off.
        watch = threading.Thread(target=_watch, args=(_older, code))
        _older.add(watch)
        watch.start()


def end_at_once(last: Callable[[], int]) -> None:
    """Do a last thing and end this process, whatever else is under way in it.

    Args:
        last: Returns the code to end it with. It may have been called in the midst of
            anything, so what it raises must not reach that.
    """
    code = BAD_INPUT
    try:
        code = last()
    except BaseException as error:
        complain(f"not all that was asked for could be told and written: {error!r}")
    finally:
        _exit(code)


def _left(older: set[threading.Thread]) -> list[threading.Thread]:
    """Return the threads of the program for which Python waits."""
    here = {*older, threading.main_thread()}
    return [t for t in threading.enumerate() if not t.daemon and t not in here]


def _watch(older: set[threading.Thread], code: int) -> None:
    threading.main_thread().join()
    until = time.monotonic() + SECONDS
    # Not join(): after one that was broken off it returns at once (CPython 3.11).
    while (left := _left(older)) and time.monotonic() < until:
        time.sleep(_LOOK_S)
    if not left:
        return
    names = ", ".join(ascii(thread.name) for thread in left)
    complain(
        "the program was cut short, and threads that it left do not end: "
        f"{names}. They were broken off after {SECONDS:g} s."
    )
    _exit(code)


def _exit(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        # It may be None, closed, full, or in the midst of being written to.
        with suppress(Exception):
            stream.flush()
    os._exit(code)
