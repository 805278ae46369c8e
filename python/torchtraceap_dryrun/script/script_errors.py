# SPDX-License-Identifier: BSD-3-Clause
"""script_errors.py: an error of a user's program, as Python would show it."""

from __future__ import annotations

import os
import runpy
import traceback

from torchtraceap.base.errors import DryRunError, DryRunLimit
from torchtraceap.base.source_lines import OWN_FOLDERS, display_path, is_user_file

_STARTERS = ("<frozen runpy>", "<frozen importlib.", runpy.__file__)


def traceback_text(error: BaseException) -> str:
    """Return the traceback without the lines of this package and of what starts it."""
    shown = traceback.TracebackException.from_exception(error)
    _hide_own(shown, set())
    return "".join(shown.format()).rstrip("\n")


def told(error: DryRunError) -> str:
    """Return the message of a run that cannot go on, with the user's line it is at."""
    if isinstance(error, DryRunLimit):
        return error.in_options
    at = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_user_file(frame.filename):
            at = f"{display_path(frame.filename)}:{frame.lineno}: "
    return f"{at}{error}"


def _hide_own(shown: traceback.TracebackException, seen: set[int]) -> None:
    if id(shown) in seen:
        return
    seen.add(id(shown))
    shown.stack[:] = [frame for frame in shown.stack if not _is_own(frame.filename)]
    further = [shown.__cause__, shown.__context__]
    for one in [*further, *(getattr(shown, "exceptions", None) or ())]:
        if one is not None:
            _hide_own(one, seen)


def _is_own(file: str) -> bool:
    return file.startswith(_STARTERS) or os.path.abspath(file).startswith(OWN_FOLDERS)
