# SPDX-License-Identifier: BSD-3-Clause
"""first_look.py: the rank of a file, by its first and last bytes.

A job may have hundreds of files of gigabytes. They are grouped before any is loaded, so
only a bounded part of each is read. The loader's later result takes precedence
(`recordings.settle`).
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_HEAD = 64 << 10
# Device properties and the members of thousands of groups come before the events.
_LONG_HEAD = 1 << 20
_GZIP = b"\x1f\x8b"
_MARK = b"\xef\xbb\xbf"  # What some editors put before text.
_EVENTS = b'"traceEvents"'
_INFO = re.compile(rb'"distributedInfo"\s*:\s*(?=\{)')
_NUMBER = r'"%s"\s*:\s*(-?\d+)\s*[,}]'
# Of the object form, where the header is longer than what is read; the list form.
_TRACE = re.compile(
    rb'\s*(?:\{.*"(?:schemaVersion|deviceProperties|distributedInfo)"|\[.*"ph"\s*:)',
    re.DOTALL,
)
# Not 0, as rows that name threads may have.
_FIRST_TS = re.compile(rb'"ts"\s*:\s*"?([1-9]\d*(?:\.\d+)?)')
_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d+)')
#: The trouble with a file that is something else, and no damaged trace.
NO_TRACE = "it has no list of events near its beginning"
#: A rank is below it, and no job has more: lists of missing ranks stay short.
MOST_RANKS = 1 << 17


@dataclass(frozen=True)
class FirstLook:
    """What is known of a file before it is loaded."""

    trouble: str = ""  #: Why it cannot be a trace; "" if it can.
    rank: int | None = None  #: None: missing or invalid.
    world_size: int | None = None
    #: Of one of its first events, in microseconds since 1970, or on the file's own
    #: clock if that has no base; None if it is not near the beginning.
    start_us: float | None = None
    #: What is wrong with the rank in it; "" if nothing is.
    odd_rank: str = ""
    is_gzipped: bool = False  #: By its contents, whatever its name.


def look(path: str) -> FirstLook:
    """Read the first and, of a plain file, the last 64 KiB of text.

    Of a file whose events do not begin there, 1 MiB. Raises nothing: what cannot be
    read is `trouble`. What stands at the end of a gzip file is not seen.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return FirstLook("it is not a regular file")
        with open(path, "rb") as file:
            length = file.seek(0, os.SEEK_END)

            def read(begin: int, end: int) -> bytes:
                file.seek(begin)
                return file.read(end - begin)

            return look_at(path, length, read)
    except OSError as error:
        return FirstLook(f"it cannot be read: {error.strerror or error}")
    except ValueError:  # A NUL byte.
        return FirstLook("this is not a file name")


def look_at(path: str, length: int, read: Callable[[int, int], bytes]) -> FirstLook:
    """Do as `look` with a file of this length of which ``read`` returns the bytes from
    a place to another. Raises what that does."""
    try:
        head, tail, is_gzipped = _ends(length, read, _HEAD)
        if _EVENTS not in head and len(head) >= _HEAD:
            head, tail, is_gzipped = _ends(length, read, _LONG_HEAD)
    except zlib.error:
        return FirstLook("its gzip data is damaged")
    if not head.strip():
        return FirstLook("it is empty")
    if head.startswith(b"\n") and path.removesuffix(".gz").endswith(".pftrace"):
        # Perfetto's packets say nothing of ranks near there.
        return FirstLook(is_gzipped=is_gzipped)
    if _EVENTS not in head + tail and not _TRACE.match(head.removeprefix(_MARK)):
        return FirstLook(NO_TRACE)
    info, odd = _distributed_info(head, tail)
    return FirstLook(
        "",
        info.get("rank"),
        info.get("world_size"),
        _start_us(head, tail),
        odd,
        is_gzipped,
    )


def sensible_rank(
    rank: object, world_size: object
) -> tuple[int | None, int | None, str]:
    """Return a rank and a world size as far as they make sense, and what does not."""
    size = _integer(world_size, 1)
    if world_size is not None and size is None:
        odd = f"its world size is {str(world_size)[:40]!r}, which is none"
        return _integer(rank, 0), None, odd
    if rank is None:
        return None, size, ""
    number = _integer(rank, 0)
    if number is None:
        return None, size, f"its rank is {str(rank)[:40]!r}, which is not a rank"
    if size is not None and number >= size:
        return None, size, f"its rank is {number}, but its world size {size}"
    return number, size, ""


def _integer(value: object, least: int) -> int | None:
    """Return a number as the core reads one: 3, "3" and 3.0 are the same."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value < MOST_RANKS + least else None


def _ends(
    length: int, read: Callable[[int, int], bytes], size: int
) -> tuple[bytes, bytes, bool]:
    """Return the first and the last `size` bytes of the text, no tail of gzip data that
    goes on, and whether it is gzip data."""
    stored = read(0, size)[:size]
    if stored.startswith(_GZIP):
        # A cut is harmless here: the part before it is read.
        inflater = zlib.decompressobj(wbits=31)
        return inflater.decompress(stored, size), b"", True
    if length <= len(stored):
        return stored, b"", False
    return stored, read(max(len(stored), length - size), length), False


def _distributed_info(head: bytes, tail: bytes) -> tuple[dict[str, int | None], str]:
    """Return rank and world size of the top-level member distributedInfo, and what is
    wrong with them."""
    before, _, after = head.partition(_EVENTS)
    # Among the events the word could be anything's; after them it is the last one.
    places = list(_INFO.finditer(before)) or list(_INFO.finditer(tail or after))
    if not places:
        return {}, ""
    text = places[-1].string[places[-1].end() :].decode(errors="replace")
    info: dict[str, Any]
    try:
        info, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):  # It is cut: groups of many ranks are long.
        found = {
            key: re.search(_NUMBER % key, text[:_HEAD])
            for key in ("rank", "world_size")
        }
        info = {key: int(match[1][:20]) for key, match in found.items() if match}
    rank, size, odd = sensible_rank(info.get("rank"), info.get("world_size"))
    return {"rank": rank, "world_size": size}, odd


def _start_us(head: bytes, tail: bytes) -> float | None:
    first = _FIRST_TS.search(head.partition(_EVENTS)[2] or head)
    if first is None:
        return None
    base = _BASE.search(head) or _BASE.search(tail)
    return float(first[1][:30]) + (int(base[1][:20]) / 1000 if base else 0.0)
