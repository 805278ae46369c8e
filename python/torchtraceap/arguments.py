# SPDX-License-Identifier: BSD-3-Clause
"""arguments.py: refuses what callers pass, saying what is wanted and what was given."""

from __future__ import annotations

import operator
from typing import SupportsIndex


def checked_int(name: str, value: object, least: int, most: int) -> int:
    """Return ``value`` as an int of ``least`` to ``most``.

    Raises TypeError if it is none (True is none), ValueError if it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"{name} must be an int, but is {of_type(value)}")
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, but is {number}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, but is {_short(number)}")
    return number


def of_type(value: object) -> str:
    """Return what a message says of a value of the wrong type."""
    return f"of type {type(value).__name__}"


def _short(number: int) -> str:
    # Python refuses to write numbers of thousands of digits.
    return str(number) if number < 10**40 else "far more"
