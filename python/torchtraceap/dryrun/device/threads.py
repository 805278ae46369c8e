# SPDX-License-Identifier: BSD-3-Clause
"""threads.py: follows the threads that a program starts in a dry run.

torch's modes are of one thread, and so is what it knows of autocast and streams. Each
thread enters them itself, when it starts; work that is given to a pool of before the
block does so too. Others are refused by the facade of torch.cuda. Loads torch.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import wraps
from typing import Any

from torchtraceap.dryrun.device.border import Border
from torchtraceap.dryrun.device.modes import seen_in_thread
from torchtraceap.dryrun.facade.replacing import Replacements
from torchtraceap.dryrun.host_threads import Handed, outlived
from torchtraceap.dryrun.overrides import autocast
from torchtraceap.dryrun.recording_lock import LOCK


@contextmanager
def _inside(border: Border, handed: Handed) -> Iterator[None]:
    """Be followed, in the thread that asks."""
    # Nothing of the run is held here but its modes: the thread may outlive it.
    border.run.recorder.threads.enter(handed)
    try:
        with autocast.in_thread(), seen_in_thread(border, border.run):
            yield
    except RuntimeError as error:
        if border.run.ended:  # In the midst of what it did: torch's words would be odd.
            raise outlived() from error
        raise
    finally:
        border.run.recorder.threads.leave()


@contextmanager
def followed(border: Border) -> Iterator[None]:
    """Follow threads that start in the block. One that outlives the run is told, when
    it uses the device."""
    of_python = threading.Thread.start
    of_pool = ThreadPoolExecutor.submit

    def start(thread: threading.Thread) -> None:
        # Of the object, for a class may have a run() of its own.
        of_thread = thread.run
        handed = border.run.recorder.threads.hand_over(sys._getframe(1))
        replaced = Replacements()

        def run() -> None:
            replaced.undo()
            with _inside(border, handed):
                of_thread()

        replaced.set(thread, "run", run)
        try:
            of_python(thread)
        except BaseException:
            replaced.undo()
            raise

    def submit(
        pool: ThreadPoolExecutor, work: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        handed = border.run.recorder.threads.hand_over(sys._getframe(1))

        @wraps(work)
        def run(*args: Any, **kwargs: Any) -> Any:
            if border.run.recorder.threads.followed:
                border.run.recorder.threads.take(handed)
                return work(*args, **kwargs)
            with _inside(border, handed):
                return work(*args, **kwargs)

        return of_pool(pool, run, *args, **kwargs)

    with Replacements() as replaced:
        replaced.set(threading.Thread, "start", start)
        replaced.set(ThreadPoolExecutor, "submit", submit)
        # Called wherever Python shows a warning, whoever else replaces what shows it.
        shown = LOCK.put_off(vars(warnings)["_showwarnmsg"])
        replaced.set(warnings, "_showwarnmsg", shown)
        yield
