# SPDX-License-Identifier: BSD-3-Clause
"""one_run.py: one dry run at a time, for it changes torch for the whole process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torchtraceap.base.errors import DryRunUnderWay
from torchtraceap.base.source_lines import deepest_user_line, stack

_lock = threading.Lock()
_holder: tuple[int, str] | None = None  # the thread, and what to say of it


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
        _holder = (threading.get_ident(), begun or _where())
        yield
    finally:
        _holder = None
        _lock.release()


def _where() -> str:
    line = deepest_user_line(stack(sys._getframe(1)))
    return f"at {line}" if line else "elsewhere"
