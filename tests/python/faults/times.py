# SPDX-License-Identifier: BSD-3-Clause
"""faults/times.py: F30-F37, starts and durations in odd forms.

Rounding, exponents and ranges: tests/cpp/trace/test_columns.cpp.
"""

from __future__ import annotations

from .build import FIVE, UNTIMED, arg, raw, text, x
from .variant import Facts, Variant, alike, warns

V = Variant
NO_TS = Facts(events=1, x=1, sum_dur_ns=5_000)  # The duration is sound, the start not.
HUGE = {
    "2^63": "9223372036854775808",
    "40 digits": "1" * 40,
    "1e999": "1e999",
}
NO_TIMES = {
    "null": "null",
    "text": '"soon"',
    "list": "[1]",
}


def lasting(ns: int, token: str, fault: str, name: str) -> Variant:
    """One more event of a sound duration, written in an unusual way."""
    return V(fault, name, x(Facts(1, 1, ns), dur=token))


def starting(ns: int, token: str, fault: str, name: str) -> Variant:
    return V(fault, name, x(Facts(1, 1, 5_000, ns), ts=token))


VARIANTS = [
    lasting(7_000, "7", "F30", "whole microseconds"),
    lasting(7_125, "7.125", "F30", "microseconds with decimals"),
    starting(1_759_276_800_123_456, "1759276800123.456", "F31", "16 digits"),
    starting(1_655_276_800_123_456_789, "1655276800123456.789", "F31", "19 digits"),
    V(
        "F31",
        "19 digits, a nanosecond apart",
        raw(
            '{"ph": "X", "ts": 1759276800123456.789, "dur": 1}, {"ph": "X", '
            '"ts": 1759276800123456.788, "dur": 1}',
            Facts(2, 2, 2_000, 1759276800123456788),
        ),
    ),
    *alike("F32", warns(text_number=1))(
        ts_as_text=x(Facts(1, 1, 5_000, 123_500), ts='"123.5"'),
        dur_as_text=x(Facts(1, 1, 8_000), dur='"8"'),
    ),
    starting(1_700_000_000_000_000_000, "1.7e15", "F32", "an exponent"),
    lasting(5_000, "5." + "0" * 5_000, "F32", "five thousand decimals"),
    V("F33", "ts absent", x(NO_TS, ts=None), warns(missing_ts=1)),
    V("F33", "dur absent", x(UNTIMED, dur=None), warns(missing_dur=1)),
    *(
        row
        for fault, values in (("F33", NO_TIMES), ("F35", HUGE))
        for k, v in values.items()
        for row in (
            V(fault, f"ts is {k}", x(NO_TS, ts=v), warns(bad_ts=1)),
            V(fault, f"dur is {k}", x(UNTIMED, dur=v), warns(missing_dur=1)),
        )
    ),
    *alike("F34", warns(negative_dur=1))(
        a_negative_duration=x(UNTIMED, dur="-3"),
        minus_the_start=x(UNTIMED, dur="-1759276800123456.789"),
    ),
    *(V("F35", f"{k} in args", arg(v)) for k, v in HUGE.items()),
    starting(-5_000, "-5", "F35", "a negative start"),
    # 2^61 ns, from which on no time is an event's; one less is, and is looked at later.
    *alike("F35", warns(far_time=1))(
        ts_2p61_ns=x(FIVE, ts="2305843009213693.952"),
        ts_minus_2p61_ns=x(Facts(1, 1, 5_000, -(2**61)), ts="-2305843009213693.952"),
        dur_2p61_ns=x(Facts(1, 1, 2**61), dur="2305843009213693.952"),
        dur_2p63_less_1_ns=x(Facts(1, 1, 2**63 - 1), dur="9223372036854775.807"),
    ),
    V("F35", "ts 2^61 - 1 ns", x(FIVE, ts="2305843009213693.951")),
    V(
        "F35",
        "a marker at 2^61 ns",
        raw('{"ph": "i", "name": "a", "ts": 2305843009213693.952}', Facts(events=1)),
    ),
    *alike("F35", warns(far_time=1, negative_dur=1))(
        dur_minus_2p61_ns=x(UNTIMED, dur="-2305843009213693.952"),
    ),
    *alike("F36")(
        a_marker_at_0=raw(
            '{"ph": "i", "s": "g", "name": "Iteration Start", "pid": "Traces", '
            '"tid": "t", "ts": 0}',
            Facts(events=1),
        ),
        a_window_end_months_away=raw(
            '{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", '
            '"ts": 1790000000000000}',
            Facts(events=1),
        ),
        a_slice_of_15_days=x(
            Facts(1, 1, 15 * 86_400 * 10**9), dur=str(15 * 86_400 * 10**6)
        ),
    ),
    starting(0, "0", "F36", "a slice at 0"),
    *(
        V(
            "F37",
            f"baseTimeNanoseconds {value}",
            text(
                lambda t, v=value: "".join(
                    (
                        t[: t.index("{") + 1],
                        f'"baseTimeNanoseconds": {v}, ',
                        t[t.index("{") + 1 :].replace('"baseTimeNanoseconds"', '"was"'),
                    )
                )
            ),
        )
        for value in ('"soon"', "0", "1.5", "9" * 30, "null")
    ),
    *alike("F37")(
        baseTimeNanoseconds_absent=text(
            lambda t: t.replace('"baseTimeNanoseconds"', '"was"')
        ),
        unit_ns_still_us=text(
            lambda t: t.replace('"displayTimeUnit"', '"was"').replace(
                "{", '{"displayTimeUnit": "ns", ', 1
            )
        ),
        schema_99=text(
            lambda t: t.replace('"schemaVersion": 1', '"schemaVersion": 99')
        ),
    ),
]
