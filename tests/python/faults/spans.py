# SPDX-License-Identifier: BSD-3-Clause
"""faults/spans.py: F38-F43, slices that lie oddly to each other."""

from __future__ import annotations

from .base import micros
from .build import first_start, raw
from .variant import Base, Facts, Made, Make, Variant, alike

V = Variant


def after_begin(*pieces: tuple[str, str, int, int]) -> Make:
    """More events, each a category, name, start after the first of all, and length."""

    def make(base: Base) -> Made:
        begin = first_start(base)
        texts, facts = [], Facts()
        for cat, name, ts, dur in pieces:
            place = '"pid": 0, "tid": 7' if cat == "kernel" else '"pid": 9, "tid": 9'
            ids = '"device": 0, "stream": 7, ' if cat == "kernel" else ""
            texts.append(
                f'{{"ph": "X", "cat": "{cat}", "name": "{name}", {place}, "ts": '
                f'{micros(begin + ts)}, "dur": {micros(dur)}, '
                f'"args": {{{ids}"correlation": 4711}}}}'
            )
            facts += Facts(1, 1, dur, begin + ts, int(cat == "kernel"))
        return raw(", ".join(texts), facts)(base)

    return make


VARIANTS = [
    V(
        "F38",
        "kernels of no length",
        after_begin(*2 * [("kernel", "k", 9_000, 0)]),
    ),
    V("F38", "a kernel of 0.2 us", after_begin(("kernel", "k", 9_000, 200))),
    *alike("F39")(
        a_kernel_before_its_launch=after_begin(
            ("cuda_runtime", "cudaLaunchKernel", 20_000, 4_000),
            ("kernel", "k", 12_000, 9_000),
        ),
    ),
    *alike("F40")(
        a_child_1_ns_too_long=after_begin(
            ("cpu_op", "a", 9_000, 9_000), ("cpu_op", "b", 10_000, 8_001)
        ),
        slices_that_overlap=after_begin(
            ("cpu_op", "a", 9_000, 9_000), ("cpu_op", "b", 12_000, 9_000)
        ),
        kernels_that_overlap=after_begin(
            ("kernel", "a", 9_000, 9_000), ("kernel", "b", 12_000, 9_000)
        ),
    ),
    *alike("F41")(
        frames_never_closed=after_begin(
            *(("python_function", f"f{i}", 9_000 + i, 900_000 - i) for i in range(40))
        ),
    ),
    *alike("F42")(
        kernels_that_last_seconds=after_begin(
            ("kernel", "a", 9_000, 3 * 10**9), ("kernel", "b", 30_000, 2_000)
        ),
    ),
    *alike("F43")(
        events_backwards=lambda b: Made(b.text(b.events[::-1]).encode(), b.facts),
    ),
]
