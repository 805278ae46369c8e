# SPDX-License-Identifier: BSD-3-Clause
"""left_threads.py: ends this process though a program in it does not end.

Threads of one that was ended early may wait for ever: a loader that puts batches into a
full queue is never told that nobody takes them, and Python waits for threads before it
ends. And a program may catch whatever is to end it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from torchtraceap.cli.output import BAD_INPUT, INTERRUPTED, complain

#: So long they may take to end by themselves.
SECONDS = 5.0


def end_with(code: int) -> None:
    """End this process with a code, if threads keep it for so long after its main one
    has ended."""
    here = threading.main_thread(), threading.current_thread()
    left = [t for t in threading.enumerate() if not t.daemon and t not in here]
    if left:
        watch = threading.Thread(target=_watch, args=(left, code), daemon=True)
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
    except KeyboardInterrupt:
        code = INTERRUPTED
        complain("interrupted, before all that was asked for was told and written")
    except BaseException as error:
        complain(f"not all that was asked for could be told and written: {error!r}")
    finally:
        for file in (sys.stdout, sys.stderr):
            # It may be full, closed, or in the midst of being written to.
            with suppress(Exception):
                file.flush()
        os._exit(code)


def _watch(left: list[threading.Thread], code: int) -> None:
    threading.main_thread().join()
    time.sleep(SECONDS)
    names = ", ".join(ascii(thread.name) for thread in left if thread.is_alive())
    complain(
        f"the program left threads that do not end: {names}. They were broken off."
    )
    if sys.stdout is not None:
        sys.stdout.flush()
    os._exit(code)
