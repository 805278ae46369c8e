# SPDX-License-Identifier: BSD-3-Clause
"""faults/ids.py: F44-F51, links between events, and ids that are odd."""

from __future__ import annotations

from .build import arg, each, kernels, raw, x
from .variant import Facts, Variant, alike, warns

V = Variant
ARROW = Facts(events=1, flow_s=1)
# Ids beyond 31, 32 and 53 bits are exact, those beyond 63 are counted.
SOUND_IDS = ["4294967296", "9007199254740993", "9223372036854775807", "0", "-1", "null"]
LARGE_IDS = ("9223372036854775808", "1" * 40)
ODD_IDS = {"a fraction": "1.5", "an object": "{}", "a word as text": '"abc"'}


def without(key: str):
    """Every event without this arg, under another key of the same length."""
    return each(lambda event: event.replace(f'"{key}"', f'"{"x" * len(key)}"'))


VARIANTS = [
    V("F44", "no correlation", without("correlation")),
    V("F44", "no external id", without("External id")),
    V(
        "F44",
        "neither",
        each(lambda e: e.replace("correlation", "x").replace("External id", "y")),
    ),
    V("F45", "correlation 0 for all", kernels(*50 * ('"correlation": 0',))),
    V("F45", "correlation -1 for all", kernels(*50 * ('"correlation": -1',))),
    *alike("F46")(
        a_kernel_without_launch=kernels('"correlation": 999999'),
        a_launch_without_kernel=x(
            cat='"cuda_runtime"',
            name='"cudaLaunchKernel"',
            args='{"correlation": 999999}',
        ),
    ),
    V(
        "F47",
        "kernels of one graph",
        kernels(*40 * ('"correlation": 4711, "graph node id": 1',)),
    ),
    V(
        "F48",
        "ids of another rank",
        kernels(*(f'"correlation": {100 + i}, "device": 1' for i in range(11))),
    ),
    *(
        V("F49", f"correlation {i[:24]}", kernels(f'"correlation": {i}'))
        for i in SOUND_IDS
    ),
    *(
        V(
            "F49",
            f"correlation {i[:24]}",
            kernels(f'"correlation": {i}'),
            warns(id_out_of_range=1),
        )
        for i in LARGE_IDS
    ),
    *(
        V("F49", f"correlation is {k}", kernels(f'"correlation": {i}'), warns(bad_id=1))
        for k, i in ODD_IDS.items()
    ),
    *(V("F49", f"{i[:24]} in an arg of no meaning", arg(i)) for i in LARGE_IDS),
    V("F49", "an id as text", kernels('"correlation": "12"'), warns(text_number=1)),
    V("F49", "a stream as an address", kernels('"stream": "0x7f00"')),
    *alike("F50")(
        half_a_flow=raw(
            '{"ph": "s", "id": 77777, "pid": 1, "tid": 1, "ts": 9e12}', ARROW
        ),
        a_flow_twice=raw(
            ", ".join(2 * ['{"ph": "s", "id": 100, "pid": 1, "tid": 1, "ts": 9e12}']),
            ARROW + ARROW,
        ),
        a_flow_end_without_id=raw(
            '{"ph": "f", "bp": "e", "pid": 1, "tid": 1, "ts": 9e12}',
            Facts(events=1, flow_f=1),
        ),
        a_flow_id_of_null=raw(
            '{"ph": "s", "id": null, "pid": 1, "tid": 1, "ts": 9e12}', ARROW
        ),
    ),
    V(
        "F50",
        "a flow id of text",
        raw('{"ph": "s", "id": "a-b", "pid": 1, "tid": 1, "ts": 9e12}', ARROW),
        warns(bad_id=1),
    ),
    *alike("F51")(
        an_operator_s_id_on_overhead=x(cat='"overhead"', args='{"External id": 10}'),
        ids_that_cross=kernels('"correlation": 10, "External id": 100'),
    ),
]
