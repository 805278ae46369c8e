# SPDX-License-Identifier: BSD-3-Clause
# tests/python/test_loader.py: the loader against Python's json, on real traces.
#
# Python's json is slow and shares no code with the loader. Times are compared as
# decimals, so that a nanosecond lost anywhere is seen.
from __future__ import annotations

import collections
import decimal
import gzip
import json
import pathlib

import numpy as np
import pytest

import torchtraceap

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = [
    pytest.param(
        path,
        id=path.name,
        # Seconds for Python's json, that is; the loader takes milliseconds.
        marks=[pytest.mark.slow] if path.stat().st_size > 1_000_000 else [],
    )
    for folder in (ROOT / "tests" / "data", ROOT.parent / "shared" / "traces")
    for pattern in ("*.json", "*.json.gz")
    for path in sorted(folder.glob(pattern))
]

NO_TIME = np.iinfo(np.int64).min
NO_ID = -1
TEXT_IDENTITY = 1 << 62

# Names of other years; everything else is compared as it stands.
ALIASES = {
    "Operator": "cpu_op",
    "CPU functions": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Python": "python_function",
    "async": "ac2g",
    "async_gpu": "ac2g",
    "async_cpu_to_gpu": "ac2g",
    "forward_backward": "fwdbwd",
}
DEVICE_SIDE = {
    "kernel",
    "gpu_memcpy",
    "gpu_memset",
    "mtia_ccp_events",
    "hpu_op",
    "gpu_user_annotation",
    "cuda_sync",
    "cuda_profiler_range",
    "mtia_insight",
}


def read_json(path: pathlib.Path) -> dict:
    """Load a trace the slow way; a list becomes an object."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=decimal.Decimal)
    return {"traceEvents": document} if isinstance(document, list) else document


def nanoseconds(value: object) -> int:
    """Convert microseconds, rounding half to even as the loader promises."""
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)):
        return NO_TIME
    scaled = decimal.Decimal(value) * 1000
    return int(scaled.to_integral_value(rounding=decimal.ROUND_HALF_EVEN))


def number(value: object) -> int:
    """Convert an id as args have it: a number, or its text."""
    if isinstance(value, str):
        return int(value, 0)
    return NO_ID if value is None else int(value)


def identity(value: object) -> object:
    """Convert a pid or tid: a number, or else a text."""
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return int(value)
    return NO_ID if value is None else value


@pytest.fixture(scope="module", params=TRACES)
def pair(request: pytest.FixtureRequest) -> tuple:
    """Give one trace twice: as loaded, and as Python's json sees it."""
    return torchtraceap.load(str(request.param)), read_json(request.param)


def test_rows_are_the_events(pair: tuple) -> None:
    trace, truth = pair
    names = trace.category_names
    columns = trace.columns
    phases = columns["phase"].tobytes().decode("ascii")
    got = collections.Counter(
        (phase, names[category])
        for phase, category in zip(phases, columns["category"].tolist(), strict=True)
    )
    expected = collections.Counter(
        (event["ph"], ALIASES.get(event.get("cat"), event.get("cat", "unknown")))
        for event in truth["traceEvents"]
    )
    assert got == expected


@pytest.mark.parametrize("field", ["ts", "dur"])
def test_times_are_exact(pair: tuple, field: str) -> None:
    trace, truth = pair
    expected = [nanoseconds(event.get(field)) for event in truth["traceEvents"]]
    np.testing.assert_array_equal(trace.columns[field], expected)


def test_names(pair: tuple) -> None:
    trace, truth = pair
    strings = trace.strings
    got = [strings[i] for i in trace.columns["name"].tolist()]
    assert got == [event.get("name", "") for event in truth["traceEvents"]]
    assert trace.name(len(got) - 1) == got[-1]


@pytest.mark.parametrize("field", ["pid", "tid"])
def test_identities(pair: tuple, field: str) -> None:
    trace, truth = pair
    strings = trace.strings
    got = [
        value if value < TEXT_IDENTITY else strings[value - TEXT_IDENTITY]
        for value in trace.columns[field].tolist()
    ]
    assert got == [identity(event.get(field)) for event in truth["traceEvents"]]


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("external_id", ("External id", "external id")),
        ("python_id", ("Python id",)),
        ("python_parent_id", ("Python parent id",)),
        ("sequence", ("Sequence number",)),
    ],
)
def test_ids_from_args(pair: tuple, column: str, keys: tuple[str, ...]) -> None:
    trace, truth = pair

    def expected(event: dict) -> int:
        args = event.get("args", {})
        return number(next((args[key] for key in keys if key in args), None))

    expectation = [expected(event) for event in truth["traceEvents"]]
    np.testing.assert_array_equal(trace.columns[column], expectation)


def test_correlation(pair: tuple) -> None:
    trace, truth = pair

    def expected(event: dict) -> int:
        if event["ph"] in "stf":
            return number(event.get("id"))
        return number(event.get("args", {}).get("correlation"))

    expectation = [expected(event) for event in truth["traceEvents"]]
    np.testing.assert_array_equal(trace.columns["correlation"], expectation)


def test_device_and_stream(pair: tuple) -> None:
    trace, truth = pair

    def expected(event: dict) -> tuple[int, int]:
        category = event.get("cat")
        if ALIASES.get(category, category) not in DEVICE_SIDE:
            return NO_ID, NO_ID
        args = event.get("args", {})
        device = args.get("device", event.get("pid"))
        stream = number(args.get("stream"))
        if stream == NO_ID:
            tid = identity(event.get("tid"))
            stream = int(tid.removeprefix("stream ")) if isinstance(tid, str) else tid
        return device, stream

    expectation = [expected(event) for event in truth["traceEvents"]]
    got = zip(trace.columns["device"], trace.columns["stream"], strict=True)
    assert [(int(d), int(s)) for d, s in got] == expectation


def test_args_read_again(pair: tuple) -> None:
    trace, truth = pair
    events = truth["traceEvents"]
    # All of a small trace, a sample of a large one, out of order and with repeats.
    step = max(1, len(events) // 20_000)
    rows = [*range(len(events) - 1, -1, -step), 0, 0]
    texts = trace.read_args(rows)
    for row, text in zip(rows, texts, strict=True):
        args = json.loads(text, parse_float=decimal.Decimal) if text else None
        assert args == events[row].get("args"), f"row {row}"


def test_metadata(pair: tuple) -> None:
    trace, truth = pair
    got = {
        key: json.loads(value, parse_float=decimal.Decimal)
        if isinstance(value, (str, bytes))
        else value
        for key, value in trace.metadata.items()
    }
    assert got == {key: value for key, value in truth.items() if key != "traceEvents"}


def test_real_traces_give_no_false_alarm(pair: tuple) -> None:
    trace, _ = pair
    assert not list(trace.warnings)
