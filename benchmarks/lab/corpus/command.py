# SPDX-License-Identifier: BSD-3-Clause
"""command.py: shared parts of the commands that make a corpus: reading a folder and a
seed, and stopping.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable
from pathlib import Path

STOPPED = 130  # As shells have it: 128 and the number of SIGINT.


def folder(text: str) -> Path:
    """Return the folder that an option names, which need not be there yet."""
    path = Path(text)
    there = next(part for part in (path, *path.parents) if part.exists())
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is no folder")
    return path


def seed(text: str) -> int:
    """Return a seed: a whole number of 0 or more; -1 would draw what 1 does."""
    if not text.isascii() or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a seed is 0 or more, not {text!r}")
    return int(text)


def ended(main: Callable[[], int]) -> int:
    """Return what a program ends with; who stops it by Ctrl-C gets no traceback."""
    try:
        return main()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return STOPPED
