# SPDX-License-Identifier: BSD-3-Clause
"""faults/layout.py: F09-F10, legal layouts that nobody expects."""

from __future__ import annotations

import json

from .build import each, header, text, x
from .variant import Facts, Variant, warns

V = Variant


def reversed_keys(event: str) -> str:
    def turned(value: object) -> object:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return value

    return json.dumps(turned(json.loads(event)))


VARIANTS = [
    V(
        "F09",
        "minified",
        text(lambda t: json.dumps(json.loads(t), separators=(",", ":"))),
    ),
    V("F09", "CRLF", text(lambda t: t.replace("\n", "\r\n"))),
    V(
        "F09",
        "tabs",
        text(lambda t: t.replace("\n  ", "\n\t\t").replace('": ', '"\t:\t')),
    ),
    V(
        "F09",
        "blanks everywhere",
        text(lambda t: json.dumps(json.loads(t), indent=9, separators=(" , ", " : "))),
    ),
    V("F09", "leading blanks", text(lambda t: "\n" * 300_000 + t)),
    V("F09", "keys in reverse", each(reversed_keys)),
    V(
        "F09",
        "args first, with ts and ph",
        x(args='{"ts": 1, "ph": "M", "dur": 9, "name": "no", "cat": "kernel"}'),
    ),
    V(
        "F09",
        "escaped keys",
        each(
            lambda e: (
                e.replace('"ts"', '"\\u0074s"')
                .replace('"dur"', '"du\\u0072"')
                .replace('"ph"', '"p\\u0068"')
            )
        ),
    ),
    V(
        "F09",
        "escaped digits in a number as text",
        x(Facts(1, 1, 8_000), dur=r'"\u0038"'),
        warns(text_number=1),
    ),
    V("F09", "escaped digits in an id", x(pid=r'"\u0038"')),
    V(
        "F09",
        "escaped traceEvents",
        text(lambda t: t.replace('"traceEvents"', '"trace\\u0045vents"')),
    ),
    V(
        "F09",
        "escaped values",
        each(
            lambda e: e.replace('"X"', '"\\u0058"').replace(
                '"kernel"', '"kern\\u0065l"'
            )
        ),
    ),
    V("F09", "a decoy in metadata", header('"a": {"traceEvents": [{"ph": "X"}]}')),
    V("F09", "a decoy in a string", header('"a": "\\"traceEvents\\": ["')),
    V(
        "F10",
        "metadata at the end",
        text(
            lambda t: json.dumps(
                dict(sorted(json.loads(t).items(), key=lambda m: m[0] != "traceEvents"))
            )
        ),
    ),
    V("F10", "a header of 5 MB", header('"a": "' + "x" * 5_000_000 + '"')),
    V(
        "F10",
        "a header of many members",
        header(", ".join(f'"k{i}": {i}' for i in range(20_000))),
    ),
]
