# SPDX-License-Identifier: BSD-3-Clause
"""faults/extremes.py: F26-F29, JSON that is deep, long or full of brackets."""

from __future__ import annotations

from .build import FIVE, NOTHING, arg, footer, header, raw, x
from .variant import METADATA_LOST, ONE_LOST, Refused, Variant

V = Variant
INVALID = Refused("invalid_json", "expected")
DEEP = Refused("too_deep", "nested")


def nested(depth: int, close: bool = True) -> str:
    return "[" * depth + "]" * (depth if close else 0)


VARIANTS = [
    V("F26", "nested 900 deep", arg(nested(900))),
    V("F26", "objects nested 900 deep", arg('{"a": ' * 900 + "1" + "}" * 900)),
    V("F26", "nested 200,000 deep", arg(nested(200_000), NOTHING), DEEP, ONE_LOST),
    V(
        "F26",
        "a million brackets",
        arg(nested(1_000_000, False), NOTHING),
        DEEP,
        ONE_LOST,
    ),
    V(
        "F26",
        "metadata nested 200,000 deep",
        header('"a": ' + nested(200_000)),
        DEEP,
        METADATA_LOST,
    ),
    V(
        "F27",
        "100,000 args",
        arg("{" + ", ".join(f'"k{i}": {i}' for i in range(100_000)) + "}"),
    ),
    V(
        "F27",
        "a name of 16 MiB",
        x(name='"' + "x" * (16 << 20) + '"', names=("x" * (16 << 20),)),
    ),
    V("F27", "a MiB of backslashes", arg('"' + "\\" * (1 << 20) + '"')),
    V(
        "F27",
        "a backslash too many",
        arg('"' + "\\" * 100_001 + '"', NOTHING),
        INVALID,
        ONE_LOST,
    ),
    V(
        "F27",
        "template names of 60 KB",
        x(name='"' + "f<int>, " * 7_500 + '"', names=("f<int>, " * 7_500,)),
    ),
    V("F28", "an empty key", arg('{"": 1}')),
    V(
        "F28",
        "an empty key in the event",
        raw(
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
