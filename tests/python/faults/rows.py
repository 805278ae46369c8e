# SPDX-License-Identifier: BSD-3-Clause
"""faults/rows.py: F59-F66, phases, counters, the profiler's own rows, lost records."""

from __future__ import annotations

import json

from .build import EVENT, alone, each, encoded, footer, header, raw, text, x
from .variant import Base, Facts, Made, Variant, alike, warns

V = Variant
OWN_ROWS = ("Iteration Start: PyTorch Profiler", "Buffer Flush")
STEPS = ("ProfilerStep#99999999999999999999", "ProfilerStep#", "ProfilerStep#-1")
COUNTERS = ["-9223372036854775808", "1.5", '"many"', "null", "[1]"]
KINDS = ("cpu_op", "python_function", "user_annotation")
EMPTY = Facts()
#: Two spans, one in the other, each of two events.
PAIRS = Facts(events=2, x=2, min_ts_ns=9 * 10**15)


def only(*categories: str):
    """Keep the events of these categories, which the base may lack."""

    def make(base: Base) -> Made:
        kept = [
            (event, facts)
            for event, facts in zip(base.events, base.facts_of, strict=True)
            if json.loads(event).get("cat") in categories
        ]
        events = ",\n  ".join(event for event, _ in kept)
        return Made(
            encoded(base.head + events + base.tail), sum((f for _, f in kept), EMPTY)
        )

    return make


def without_kernels(every: int):
    """Lose every n-th kernel, as a full buffer does."""

    def make(base: Base) -> Made:
        seen, kept = 0, []
        for event, facts in zip(base.events, base.facts_of, strict=True):
            seen += facts.gpu
            if not (facts.gpu and seen % every == 0):
                kept.append((event, facts))
        content = base.text(tuple(event for event, _ in kept))
        return Made(encoded(content), sum((f for _, f in kept), EMPTY))

    return make


def phases(letters: str, **members: str) -> tuple[str, Facts]:
    more = "".join(f', "{key}": {value}' for key, value in members.items())
    rows = [
        f'{{"ph": "{c}", "cat": "cpu_op", "name": "p", "pid": 1, "tid": 1, '
        f'"ts": 9e12{more}}}'
        for c in letters
    ]
    return ", ".join(rows), Facts(events=len(rows))


def labels(*args: str) -> tuple[str, Facts]:
    rows = [
        f'{{"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "ts": 0{a}}}'
        for a in args
    ]
    return ", ".join(rows), Facts(events=len(rows))


VARIANTS = [
    V("F59", "pairs of B and E", raw(phases("BBEE")[0], PAIRS)),
    V(
        "F59",
        "an end without beginning",
        raw(phases("E")[0], EMPTY),
        warns(stray_end=1),
    ),
    V("F59", "asynchronous and object events", raw(*phases("bneSTpFNODPRcC", id="1"))),
    V("F59", "phases that do not exist", raw(*phases("Qqz9"))),
    V(
        "F59",
        "5000 levels of B",
        raw(*phases("B" * 5_000)),
        warns(unclosed_span=5_000),
    ),
    *(
        V(
            "F60",
            f"a counter of {value}",
            raw(
                f'{{"ph": "C", "name": "m", "pid": 1, "ts": 9e12, '
                f'"args": {{"v": {value}}}}}',
                EVENT,
            ),
        )
        for value in COUNTERS
    ),
    *alike("F60")(
        memory_beyond_32_bits=raw(
            '{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, '
            '"ts": 9e12, "args": {"Bytes": -4294967296, '
            '"Addr": 18446744073709551615, "Device Id": -1}}',
            EVENT,
        ),
    ),
    *(
        V("F61", name, x(cat='"overhead"', name=f'"{name}"', names=(name,)))
        for name in OWN_ROWS
    ),
    *alike("F61")(
        spans=x(
            cat='"Trace"',
            pid='"Spans"',
            tid='"PyTorch Profiler"',
            args='{"Op count": 0}',
        ),
    ),
    V("F62", "no step", each(lambda e: e.replace("ProfilerStep#", "Step "))),
    V(
        "F62",
        "one number for all",
        each(lambda e: e.replace("ProfilerStep#4", "ProfilerStep#3")),
    ),
    *(
        V("F62", name, x(cat='"user_annotation"', name=f'"{name}"', names=(name,)))
        for name in STEPS
    ),
    V("F63", "no events", alone('{"traceEvents": []}')),
    V("F63", "no events and no object", alone("[]")),
    V("F63", "no events, with metadata", only()),
    V("F63", "metadata only", only(None)),
    V("F63", "kernels only", only("kernel")),
    V("F63", "no kernels", only("cpu_op", "cuda_runtime", "user_annotation")),
    *(V("F63", f"{kind} only", only(kind)) for kind in KINDS),
    *alike("F64")(
        metadata_rows_twice=raw(*labels(*2 * [', "args": {"name": "python"}'])),
        metadata_rows_in_conflict=raw(
            *labels(', "args": {"name": "a"}', ', "args": {"name": "b"}')
        ),
        metadata_rows_without_args=raw(
            *labels("", ', "args": {}', ', "args": {"name": 5}')
        ),
    ),
    *alike("F65")(
        no_rank=text(lambda t: t.replace('"distributedInfo"', '"was"')),
        a_rank_of_text=text(lambda t: t.replace('"rank": ', '"rank": "a", "was": ')),
        no_object=text(
            lambda t: t.replace('"distributedInfo"', '"distributedInfo": [1], "was"')
        ),
        a_negative_rank=header('"rank": -1'),
    ),
    *alike("F65", warns(duplicate_key=1))(
        a_rank_twice=header('"distributedInfo": {"rank": 5}'),
    ),
    *(V("F66", f"1 kernel of {n} lost", without_kernels(n)) for n in (1, 2, 5)),
    *alike("F66")(
        a_graph_launch_without_kernels=x(
            cat='"cuda_runtime"', name='"cudaGraphLaunch"', args='{"correlation": 999}'
        ),
        lost_records_in_the_log=footer('"LOG": ["Record counts: Out-of-range = 1510"]'),
    ),
]
