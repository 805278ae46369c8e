# SPDX-License-Identifier: BSD-3-Clause
"""test_order.py: the order of events in a file decides nothing (fault F43).

Writers that merge buffers write children before parents and kernels before launches.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views.inspection import inspect_trace

from .faults.base import list_start, spans

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
