# SPDX-License-Identifier: BSD-3-Clause
"""interrupts.py: Ctrl-C ends a program also where Python would lose it.

What is raised in a finalizer, such as that of a tensor's memory, is printed and
forgotten. A dry run makes many of these, so Ctrl-C meets one now and then.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchtraceap.dryrun.script.time_limit import End

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LATER_S = 0.02  # By then a finalizer is done.


@contextmanager
def not_lost() -> Iterator[None]:
    """Raise KeyboardInterrupt again, in the block, where it was raised in vain."""
    former = sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # Not threading's, which a dry run watches.
            _thread.start_new_thread(_interrupt_later, ())
        elif not issubclass(lost.exc_type, End):  # It comes again by itself.
            former(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = former


def _interrupt_later() -> None:
    time.sleep(_LATER_S)
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # It ends a sleep, too.
    else:
        _thread.interrupt_main()
