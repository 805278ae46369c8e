# SPDX-License-Identifier: BSD-3-Clause
"""faults/numbers.py: F20-F21, words and numbers that are not JSON.

More of them, in every field: tests/cpp/trace/test_bad_values.cpp.
"""

from __future__ import annotations

from .build import UNTIMED, arg, footer, header, x
from .variant import Facts, Variant, warns

V = Variant
WORDS = ["NaN", "-Infinity", "N/A"]
NUMBERS = ["-1.-500", "007", "5us"]
NO_TS = Facts(events=1, x=1, sum_dur_ns=5_000)  # The duration is sound, the start not.


VARIANTS = [
    *(V("F20", f"{word} in args", arg(word), warns(bad_value=1)) for word in WORDS),
    V("F20", "NaN as ts", x(NO_TS, ts="NaN"), warns(bad_value=1, bad_ts=1)),
    V("F20", "inf as dur", x(UNTIMED, dur="inf"), warns(bad_value=1, missing_dur=1)),
    V("F20", "N/A as name", x(name="N/A"), warns(bad_value=1, bad_name=1)),
    V("F20", "None as category", x(cat="None"), warns(bad_value=1, bad_category=1)),
    V("F20", "NaN as ph", x(Facts(), ph="NaN"), warns(bad_value=1, no_phase=1)),
    V("F20", "NaN in a list of args", arg('[1, NaN, {"a": inf}]'), warns(bad_value=2)),
    V("F20", "NaN in metadata", header('"load": NaN'), warns(bad_value=1)),
    V("F20", "nan after the events", footer('"load": [nan]'), warns(bad_value=1)),
    V("F20", "NaN as a name", x(name='"NaN"', names=("NaN",))),
    *(
        V("F21", f"{token} {place}", make, warns(bad_value=1, **more))
        for token in NUMBERS
        for place, make, more in (
            ("in args", arg(token), {}),
            ("as ts", x(NO_TS, ts=token), {"bad_ts": 1}),
            ("as dur", x(UNTIMED, dur=token), {"missing_dur": 1}),
        )
    ),
    V("F21", "007 in metadata", header('"version": 007'), warns(bad_value=1)),
]
