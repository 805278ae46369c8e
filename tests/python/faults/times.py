# SPDX-License-Identifier: BSD-3-Clause
"""faults/times.py: F30-F37, starts and durations in every form."""

from __future__ import annotations

from .build import FIVE, UNTIMED, arg, raw, text, x
from .variant import Facts, Variant, warns

V = Variant
NO_TS = Facts(events=1, x=1, sum_dur_ns=5_000)  # The duration is sound, the start not.
HUGE = {
    "2^63": "9223372036854775808",
    "2^64": "18446744073709551616",
    "40 digits": "1" * 40,
    "1e300": "1e300",
    "1e999": "1e999",
    "-1e999": "-1e999",
}
NO_TIMES = {
    "null": "null",
    "text": '"soon"',
    "list": "[1]",
    "bool": "true",
    "object": '{"a": 1}',
}


def lasting(ns: int, token: str, fault: str, name: str) -> Variant:
    """One more event of a sound duration, written in an unusual way."""
    return V(fault, name, x(Facts(1, 1, ns), dur=token))


def starting(ns: int, token: str, fault: str, name: str) -> Variant:
    return V(fault, name, x(Facts(1, 1, 5_000, ns), ts=token))


VARIANTS = [
    lasting(7_000, "7", "F30", "whole microseconds"),
    lasting(7_125, "7.125", "F30", "microseconds with decimals"),
    V(
        "F30",
        "both",
        raw(
            '{"ph": "X", "ts": 1759276800123456, "dur": 1}, {"ph": "X", '
            '"ts": 1759276800123456.789, "dur": 0.001}',
            Facts(2, 2, 1_001, 1759276800123456000),
        ),
    ),
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
    V(
        "F32",
        "ts as text",
        x(Facts(1, 1, 5_000, 123_500), ts='"123.5"'),
        warns(text_number=1),
    ),
    V("F32", "dur as text", x(Facts(1, 1, 8_000), dur='"8"'), warns(text_number=1)),
    starting(1_700_000_000_000_000_000, "1.7e15", "F32", "an exponent"),
    lasting(12_000, "1.2E+1", "F32", "a capital exponent"),
    lasting(1_200, "12e-1", "F32", "a negative exponent"),
    lasting(0, "0.000500", "F32", "six decimals, half to even below"),
    lasting(2, "0.001500", "F32", "six decimals, half to even above"),
    lasting(3, "0.002501", "F32", "six decimals, above half"),
    lasting(0, "-0.0", "F32", "minus zero"),
    lasting(0, "0e99999999999999999999", "F32", "zero with a huge exponent"),
    lasting(5_000, "5." + "0" * 5_000, "F32", "five thousand decimals"),
    V("F33", "ts absent", x(NO_TS, ts=None), warns(missing_ts=1)),
    V("F33", "dur absent", x(UNTIMED, dur=None), warns(missing_dur=1)),
    V(
        "F33",
        "both absent",
        x(UNTIMED, ts=None, dur=None),
        warns(missing_ts=1, missing_dur=1),
    ),
    *(
        V("F33", f"ts is {k}", x(NO_TS, ts=v), warns(bad_ts=1))
        for k, v in NO_TIMES.items()
    ),
    *(
        V("F33", f"dur is {k}", x(UNTIMED, dur=v), warns(missing_dur=1))
        for k, v in NO_TIMES.items()
    ),
    V("F34", "a negative duration", x(UNTIMED, dur="-3"), warns(negative_dur=1)),
    V(
        "F34",
        "minus the start",
        x(UNTIMED, dur="-1759276800123456.789"),
        warns(negative_dur=1),
    ),
    *(V("F35", f"ts {k}", x(NO_TS, ts=v), warns(bad_ts=1)) for k, v in HUGE.items()),
    *(
        V("F35", f"dur {k}", x(UNTIMED, dur=v), warns(missing_dur=1))
        for k, v in HUGE.items()
    ),
    *(V("F35", f"{k} in args", arg(v)) for k, v in HUGE.items()),
    starting(-5_000, "-5", "F35", "a negative start"),
    # 2^61 ns, from which on no time is an event's; one less is, and is looked at later.
    V("F35", "ts 2^61 ns", x(FIVE, ts="2305843009213693.952"), warns(far_time=1)),
    V("F35", "ts 2^61 - 1 ns", x(FIVE, ts="2305843009213693.951")),
    V(
        "F35",
        "ts -2^61 ns",
        x(Facts(1, 1, 5_000, -(2**61)), ts="-2305843009213693.952"),
        warns(far_time=1),
    ),
    V(
        "F35",
        "dur 2^61 ns",
        x(Facts(1, 1, 2**61), dur="2305843009213693.952"),
        warns(far_time=1),
    ),
    V(
        "F35",
        "dur 2^63 - 1 ns",
        x(Facts(1, 1, 2**63 - 1), dur="9223372036854775.807"),
        warns(far_time=1),
    ),
    V(
        "F35",
        "dur -2^61 ns",
        x(UNTIMED, dur="-2305843009213693.952"),
        warns(far_time=1, negative_dur=1),
    ),
    V(
        "F35",
        "a marker at 2^61 ns",
        raw('{"ph": "i", "name": "a", "ts": 2305843009213693.952}', Facts(events=1)),
    ),
    V(
        "F36",
        "a marker at 0",
        raw(
            '{"ph": "i", "s": "g", "name": "Iteration Start", "pid": "Traces", '
            '"tid": "t", "ts": 0}',
            Facts(events=1),
        ),
    ),
    starting(0, "0", "F36", "a slice at 0"),
    V(
        "F36",
        "a window end months away",
        raw(
            '{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", '
            '"ts": 1790000000000000}',
            Facts(events=1),
        ),
    ),
    V(
        "F36",
        "a slice of 15 days",
        x(Facts(1, 1, 15 * 86_400 * 10**9), dur=str(15 * 86_400 * 10**6)),
    ),
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
    V(
        "F37",
        "baseTimeNanoseconds absent",
        text(lambda t: t.replace('"baseTimeNanoseconds"', '"was"')),
    ),
    V(
        "F37",
        "unit ns, still us",
        text(
            lambda t: t.replace('"displayTimeUnit"', '"was"').replace(
                "{", '{"displayTimeUnit": "ns", ', 1
            )
        ),
    ),
    V(
        "F37",
        "schema 99",
        text(lambda t: t.replace('"schemaVersion": 1', '"schemaVersion": 99')),
    ),
]
