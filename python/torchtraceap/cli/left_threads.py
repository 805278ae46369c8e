# SPDX-License-Identifier: BSD-3-Clause
"""left_threads.py: threads of a program that was ended early may wait for ever.

A loader that puts batches into a full queue is never told that nobody takes them, and
Python waits for threads before it ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from torchtraceap.cli.output import complain

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
