# SPDX-License-Identifier: BSD-3-Clause
"""active_run.py: the run that is under way: one at a time, for it changes torch for the
whole process. Streams and other stand-ins ask it what they tell."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torchtraceap.base.errors import DryRunError, DryRunUnderWay
from torchtraceap_dryrun.lines import user_stack
from torchtraceap_dryrun.record_writer import RecordWriter

_active: RecordWriter | None = None
_run = 0  # How many runs there were.


def active() -> RecordWriter:
    """Return the recorder of the run that is under way.

    Streams and events may live longer than the run that made them, as in a variable of
    a module, so they do not keep one of their own.

    Raises:
        DryRunError: None is under way.
    """
    if _active is None:
        raise DryRunError(
            "this stream or event was made in a dry run that has ended. Make a new one"
        )
    return _active


def is_active() -> bool:
    """Tell whether a run is under way."""
    return _active is not None


def set_active(recorder: RecordWriter | None) -> None:
    """Let a recorder be the one of the run that is under way; None: none is."""
    global _active, _run
    _active = recorder
    _run += recorder is not None


def run_number() -> int:
    """Tell one run from those before it."""
    return _run


_lock = threading.Lock()
_holder: tuple[int, str] | None = None  # the thread, and the error about it


@contextmanager
def only_run(begun: str = "") -> Iterator[None]:
    """Be the only dry run of this process while the block lasts.

    Args:
        begun: What to tell another one of where, or by what, this one was begun. "":
            the innermost line of the user's own code.

    Raises:
        DryRunUnderWay: There is one already; says where it began.
    """
    global _holder
    if not _lock.acquire(blocking=False):
        thread, where = _holder or (0, "elsewhere")
        if thread == threading.get_ident():
            raise DryRunUnderWay(
                f"a dry run is under way already, begun {where}. Dry runs cannot be "
                "nested: end that one first"
            )
        raise DryRunUnderWay(
            f"a dry run is under way in another thread, begun {where}. It changes "
            "torch for the whole process: wait until it has ended"
        )
    try:
        _holder = (threading.get_ident(), begun or _begun_at())
        yield
    finally:
        _holder = None
        _lock.release()


def _begun_at() -> str:
    lines = user_stack(sys._getframe(1))
    return f"at {lines[0]}" if lines else "elsewhere"
