# SPDX-License-Identifier: BSD-3-Clause
"""faults/extremes.py: F26-F29, JSON that is deep, long or full of brackets."""

from __future__ import annotations

from .build import FIVE, NOTHING, arg, footer, header, raw, x
from .variant import METADATA_LOST, ONE_LOST, Refused, Variant, alike

V = Variant
INVALID = Refused("invalid_json", "expected")
DEEP = Refused("too_deep", "nested")


def nested(depth: int, close: bool = True) -> str:
    return "[" * depth + "]" * (depth if close else 0)


VARIANTS = [
    *alike("F26", DEEP, ONE_LOST)(
        nested_200_000_deep=arg(nested(200_000), NOTHING),
        a_million_brackets=arg(nested(1_000_000, False), NOTHING),
    ),
    *alike("F26", DEEP, METADATA_LOST)(
        metadata_nested_200_000_deep=header('"a": ' + nested(200_000)),
    ),
    *alike("F27")(
        template_names_of_60_KB=x(
            name='"' + "f<int>, " * 7_500 + '"', names=("f<int>, " * 7_500,)
        ),
    ),
    *alike("F27", INVALID, ONE_LOST)(
        a_backslash_too_many=arg('"' + "\\" * 100_001 + '"', NOTHING),
    ),
    *alike("F28")(
        an_empty_key=arg('{"": 1}'),
        an_empty_key_in_the_event=raw(
            '{"": 0, "ph": "C", "name": "", "ts": 9e12, "args": {"": 1}}',
            FIVE.__class__(events=1),
        ),
    ),
    V("F29", "brackets in a text", footer('"name": "a]}],{[\\"}"')),
    V(
        "F29",
        "JSON in a name",
        x(name='"{\\"traceEvents\\": [}]"', names=('{"traceEvents": [}]',)),
    ),
]
