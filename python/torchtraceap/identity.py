# SPDX-License-Identifier: BSD-3-Clause
"""identity.py: processes and threads by what the file calls them."""

from __future__ import annotations

from torchtraceap import _core

_TEXT = 1 << 62  # From here on the core's numbers stand for texts, see trace/columns.h.


def identity(trace: _core.Trace, number: int) -> int | str:
    """Return a pid or tid as the file has it: a number, or a text such as "rank 0"."""
    return number if number < _TEXT else trace.identity(number)


def process(trace: _core.Trace, number: int) -> int | str | None:
    """Return a pid as the file has it; None if it is not known."""
    return None if number == _core.NO_ID else identity(trace, number)
