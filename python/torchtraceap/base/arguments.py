# SPDX-License-Identifier: BSD-3-Clause
"""arguments.py: refuses what callers pass, saying what is wanted and what was given."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from numbers import Real
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


def checked_names(name: str, value: object) -> tuple[str, ...]:
    """Return ``value``, some names, as a tuple.

    Raises ValueError if it is one name (a str is iterable too), TypeError if it holds
    something else.
    """
    if isinstance(value, str):
        raise ValueError(f"{name} must be a list of names, but is {value!r}")
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list of names, but is {of_type(value)}")
    names = tuple(value)
    for one in names:
        if not isinstance(one, str):
            raise TypeError(
                f"{name} must be a list of names, but one is {of_type(one)}"
            )
    return names


def wrong_number(value: object, most: float | None = None) -> str:
    """Return what is wrong with a threshold; "" if it is a number from 0 on.

    ``most`` is the greatest that makes sense.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return f"must be a number, but is {of_type(value)}"
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= 0):
        return f"must be a number from 0 on, but is {number}"
    if most is not None and number > most:
        return f"must be at most {most:g}, but is {number:g}"
    return ""


def instead_of(name: str, known: Iterable[str]) -> str:
    """Return a message's hint for a name that is not in ``known``."""
    import difflib

    names = list(known)
    if close := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {close[0]!r}?"
    return "there are: " + ", ".join(names) if names else "there is none"


def of_type(value: object) -> str:
    """Describe a value of the wrong type for a message."""
    return f"of type {type(value).__name__}"


def _short(number: int) -> str:
    # Python refuses to write numbers of thousands of digits.
    return str(number) if number < 10**40 else "far more"
