# SPDX-License-Identifier: BSD-3-Clause
"""test_order.py: the order of events in a file decides nothing (fault F43), and
span = busy + idle by pattern + unattributed, whatever the trace.

Writers that merge buffers write children before parents and kernels before launches.
test_traces.py holds every real trace to the sum. TORCHTRACEAP_RANDOM_TRACES sets how
many random ones there are (default: 300).
"""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views.inspection import inspect_trace

from .faults.base import list_start, spans
from .random_trace import random_trace
from .raw_trace import union
from .slow_loader import NO_TIME, Members, Number, SlowTrace, parse

DATA = Path(__file__).resolve().parents[1] / "data"
TRACES = (
    "mi250-rocm62-tiny",
    "mi300-torch-compile-triton",
    "kineto2021-computeProperties-tiny",
)


def written(document: dict[str, Any], events: list[str]) -> bytes:
    """Write a trace with these events as they stand."""
    head = json.dumps({k: v for k, v in document.items() if k != "traceEvents"})
    return (head[:-1] + ', "traceEvents": [' + ",\n".join(events) + "]}").encode()


def facts(trace: torchtraceap.Trace) -> dict[str, Any]:
    counted = inspect_trace(trace)
    return {
        key: value
        for key, value in counted.items()
        if key not in ("text_bytes", "categories", "phases")
    } | {"categories": dict(counted["categories"]), "phases": dict(counted["phases"])}


def figures(trace: torchtraceap.Trace) -> dict[str, Any]:
    """Collect what a report says in figures; rows of events are left out."""
    report = torchtraceap.analyze(trace)
    core = report.core
    findings: dict[tuple, list[int]] = {}
    for finding in report.rule_findings:
        place = finding.location
        where = (place.file, place.line) if place else None
        key = (finding.pattern, finding.subtype, finding.operator, where)
        total = findings.setdefault(key, [0, 0, 0])
        for i, n in enumerate((finding.count, finding.idle_ns, finding.wasted_ns)):
            total[i] += n
    return {
        "balance": [
            (b.device, b.span_ns, b.busy_ns, b.idle_ns, b.excess_ns, b.unattributed_ns)
            for b in core.balance
        ],
        "findings": findings,
        "steps": [(s.number, s.start_ns, s.end_ns, s.busy_ns) for s in core.steps()],
        "quality": (
            core.quality.verdict,
            sorted(n.kind for n in core.quality.warnings),
        ),
        "span": (core.trace.start_ns, core.trace.end_ns),
    }


@pytest.mark.parametrize("name", TRACES)
def test_any_order_says_the_same(name: str) -> None:
    text = gzip.decompress((DATA / f"{name}.json.gz").read_bytes()).decode()
    document = json.loads(text)
    events = [text[begin:end] for begin, end in spans(text, list_start(text))]
    assert len(events) == len(document["traceEvents"]) > 50
    control = torchtraceap.load(written(document, events))
    expected = facts(control), figures(control)
    orders = [events[::-1]]
    for seed in range(8):
        orders.append(random.Random(seed).sample(events, len(events)))
    for order in orders:
        trace = torchtraceap.load(written(document, order))
        assert (facts(trace), figures(trace)) == expected


# --- Random traces --------------------------------------------------------------------

RANDOM_TRACES = int(os.environ.get("TORCHTRACEAP_RANDOM_TRACES", "300"))
GROUP = 50

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "hpu_op")
# What MTIA's streams waited for is recorded beside what they ran.
NO_WORK = ("event_wait", "event_record")

Sums = list[tuple[int, int, int]]


def sums(report: torchtraceap.Report) -> Sums:
    """Return device, span and busy time of each row, having checked that all closes."""
    core = report.core
    out = []
    for row in core.balance:
        parts = [row.busy_ns, row.unattributed_ns, *row.idle_ns.values()]
        assert sum(parts) == row.span_ns == core.trace.end_ns - core.trace.start_ns
        assert min(parts) >= 0
        assert all(0 <= ns <= row.busy_ns for ns in row.excess_ns.values())
        assert sum(row.excess_ns.values()) <= row.busy_ns
        device = -1 if row.device is None else row.device
        out.append((device, row.span_ns, row.busy_ns))
    return out


def busy_ns(slow: SlowTrace, device: int) -> int:
    """Return how long any work of a device ran."""
    columns = (slow.columns[c] for c in ("phase", "category", "name", "device"))
    rows = zip(*columns, slow.columns["ts"], slow.columns["dur"], strict=True)
    own = [
        (ts, ts + dur)
        for phase, category, name, of, ts, dur in rows
        if (phase, of) == ("X", device) and category in WORK and name not in NO_WORK
        if NO_TIME not in (ts, dur) and dur >= 0
    ]
    return sum(end - begin for begin, end in union(own))


def rewritten(value: Any) -> str:
    """Write what `parse` gave: repeated keys and every digit stay."""
    if isinstance(value, Members):
        items = (f"{json.dumps(key)}:{rewritten(item)}" for key, item in value)
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(rewritten, value)) + "]"
    return value if isinstance(value, Number) else json.dumps(value)


def shuffled(content: bytes, seed: int) -> bytes:
    """Return the trace with its events in another order."""
    document = parse(content)
    top = document if isinstance(document, Members) else [("traceEvents", document)]
    (events,) = (value for key, value in top if key == "traceEvents")
    random.Random(seed).shuffle(events)
    return rewritten(document).encode()


@pytest.mark.parametrize("first", range(0, RANDOM_TRACES, GROUP))
def test_random_traces(first: int) -> None:
    """They are as busy as counted, unless times were left out as those of no
    recording; and in any order of their events."""
    devices = 0
    for seed in range(first, min(first + GROUP, RANDOM_TRACES)):
        content = random_trace(seed)
        report = torchtraceap.analyze(content)
        found = sums(report)
        again = torchtraceap.analyze(shuffled(content, seed))
        assert sorted(sums(again)) == sorted(found), seed
        if any(note.kind == "outlier_times" for note in report.quality.warnings):
            continue
        slow = SlowTrace(parse(content))
        for device in {device for device, _, _ in found if device >= 0}:
            of_one = [busy for number, _, busy in found if number == device]
            # Rows under several pids are of several devices, which may work at once.
            assert max(of_one) <= busy_ns(slow, device) <= sum(of_one), seed
            devices += len(of_one) == 1
    assert devices or RANDOM_TRACES < GROUP  # they do test something
