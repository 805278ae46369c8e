# SPDX-License-Identifier: BSD-3-Clause
"""faults/layout.py: F09-F10, legal but unexpected layouts."""

from __future__ import annotations

import json

from .build import each, header, text, x
from .variant import Facts, Variant, alike, warns

V = Variant


VARIANTS = [
    *alike("F09")(
        tabs=text(lambda t: t.replace("\n  ", "\n\t\t").replace('": ', '"\t:\t')),
        blanks_everywhere=text(
            lambda t: json.dumps(json.loads(t), indent=9, separators=(" , ", " : "))
        ),
        leading_blanks=text(lambda t: "\n" * 300_000 + t),
        args_first_with_ts_and_ph=x(
            args='{"ts": 1, "ph": "M", "dur": 9, "name": "no", "cat": "kernel"}'
        ),
        escaped_keys=each(
            lambda e: (
                e.replace('"ts"', '"\\u0074s"')
                .replace('"dur"', '"du\\u0072"')
                .replace('"ph"', '"p\\u0068"')
            )
        ),
        escaped_digits_in_an_id=x(pid=r'"\u0038"'),
        escaped_values=each(
            lambda e: e.replace('"X"', '"\\u0058"').replace(
                '"kernel"', '"kern\\u0065l"'
            )
        ),
        a_decoy_in_metadata=header('"a": {"traceEvents": [{"ph": "X"}]}'),
        a_decoy_in_a_string=header('"a": "\\"traceEvents\\": ["'),
    ),
    *alike("F09", warns(text_number=1))(
        escaped_digits_in_a_number_as_text=x(Facts(1, 1, 8_000), dur=r'"\u0038"'),
    ),
    *alike("F10")(
        metadata_at_the_end=text(
            lambda t: json.dumps(
                dict(sorted(json.loads(t).items(), key=lambda m: m[0] != "traceEvents"))
            )
        ),
        a_header_of_5_MB=header('"a": "' + "x" * 5_000_000 + '"'),
        a_header_of_many_members=header(
            ", ".join(f'"k{i}": {i}' for i in range(20_000))
        ),
    ),
]
