# SPDX-License-Identifier: BSD-3-Clause
"""notices.py: messages during a user's training, which never end it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from traceback import walk_stack

from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.base.source_lines import OWN_FOLDERS

_TORCHS = os.sep + os.path.join("torch", "profiler", "")
_WIDTH = 600


def warn(text: str) -> None:
    """Gives a RuntimeWarning at the line of the user's that led here.

    Where warnings are made errors, it goes to stderr: a notice must not end a run.
    """
    files = (frame.f_code.co_filename for frame, _ in walk_stack(sys._getframe()))
    depth = 1 + sum(1 for _ in takewhile(is_inside, files))
    try:
        warnings.warn(f"torchtraceap: {text}", RuntimeWarning, stacklevel=depth)
    except RuntimeWarning as warning:
        if sys.stderr is not None:
            with suppress(OSError, ValueError):  # a closed file
                print(f"RuntimeWarning: {warning}", file=sys.stderr, flush=True)


def reason(error: BaseException) -> str:
    """Says what an exception says, on one line."""
    text = str(error) or type(error).__name__
    if not isinstance(error, ValueError | OSError | RuntimeError):
        text = f"{type(error).__name__}: {error}"
    return printable(text, _WIDTH)


def guarded(what: str, call: Callable[[], object]) -> bool:
    """Calls `call`; an exception becomes a warning and False is returned."""
    try:
        call()
    except Exception as error:
        warn(f"{what}: {reason(error)}")
        return False
    return True


def show(text: str) -> None:
    """Prints, where there is anything to print on."""
    if sys.stdout is None:
        return
    encoding = getattr(sys.stdout, "encoding", None)
    try:
        print(encodable(text, encoding), flush=True)
    except (OSError, ValueError) as error:  # a full disk, a closed file
        warn(f"the report could not be printed: {reason(error)}")


def is_inside(path: str) -> bool:
    """Tells whether a file is of this package or of torch's profiler."""
    return path.startswith(OWN_FOLDERS) or _TORCHS in path
