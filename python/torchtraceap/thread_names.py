# SPDX-License-Identifier: BSD-3-Clause
"""thread_names.py: says in which threads something was."""

from __future__ import annotations

from collections.abc import Sequence

from torchtraceap.safe_text import printable

_MOST, _WIDTH = 3, 60


def in_threads(names: Sequence[str]) -> str:
    """Return " in thread 'prefetch'", or nothing if it was in the main one alone.

    Args:
        names: Of the threads; "" is the main one.
    """
    if not any(names):
        return ""
    shown = [
        repr(printable(name, _WIDTH)) if name else "the main one" for name in names
    ]
    if len(shown) == 1:
        return f" in thread {shown[0]}"
    more = f" and {len(shown) - _MOST} more" if len(shown) > _MOST else ""
    return f" in threads {', '.join(shown[:_MOST])}{more}"
