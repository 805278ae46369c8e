# SPDX-License-Identifier: BSD-3-Clause
"""test_loader.py: the loader against a slow one on Python's json, to the nanosecond.

On real traces, on every fault that is JSON all the same, and on random sound traces.
TORCHTRACEAP_RANDOM_TRACES sets how many of those (default: 300).
"""

from __future__ import annotations

import inspect
import json
import os
import pathlib

import numpy as np
import pytest

import torchtraceap

from .catalogue import VARIANTS, name_of
from .faults.base import synthetic
from .faults.variant import Loads, Variant
from .random_trace import random_trace
from .slow_loader import COLUMNS, SlowTrace, parse, plain

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
RANDOM_TRACES = int(os.environ.get("TORCHTRACEAP_RANDOM_TRACES", "300"))
TEXT_IDENTITY = 1 << 62
HAS_THREADS = "threads" in inspect.signature(torchtraceap.load).parameters


def column(trace: torchtraceap.Trace, name: str) -> np.ndarray | list:
    """Return a column as the slow loader has it: texts for numbers that mean texts."""
    values = trace.columns[name]
    strings = trace.strings
    if name == "name":
        return [strings[i] for i in values.tolist()]
    if name == "category":
        names = trace.category_names
        return [names[i] for i in values.tolist()]
    if name == "phase":
        return list(values.tobytes().decode("ascii"))
    if name in ("pid", "tid"):
        return [
            v if v < TEXT_IDENTITY else strings[v - TEXT_IDENTITY]
            for v in values.tolist()
        ]
    return values


def check_column(trace: torchtraceap.Trace, truth: SlowTrace, name: str) -> None:
    got, expected = column(trace, name), truth.columns[name]
    if isinstance(got, list):
        assert got == expected, name
    else:
        np.testing.assert_array_equal(got, np.array(expected, np.int64), name)


def check_args(trace: torchtraceap.Trace, truth: SlowTrace, rows: list[int]) -> None:
    for row, text in zip(rows, trace.read_args(rows), strict=True):
        args = plain(parse(text.encode())) if text else None
        expected = truth.args[row]
        assert args == (None if expected is None else plain(expected)), f"row {row}"


def check_metadata(trace: torchtraceap.Trace, truth: SlowTrace) -> None:
    got = {key: plain(parse(text.encode())) for key, text in trace.metadata.items()}
    assert got == {key: plain(value) for key, value in truth.metadata.items()}


def check_all(trace: torchtraceap.Trace, truth: SlowTrace) -> None:
    for name in COLUMNS:
        check_column(trace, truth, name)
    check_args(trace, truth, [*range(len(trace))])
    check_metadata(trace, truth)


@pytest.fixture(scope="module", params=TRACES)
def pair(request: pytest.FixtureRequest) -> tuple:
    """Give one trace twice: as loaded, and as Python's json sees it."""
    truth = SlowTrace(parse(request.param.read_bytes()))
    return torchtraceap.load(str(request.param)), truth


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(pair: tuple, name: str) -> None:
    check_column(*pair, name)


def test_args_read_again(pair: tuple) -> None:
    trace, truth = pair
    # All of a small trace, a sample of a large one, out of order and with repeats.
    step = max(1, len(trace) // 20_000)
    check_args(trace, truth, [*range(len(trace) - 1, -1, -step), 0, 0])


def test_metadata(pair: tuple) -> None:
    check_metadata(*pair)


def test_real_traces_give_no_false_alarm(pair: tuple) -> None:
    assert not list(pair[0].warnings)


SOUND = [
    variant
    for variant in VARIANTS
    if isinstance(variant.expected, Loads)
    and not variant.options
    and variant.fault not in ("F68", "F69")  # Much of what other variants hold.
]


@pytest.mark.parametrize("variant", SOUND, ids=name_of)
def test_odd_but_valid(variant: Variant) -> None:
    content = variant.make(synthetic()).content
    try:
        document = parse(content)
        plain(document)
    except (ValueError, RecursionError):  # Loads, but is no JSON to Python.
        return
    check_all(torchtraceap.load(content), SlowTrace(document))


@pytest.mark.parametrize("first", range(0, RANDOM_TRACES, 50))
def test_random_traces(first: int) -> None:
    for seed in range(first, min(first + 50, RANDOM_TRACES)):
        content = random_trace(seed)
        json.loads(content)  # Else the test would be of something else.
        truth = SlowTrace(parse(content))
        check_all(torchtraceap.load(content), truth)


@pytest.mark.skipif(not HAS_THREADS, reason="this build loads without threads=")
@pytest.mark.parametrize("path", TRACES[:13])
def test_threads_change_nothing(path: pathlib.Path) -> None:
    one = torchtraceap.load(path, threads=1)
    for threads in (2, 3, 4):
        more = torchtraceap.load(path, threads=threads)
        for name, values in one.columns.items():
            np.testing.assert_array_equal(more.columns[name], values, name)
        assert more.strings == one.strings
        assert more.metadata == one.metadata
