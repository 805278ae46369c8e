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
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views.inspection import inspect_trace

from .faults.base import list_start, spans
from .random_trace import random_trace
from .raw_trace import union
from .real_traces import PATHS, summed_up
from .slow_loader import NO_TIME, Members, Number, SlowTrace, parse

# Facts of the file or of the run: of warnings, the first event that shows them.
NO_FIGURES = ("path", "text_bytes", "seconds", "detail")


def figures(value: Any) -> Any:
    """Drop what is not a figure from a JSON form."""
    if isinstance(value, dict):
        return {k: figures(v) for k, v in value.items() if k not in NO_FIGURES}
    return [figures(item) for item in value] if isinstance(value, list) else value


def form_of(content: bytes) -> Any:
    return figures(json.loads(torchtraceap.analyze(content).to_json()))


def facts(content: bytes) -> dict[str, Any]:
    """Return what `inspect` counts, in any order."""
    counted = inspect_trace(torchtraceap.load(content))
    del counted["text_bytes"]
    return counted | {part: dict(counted[part]) for part in ("categories", "phases")}


@pytest.mark.parametrize("name", summed_up())
def test_any_order_says_the_same(name: str) -> None:
    text = gzip.decompress(PATHS[name].read_bytes()).decode()
    try:
        events = [text[begin:end] for begin, end in spans(text, list_start(text))]
    except ValueError:
        pytest.skip("the file is cut")
    first, last = text.index(events[0]), text.rindex(events[-1]) + len(events[-1])

    def written(order: list[str]) -> bytes:
        return (text[:first] + ",\n".join(order) + text[last:]).encode()

    control = written(events)
    expected = facts(control), form_of(control)
    shuffled = random.Random(name).sample(events, len(events))
    for order in (events[::-1], shuffled):
        content = written(order)
        assert (facts(content), form_of(content)) == expected


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
        expected = figures(json.loads(report.to_json()))
        assert form_of(shuffled(content, seed)) == expected, seed
        # Some of its work is then not in the balance.
        apart = {"outlier_times"}
        if any(note.kind in apart for note in report.quality.warnings):
            continue
        slow = SlowTrace(parse(content))
        for device in {device for device, _, _ in found if device >= 0}:
            of_one = [busy for number, _, busy in found if number == device]
            # Rows under several pids are of several devices, which may work at once.
            assert max(of_one) <= busy_ns(slow, device) <= sum(of_one), seed
            devices += len(of_one) == 1
    assert devices or RANDOM_TRACES < GROUP  # they do test something
