# SPDX-License-Identifier: BSD-3-Clause
"""test_loader.py: the loader against a slow one on Python's json, to the nanosecond.

On real traces, on every fault that is JSON all the same, and on random sound traces
(TORCHTRACEAP_RANDOM_TRACES sets how many: default 300). Cuts at every byte, and damage
inside events: tests/cpp/trace/test_recover.cpp.

The slow loader needs minutes for the real traces. Its results are kept, as a
digest of each column, in tests/data/column_digests.json; `make verify` reads it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap

from .catalogue import VARIANTS, name_of
from .faults.base import synthetic
from .faults.variant import Loads, Variant
from .random_trace import random_trace
from .real_traces import DATA, PATHS
from .slow_loader import COLUMNS, SlowTrace, parse, plain

KEPT = DATA / "column_digests.json"
WRITE = "TORCHTRACEAP_WRITE_DIGESTS"
SLOWLY = "pytest -m verify tests/python/test_loader.py"
RANDOM_TRACES = int(os.environ.get("TORCHTRACEAP_RANDOM_TRACES", "300"))
TEXT_IDENTITY = 1 << 62

Part = tuple[str, Any]


def columns_of(trace: torchtraceap.Trace) -> dict[str, list[Any]]:
    """The columns as the slow loader has them: texts for numbers that mean texts."""
    strings, categories = trace.strings, trace.category_names
    columns: dict[str, list[Any]] = {c: trace.columns[c].tolist() for c in COLUMNS}
    columns["name"] = [strings[i] for i in columns["name"]]
    columns["category"] = [categories[i] for i in columns["category"]]
    columns["phase"] = list(trace.columns["phase"].tobytes().decode("ascii"))
    for column in ("pid", "tid"):
        columns[column] = [
            v if v < TEXT_IDENTITY else strings[v - TEXT_IDENTITY]
            for v in columns[column]
        ]
    return columns


def args_of(trace: torchtraceap.Trace, rows: list[int]) -> list[Any]:
    texts = trace.read_args(rows)
    return [plain(parse(text.encode())) if text else None for text in texts]


def slow_args(truth: SlowTrace, rows: list[int]) -> list[Any]:
    read = (truth.args[row] for row in rows)
    return [None if args is None else plain(args) for args in read]


def metadata_of(trace: torchtraceap.Trace) -> dict[str, Any]:
    return {key: plain(parse(text.encode())) for key, text in trace.metadata.items()}


def slow_metadata(truth: SlowTrace) -> dict[str, Any]:
    return {key: plain(value) for key, value in truth.metadata.items()}


def check_all(trace: torchtraceap.Trace, truth: SlowTrace, rows: list[int]) -> None:
    columns = columns_of(trace)
    for column in COLUMNS:
        check_rows(column, columns[column], truth.columns[column])
    rows = lone(columns, rows)
    check_rows("args", args_of(trace, rows), slow_args(truth, rows), rows)
    assert metadata_of(trace) == slow_metadata(truth)


def lone(columns: dict[str, list[Any]], rows: list[int]) -> list[int]:
    """Drop rows that agree with a neighbor in all columns: only args order those."""
    every = list(zip(*(columns[column] for column in COLUMNS), strict=True))
    return [
        row
        for row in rows
        if every[row] not in every[max(0, row - 1) : row] + every[row + 1 : row + 2]
    ]


def check_rows(
    column: str, got: list[Any], expected: list[Any], rows: list[int] | None = None
) -> None:
    """Fail with the first row that differs."""
    assert len(got) == len(expected)
    for i, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        assert ours == theirs, f"{column}, row {rows[i] if rows else i}"


# --- Real traces ------------------------------------------------------------------


def digest(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return hashlib.sha256(text).hexdigest()[:16]


def digests(path: Path, columns: Any, args: Any, metadata: Any) -> dict[str, str]:
    """A digest of the file, and of each part of what was read of it."""
    parts = {**columns, "args": args, "metadata": sorted(metadata.items())}
    return {"file": digest(path.read_bytes())} | {
        name: digest(part) for name, part in parts.items()
    }


def some_rows(trace: torchtraceap.Trace) -> list[int]:
    """Those whose args are in the digest: from the last one on, and the first twice."""
    return [*range(len(trace) - 1, -1, -max(1, len(trace) // 1_000)), 0, 0]


def kept() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(KEPT.read_text("ascii"))
    return found


def keep(name: str, row: dict[str, str]) -> None:
    rows = sorted({**kept(), name: row}.items())
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "ascii")


@pytest.mark.parametrize("name", sorted(PATHS))
def test_real_traces(name: str) -> None:
    path, row = PATHS[name], kept().get(name, {})
    trace = torchtraceap.load(str(path))
    columns = columns_of(trace)
    args = args_of(trace, lone(columns, some_rows(trace)))
    found = digests(path, columns, args, metadata_of(trace))
    hint = f"what is kept is of another file, or of none: {WRITE}=1 {SLOWLY} -k {name}"
    assert found["file"] == row.get("file"), hint
    wrong = [part for part in found if found[part] != row.get(part)]
    assert not wrong, f"{wrong} differ; this tells the first row: {SLOWLY} -k {name}"
    assert not list(trace.warnings)


@pytest.mark.verify
@pytest.mark.parametrize("name", sorted(PATHS))
def test_real_traces_slowly(name: str) -> None:
    path = PATHS[name]
    truth, trace = SlowTrace(parse(path.read_bytes())), torchtraceap.load(path)
    # All of a small trace, a sample of a large one, out of order and with repeats.
    step = max(1, len(trace) // 20_000)
    check_all(trace, truth, [*range(len(trace) - 1, -1, -step), 0, 0])
    args = slow_args(truth, lone(truth.columns, some_rows(trace)))
    row = digests(path, truth.columns, args, slow_metadata(truth))
    if os.environ.get(WRITE):
        keep(name, row)
    assert kept().get(name) == row, f"{WRITE}=1 keeps what is read today"


# --- Odd and random ones ----------------------------------------------------------

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
    except (ValueError, RecursionError):  # Loads, but is not JSON to Python.
        return
    trace = torchtraceap.load(content)
    check_all(trace, SlowTrace(document), [*range(len(trace))])


@pytest.mark.parametrize("first", range(0, RANDOM_TRACES, 50))
def test_random_traces(first: int) -> None:
    for seed in range(first, min(first + 50, RANDOM_TRACES)):
        content = random_trace(seed)
        json.loads(content)  # Else the test would be of something else.
        trace = torchtraceap.load(content)
        check_all(trace, SlowTrace(parse(content)), [*range(len(trace))])


# --- Cut files ------------------------------------------------------------------------


def test_what_is_recovered_is_what_was_there() -> None:
    base = synthetic()
    ten = base.head + ",\n  ".join(base.events[:10])
    whole = torchtraceap.load((ten + "]}").encode())
    cut = torchtraceap.load((ten + ',\n  {"ph": "X", "na').encode(), recover=True)
    assert cut.strings == whole.strings
    for column, values in cut.columns.items():
        np.testing.assert_array_equal(values, whole.columns[column], column)
    in_file = np.argsort(cut.columns["args_offset"])
    args = [json.loads(text) if text else None for text in cut.read_args(in_file)]
    assert args == [json.loads(event).get("args") for event in base.events[:10]]
