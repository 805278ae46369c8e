# SPDX-License-Identifier: BSD-3-Clause
"""faults/bytes.py: F01-F05, bytes that are cut, mixed, missing or in UTF-16."""

from __future__ import annotations

import gzip

from .build import alone, encoded, first, packed, raw, stored, text
from .variant import ONE_LOST, SOME_WARNING, Base, Made, Refused, Variant, warns

V = Variant
CUT = warns(truncated=1)
TEN = Refused("truncated", " 10 whole events")
UTF16 = Refused("utf16", "UTF-16")
EMPTY = Refused("empty", "empty")
TRAILING = Refused("trailing_content", "follows the end")


def interleaved(base: Base) -> Made:
    """Two processes write one path: pieces of both, in turn."""
    one = encoded(base.text())
    size = len(one) // 7
    pieces = [one[i : i + size] for i in range(0, len(one), size)]
    return Made(b"".join(p + p for p in pieces), None)


VARIANTS = [
    V("F01", "cut in an event", first(10, ',\n  {"ph": "X", '), TEN, CUT),
    V("F01", "cut in a string", first(10, ',\n  {"ph": "X", "name": "at'), TEN, CUT),
    V("F01", "cut in a character", first(10, ', {"name": "\udce2\udc82'), TEN, CUT),
    V("F01", "cut in an escape", first(10, ', {"name": "\\u00'), TEN, CUT),
    V("F01", "cut after a backslash", first(10, ', {"name": "a\\'), TEN, CUT),
    V("F01", "cut after a comma", first(10, ","), TEN, CUT),
    V("F01", "cut after a brace", first(10), TEN, CUT),
    V("F01", "cut in a number", first(10, ', {"ph": "X", "ts": 12.'), TEN, CUT),
    V("F01", "cut in a word", first(10, ', {"ph": "X", "ts": nul'), TEN, CUT),
    V("F01", "cut in args", first(10, ', {"ph": "X", "args": {"a": [1, '), TEN, CUT),
    V("F01", "cut after a key", first(10, ', {"ph"'), TEN, CUT),
    V("F01", "cut after a colon", first(10, ', {"ph":'), TEN, CUT),
    V("F01", "cut, then blanks", first(10, ",\n  \n"), TEN, CUT),
    V("F01", "cut before an event", first(0), Refused("truncated", " 0 whole"), CUT),
    V(
        "F01",
        "cut in the header",
        alone('{"schemaVersion": 1, "x'),
        Refused("truncated"),
        CUT,
    ),
    V(
        "F01",
        "cut after the list",
        text(lambda t: t[: t.rindex('"traceName"') + 5]),
        Refused("truncated", "whole events"),
        CUT,
    ),
    V(
        "F01",
        "only the last brace missing",
        text(lambda t: t[: t.rindex("}")]),
        Refused("truncated", "whole events"),
        CUT,
    ),
    V(
        "F02",
        "two writers",
        interleaved,
        Refused("invalid_json", "two processes"),
        SOME_WARNING,
    ),
    V(
        "F03",
        "text after the end",
        text(lambda t: t + "done"),
        TRAILING,
        warns(trailing_content=1),
    ),
    V(
        "F03",
        "NULs after the end",
        text(lambda t: t + "\0" * 512),
        TRAILING,
        warns(trailing_content=1),
    ),
    V(
        "F03",
        "a second document",
        text(lambda t: t + t),
        TRAILING,
        warns(trailing_content=1),
    ),
    V(
        "F03",
        "a brace too many",
        text(lambda t: t + "}"),
        TRAILING,
        warns(trailing_content=1),
    ),
    V(
        "F03",
        "NULs in the list",
        raw("\0" * 64),
        Refused("invalid_json", "NUL"),
        ONE_LOST,
    ),
    V("F03", "blanks after the end", text(lambda t: t + " \r\n\t" * 999)),
    V("F04", "empty", alone(b""), EMPTY),
    V("F04", "blank", alone(b" \n\t\r\n"), EMPTY),
    V("F04", "all NUL", alone(b"\0" * 70_000), EMPTY),
    V("F04", "gzip of nothing", alone(gzip.compress(b"")), EMPTY),
    V("F04", "gzip of blanks", alone(gzip.compress(b" \n" * 99)), EMPTY),
    V("F05", "UTF-8 mark", text(lambda t: "\ufeff" + t)),
    V(
        "F05",
        "UTF-8 mark in gzip",
        packed(lambda d: gzip.compress(b"\xef\xbb\xbf" + gzip.decompress(d))),
    ),
    V(
        "F05",
        "UTF-16 with a mark",
        stored(lambda d: d.decode().encode("utf-16")),
        UTF16,
    ),
    V(
        "F05",
        "UTF-16, low byte first",
        stored(lambda d: d.decode().encode("utf-16-le")),
        UTF16,
    ),
    V(
        "F05",
        "UTF-16, high byte first",
        stored(lambda d: d.decode().encode("utf-16-be")),
        UTF16,
    ),
]
