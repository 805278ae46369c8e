# SPDX-License-Identifier: BSD-3-Clause
"""faults/bytes.py: F01-F05, bytes that are cut, mixed, missing or in UTF-16.

Cuts at every byte: tests/cpp/trace, test_refusals.cpp and test_recover.cpp.
"""

from __future__ import annotations

import gzip

from .build import alone, encoded, first, packed, raw, stored, text
from .variant import ONE_LOST, SOME_WARNING, Base, Made, Refused, Variant, alike, warns

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
    V("F01", "cut in a character", first(10, ', {"name": "\udce2\udc82'), TEN, CUT),
    V("F01", "cut before an event", first(0), Refused("truncated", " 0 whole"), CUT),
    *alike("F01", Refused("truncated"), CUT)(
        cut_in_the_header=alone('{"schemaVersion": 1, "x'),
    ),
    *alike("F01", Refused("truncated", "whole events"), CUT)(
        cut_after_the_list=text(lambda t: t[: t.rindex('"traceName"') + 5]),
        only_the_last_brace_missing=text(lambda t: t[: t.rindex("}")]),
    ),
    *alike("F02", Refused("invalid_json", "two processes"), SOME_WARNING)(
        two_writers=interleaved,
    ),
    *alike("F03", TRAILING, warns(trailing_content=1))(
        a_second_document=text(lambda t: t + t),
    ),
    *alike("F03", Refused("invalid_json", "NUL"), ONE_LOST)(
        NULs_in_the_list=raw("\0" * 64),
    ),
    V("F03", "blanks after the end", text(lambda t: t + " \r\n\t" * 999)),
    V("F04", "empty", alone(b""), EMPTY),
    V("F04", "all NUL", alone(b"\0" * 70_000), EMPTY),
    V("F04", "gzip of blanks", alone(gzip.compress(b" \n" * 99)), EMPTY),
    V("F05", "UTF-8 mark", text(lambda t: "\ufeff" + t)),
    V(
        "F05",
        "UTF-8 mark in gzip",
        packed(lambda d: gzip.compress(b"\xef\xbb\xbf" + gzip.decompress(d))),
    ),
    *alike("F05", UTF16)(
        UTF_16_with_a_mark=stored(lambda d: d.decode().encode("utf-16")),
        UTF_16_low_byte_first=stored(lambda d: d.decode().encode("utf-16-le")),
        UTF_16_high_byte_first=stored(lambda d: d.decode().encode("utf-16-be")),
    ),
]
