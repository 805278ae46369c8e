# SPDX-License-Identifier: BSD-3-Clause
"""stages.py: tells people at a terminal what takes so long, once it does.

Loading has a bar of its own. Nothing is written elsewhere, nor is a thread started.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from torchtraceap.base.progress import PATIENCE_S, somebody_watches
from torchtraceap.base.safe_text import encodable, printable


@contextmanager
def stage(what: str, quiet: bool = False) -> Iterator[None]:
    """Show ``what`` and the seconds it takes, from the first full one to its end."""
    if quiet or not somebody_watches():
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_tell, args=(what, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _tell(what: str, over: threading.Event) -> None:
    begin = time.monotonic()
    shown = ""
    while not over.wait(PATIENCE_S):
        width = shutil.get_terminal_size().columns - 1
        seconds = f" {time.monotonic() - begin:.0f} s"
        shown = printable(what, max(9, width - len(seconds))) + seconds
        _write(f"\r{shown}")
    if shown:
        _write(f"\r{' ' * len(shown)}\r")


def _write(text: str) -> None:
    print(encodable(text, sys.stderr.encoding), end="", file=sys.stderr, flush=True)
