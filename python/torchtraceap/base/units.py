# SPDX-License-Identifier: BSD-3-Clause
"""units.py: microseconds from the core's nanoseconds, and how amounts are written."""

from __future__ import annotations


def us_from_ns(ns: int) -> float:
    """Return microseconds; the nearest float, so exact to the ns for 100 days."""
    return ns / 1000


def time_text(us: float) -> str:
    """Write a duration for people, with three digits: ``412 µs``, ``12.4 ms``."""
    from torchtraceap import _core  # Whose messages are written by the same function.

    return _core.duration_text(us)


def bytes_text(count: float) -> str:
    """Write an amount of memory with three digits: ``412 B``, ``12.4 MiB``."""
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size * 0.9995:
            return f"{three_digits(count / size)} {unit}"
    return f"{int(count)} B"


def share_text(part: float, whole: float) -> str:
    """Write a share in percent: ``15.3 %``, ``<0.1 %``; ``-`` of nothing."""
    if whole <= 0:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 0.05:
        return "<0.1 %"
    # What is not quite the whole must not look like it.
    if part < whole and percent >= 99.95:
        return ">99.9 %"
    return f"{percent:.1f} %"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write how many: ``1 step``, ``2,000 steps``; ``plural`` if it is irregular."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def three_digits(value: float) -> str:
    """Write a number without a fraction, or with as many digits as make three."""
    whole_digits = len(str(int(abs(value))))
    text = f"{value:.{max(0, 3 - whole_digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
