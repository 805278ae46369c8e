# SPDX-License-Identifier: BSD-3-Clause
"""test_features.py: the arrays of a report, as a model or a notebook reads them."""

from __future__ import annotations

import dataclasses
import gc
import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import Report, _core, analyze
from torchtraceap.features import Features

from .trace_builder import kernel, launch, op, report_of

TRACES = sorted((Path(__file__).resolve().parents[1] / "data").glob("*.json.gz"))
#: Small enough to be written and read again.
SMALL = [path for path in TRACES if path.stat().st_size < 200_000]


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


@pytest.fixture(scope="module")
def inference(data: Path) -> Report:
    return analyze(data / "h100-vit-nsfw-inference.json.gz")


@pytest.mark.parametrize("path", TRACES, ids=name_of)
def test_every_trace_has_them(path: Path) -> None:
    report = analyze(path)
    features = report.features()
    windows, begin = features.windows, features.token_begin
    assert windows.shape == (len(report.windows), len(features.columns))
    assert windows.dtype == np.float32 and begin.dtype == np.int64
    assert np.diff(begin).tolist() == [w.events for w in report.windows]
    assert not np.isinf(windows).any()
    for column, values in zip(Features.table(), windows.T, strict=True):
        assert column.missing or not np.isnan(values).any(), column
        known = values[~np.isnan(values)]
        if column.unit == "share":
            assert ((known >= 0) & (known <= 1 + 1e-6)).all(), column
    for column in Features.token_table():
        values = features.tokens[column.name]
        assert values.dtype == np.dtype(column.type) and len(values) == begin[-1]
        assert np.isfinite(values).all(), column
        if not column.missing and column.unit != "log2 ratio":
            assert (values >= 0).all(), column
    assert list(features.tokens) == [c.name for c in Features.token_table()]
    edges_lead_into_their_window(features)


def edges_lead_into_their_window(features: Features) -> None:
    """Parents begin before their children; what is launched, after its call."""
    tokens, begin = features.tokens, features.token_begin
    lengths = np.diff(begin)
    starts = np.repeat(begin[:-1], lengths)
    own = np.arange(begin[-1]) - starts
    for edge in ("parent", "launch"):
        target = tokens[edge]
        assert (target >= -1).all() and (target < np.repeat(lengths, lengths)).all()
    parents = tokens["parent"] >= 0
    assert (tokens["parent"] < own)[parents].all()
    above = tokens["depth"][(starts + tokens["parent"])[parents]]
    assert (tokens["depth"][parents] == np.minimum(255, above.astype(int) + 1)).all()
    heads = tokens["repeats"] > 0
    assert heads[begin[:-1][lengths > 0]].all()


def test_nothing_is_copied(inference: Report) -> None:
    features = inference.features()
    arrays = [features.windows, features.token_begin, *features.tokens.values()]
    for array in arrays:
        assert not array.flags.owndata and not array.flags.writeable
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    bases = {type(array.base) for array in arrays}
    assert bases == {_core.Features}
    again = inference.features()
    assert np.array_equal(again.windows, features.windows, equal_nan=True)


def test_an_array_keeps_its_memory(data: Path) -> None:
    path = data / "mi250-rocm62-tiny.json.gz"
    windows = analyze(path).features().windows
    expected = windows.copy()
    gc.collect()
    analyze(path).features()
    assert np.array_equal(windows, expected, equal_nan=True)


def test_the_columns_have_one_table(inference: Report) -> None:
    features = inference.features()
    table = features.table()
    assert tuple(column.name for column in table) == features.columns
    assert len(set(features.columns)) == len(features.columns)
    patterns = [pattern.name for pattern in _core.patterns()]
    assert [n for n in features.columns if n.startswith("cause_")] == [
        f"cause_{name}" for name in patterns
    ]
    assert 60 <= len(features.columns) - len(patterns) <= 100
    assert all(column.unit and column.doc for column in table)
    assert re.fullmatch("[0-9a-f]{16}", features.fingerprint)
    with pytest.raises(dataclasses.FrozenInstanceError):
        features.fingerprint = ""  # type: ignore[misc]


