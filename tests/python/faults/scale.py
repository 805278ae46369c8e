# SPDX-License-Identifier: BSD-3-Clause
"""faults/scale.py: F48 and F67-F69, much of one thing; files of gigabytes on request.

Time is the promise here: each of these is a second's work or less.
"""

from __future__ import annotations

from .build import alone, first_start, raw
from .variant import Base, Facts, Made, Make, Variant, alike, warns

V = Variant
MANY = 20_000


def crossed(count: int) -> Make:
    """As many launches as kernels, all of one id."""

    def make(base: Base) -> Made:
        launch = (
            '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", '
            '"pid": 9, "tid": 9, "dur": 1, "ts": TS, "args": {"correlation": 1}}'
        )
        kernel = (
            '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 1, '
            '"ts": TS, "args": {"correlation": 1, "device": 0, "stream": 7}}'
        )
        begin = first_start(base) // 1000 + 1
        rows = [
            t.replace("TS", str(begin + 2 * i))
            for i in range(count)
            for t in (launch, kernel)
        ]
        return raw(
            ",\n".join(rows), Facts(2 * count, 2 * count, 2_000 * count, gpu=count)
        )(base)

    return make


def many(event: str, one: Facts, count: int = MANY) -> Make:
    """The event many times, at microseconds of its own from 1 ms on."""
    rows = ",\n".join(event.replace("TS", str(1_000 + i)) for i in range(count))
    total = Facts(
        one.events * count,
        one.x * count,
        one.sum_dur_ns * count,
        1_000_000 if one.x else None,
        one.gpu * count,
        one.flow_s * count,
        one.flow_f * count,
    )
    return alone('{"traceEvents": [' + rows + "]}", total)


FRAME = (
    '{"ph": "X", "cat": "python_function", "name": "f(1): g", "pid": 1, "tid": 1, '
    '"ts": TS, "dur": 0.5, "args": {"Python id": TS, "Python parent id": null}}'
)
VARIANTS = [
    V("F48", "3000 launches and kernels of one id", crossed(3_000)),
    *alike("F68")(
        events_of_one_name=many(
            '{"ph": "X", "name": "a", "ts": TS, "dur": 1}', Facts(1, 1, 1_000)
        ),
        every_name_new=many(
            '{"ph": "X", "name": "nameTS", "ts": TS, "dur": 1}', Facts(1, 1, 1_000)
        ),
        every_thread_new=many(
            '{"ph": "X", "name": "a", "tid": "tTS", "ts": TS, "dur": 1}',
            Facts(1, 1, 1_000),
        ),
    ),
    V(
        "F68",
        "every category new",
        many('{"ph": "i", "name": "a", "cat": "catTS", "ts": TS}', Facts(events=1)),
        warns(unknown_category=MANY),
    ),
    *alike("F68", warns(bad_name=MANY, missing_dur=MANY))(
        every_event_odd=many('{"ph": "X", "name": 1, "ts": TS}', Facts(1, 1)),
    ),
    *alike("F69")(
        Python_frames=many(FRAME, Facts(1, 1, 500)),
        all_starts_equal=many(
            '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, '
            '"ts": 1000, "dur": 1}',
            Facts(1, 1, 1_000),
        ),
        nested_frames=many(
            '{"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 1, '
            '"ts": TS, "dur": 99999}',
            Facts(1, 1, 99_999_000),
            3_000,
        ),
    ),
]
