# SPDX-License-Identifier: BSD-3-Clause
"""faults/fields.py: F52-F58, categories, devices, identities, and odd fields.

Every category and more identities: tests/cpp/trace/test_columns.cpp.
"""

from __future__ import annotations

from .build import EVENT, UNTIMED, kernels, raw, x
from .variant import Facts, Variant, alike, warns

V = Variant
KERNEL = Facts(1, 1, 5_000, gpu=1)
KERNEL_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
OTHER_CATEGORIES = ("mtia_ccp_events", "Operator", "xpu_runtime", "fwdbwd")
IDENTITIES = {
    "text": '"Spans"',
    "null": "null",
    "2^63": "9223372036854775808",
    "a fraction": "1.5",
    "an address": "140022334455667",
}
LAUNCHES = (
    "hipLaunchKernel",
    "cuLaunchKernelEx",
    "cudaLaunchKernelExC",
    "urEnqueueKernelLaunchWithArgsExp",
)
FIELDS = ("name", "cat", "pid", "tid", "args", "id")


VARIANTS = [
    *(V("F52", f"category {c}", x(KERNEL, cat=f'"{c}"')) for c in KERNEL_CATEGORIES),
    *(V("F52", f"category {c}", x(cat=f'"{c}"')) for c in OTHER_CATEGORIES),
    V("F52", "a stream in the tid", x(KERNEL, cat='"Kernel"', tid='"stream 7"')),
    V("F52", "no category", x(cat=None)),
    *(
        V("F53", name, x(cat='"cuda_runtime"', name=f'"{name}"', names=(name,)))
        for name in LAUNCHES[:3]
    ),
    V(
        "F54",
        LAUNCHES[3],
        x(cat='"xpu_runtime"', name=f'"{LAUNCHES[3]}"', names=(LAUNCHES[3],)),
    ),
    V("F55", "an unknown category", x(cat='"npu_op"'), warns(unknown_category=1)),
    *alike("F55", warns(unknown_category=2))(
        unknown_categories_twice=raw(
            ", ".join(f'{{"ph": "i", "cat": "{c}", "ts": 9e12}}' for c in "abab"),
            Facts(events=4),
        ),
    ),
    V("F55", "an empty category", x(cat='""')),
    V(
        "F56",
        "8 devices of 32 streams",
        kernels(
            *(f'"device": {d}, "stream": {s}' for d in range(8) for s in range(32))
        ),
    ),
    *(
        V("F56", f"stream {s}", kernels(f'"device": 0, "stream": {s}'))
        for s in ("-1", "4294967295", "94112233445566")
    ),
    *alike("F56", warns(id_out_of_range=1))(
        a_device_of_2_40=kernels('"device": 1099511627776'),
    ),
    V(
        "F56",
        "a synchronization row",
        x(cat='"cuda_sync"', tid="1000007", args='{"stream": 7, "device": 0}'),
    ),
    *(V("F57", f"pid is {k}", x(pid=v)) for k, v in IDENTITIES.items()),
    *(V("F57", f"tid is {k}", x(tid=v)) for k, v in IDENTITIES.items()),
    V("F57", "pid is a list", x(pid="[1]"), warns(bad_identity=1)),
    V("F57", "tid is an object", x(tid="{}"), warns(bad_identity=1)),
    *(V("F58", f"no {field}", x(**{field: None})) for field in FIELDS),
    V("F58", "no ph", x(Facts(), ph=None), warns(no_phase=1)),
    V("F58", "an empty object", raw("{}"), warns(no_phase=1)),
    V("F58", "ph is a word", x(EVENT, ph='"Complete"'), warns(odd_phase=1)),
    V("F58", "name is a number", x(name="5"), warns(bad_name=1)),
    V("F58", "args is a list", x(args="[1]"), warns(bad_args=1)),
    V("F58", "args is null", x(args="null")),
    *alike("F58", warns(skipped_element=5))(
        elements_that_are_no_events=raw('null, 1, "a", [2, [3]], true'),
    ),
    V(
        "F58",
        "all fields of wrong types",
        raw(
            '{"ph": "X", "name": [], "cat": 1, "pid": {}, "tid": [], "ts": {}, '
            '"dur": [], "args": 1, "id": {}}',
            UNTIMED,
        ),
        warns(
            bad_name=1,
            bad_category=1,
            bad_identity=None,
            bad_ts=1,
            missing_dur=1,
            bad_args=1,
            bad_id=1,
        ),
    ),
]
