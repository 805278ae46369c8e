# SPDX-License-Identifier: BSD-3-Clause
"""numbers.py: numbers of the command line, and what is wrong with others."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def count(text: str) -> int:
    """Return a number from 0 up. Raises ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)


def between(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a number of these bounds, 0 and up. Raises as `count` does."""

    def read(text: str) -> int:
        value = int(text) if text.isdecimal() else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no number from {least} to {most}"
            )
        return value

    return read


def time(text: str) -> float:
    """Return a length of time, which is not 0. Raises ArgumentTypeError."""
    try:
        length = float(text)
    except ValueError:
        length = 0.0
    if not 0 < length < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no time above 0")
    return length