def test_they_agree_with_the_windows(inference: Report) -> None:
    features = inference.features()
    column = dict(zip(features.columns, features.windows.T, strict=True))
    for i, window in enumerate(inference.windows):
        busy = window.busy_us / window.duration_us
        assert column["busy"][i] == pytest.approx(busy, abs=1e-5)
        for label in window.labels:
            share = label.wasted_us / window.duration_us
            assert column[f"cause_{label.pattern}"][i] == pytest.approx(share, abs=1e-5)
    idle = sum(column[f"idle_{part}"] for part in ("tiny", "short", "medium", "long"))
    assert np.allclose(column["busy"] + idle, 1, atol=1e-5)
    late = [n for n in column if n.startswith("late_in_")]
    assert (sum(column[n] for n in late) <= column["late"] + 1e-5).all()


def test_kinds_are_named(inference: Report) -> None:
    kinds = list(Features.kinds())
    tokens = inference.features().tokens
    found = {kinds[k] for k in np.unique(tokens["kind"])}
    assert {"launch", "matrix", "matrix_kernel", "view"} <= found
    on_stream = tokens["lane_kind"] >= 2
    kernels = np.array(["kernel" in name for name in kinds])[tokens["kind"]]
    assert on_stream[kernels].all() and (tokens["launch_delay"][~on_stream] == -1).all()


def same(one: Report, other: Report, least: float = 1) -> None:
    """Whether at least such a share of all values is the same."""
    a, b = one.features(), other.features()
    equal = np.isclose(a.windows, b.windows, rtol=0, atol=0, equal_nan=True)
    assert equal.mean() >= least
    assert np.array_equal(a.token_begin, b.token_begin)
    for name, values in a.tokens.items():
        assert (values == b.tokens[name]).mean() >= least, name


def twins(events: list[Any]) -> bool:
    """Whether two events of a thread begin and end together: then the order of the file
    says which one encloses the other."""
    keys = [
        tuple(event.get(key) for key in ("cat", "pid", "tid", "ts", "dur"))
        for event in events
        if isinstance(event, dict) and event.get("ph") == "X"
    ]
    return len(set(keys)) < len(keys)


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_order_clock_and_numbers_decide_nothing(path: Path) -> None:
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
    except json.JSONDecodeError:
        pytest.skip("a trace that is no whole document")
    if isinstance(document, list):
        document = {"traceEvents": document}
    events = document["traceEvents"]

    def of(changed: list[Any]) -> Report:
        return analyze(json.dumps({**document, "traceEvents": changed}).encode())

    control = of(events)
    mixed = of(random.Random(7).sample(events, len(events)))
    same(control, mixed, 0.98 if twins(events) else 1)
    same(control, of([_later(event, 4096) for event in events]))


def _later(event: Any, us: int) -> Any:
    ts = event.get("ts") if isinstance(event, dict) else None
    if not isinstance(ts, int | float) or isinstance(ts, bool):
        return event
    return {**event, "ts": ts + us}


def test_other_pids_and_tids_say_the_same() -> None:
    def trace(pid: int, tid: int, device: int) -> Report:
        return report_of(
            op("aten::mm", 0, 30, pid=pid, tid=tid),
            launch(5, 1, pid=pid, tid=tid),
            kernel(20, 30, correlation=1, device=device),
        )

    same(trace(100, 1, 0), trace(7, 31, 3))


def test_a_trace_without_a_device_has_host_columns(cpu_only: Report) -> None:
    features = cpu_only.features()
    for column, values in zip(features.table(), features.windows.T, strict=True):
        if column.missing == "no device":
            assert np.isnan(values).all(), column
    column = dict(zip(features.columns, features.windows.T, strict=True))
    assert (column["operators"] > 0).any() and (column["operators_busy"] > 0).any()
    assert (features.tokens["device_busy"] == -1).all()


def test_an_empty_trace_has_none() -> None:
    features = analyze(b'{"traceEvents": []}').features()
    assert features.windows.shape == (0, len(features.columns))
    assert features.token_begin.tolist() == [0]
    assert all(len(values) == 0 for values in features.tokens.values())


def test_an_unusable_trace_has_them(data: Path) -> None:
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    assert report.quality.verdict == "unusable"
    features = report.features()
    causes = [i for i, n in enumerate(features.columns) if n.startswith("cause_")]
    assert not features.windows[:, causes].any()


def test_the_page_is_made_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs" / "features.md").read_text("utf-8")
    script = root / ".ci" / "feature_index.py"
    made = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    assert made.stdout == page, "python .ci/feature_index.py --write"
    namespace: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(code, "features.md", "exec"), namespace)
    assert namespace["names"] and namespace["end"] > namespace["begin"]
