# SPDX-License-Identifier: BSD-3-Clause
"""test_features.py: the arrays of a report, as a model or a notebook reads them."""

from __future__ import annotations

import dataclasses
import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torchtraceap
from torchtraceap import Report, _core, analyze
from torchtraceap.data.features import Features

TRACES = sorted((Path(__file__).resolve().parents[1] / "data").glob("*.json.gz"))


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
        assert (values >= (-1 if column.missing else 0)).all(), column
    assert list(features.tokens) == [c.name for c in Features.token_table()]


def test_nothing_is_copied(inference: Report) -> None:
    features = inference.features()
    indexes = [features.row, features.token_begin, features.window_begin]
    arrays = [features.windows, *indexes, *features.tokens.values()]
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
    assert 60 <= len(features.columns) - len(patterns) <= 140
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


def test_an_unusable_trace_has_them(data: Path) -> None:
    report = torchtraceap.analyze(data / "a100-cupti-range-no-kernels.json.gz")
    assert report.quality.verdict == "unusable"
    features = report.features()
    causes = [i for i, n in enumerate(features.columns) if n.startswith("cause_")]
    # Not 0, which would say that nothing is wasted.
    assert np.isnan(features.windows[:, causes]).all()
    assert {features.table()[i].missing for i in causes} == {"unusable trace"}


@pytest.mark.parametrize(
    ("merge", "error", "told"),
    [
        (0, ValueError, "at least 1, but is 0"),
        (-1, ValueError, "at least 1, but is -1"),
        (1.5, TypeError, "an int, but is"),
        ("a", TypeError, "an int, but is"),
        (None, TypeError, "an int, but is"),
        (True, TypeError, "an int, but is"),
    ],
)
def test_merge_is_a_number_of_windows(
    inference: Report, merge: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=f"merge must be {told}"):
        inference.features(merge=merge)


def test_no_token_has_no_name(inference: Report) -> None:
    features = inference.features()
    assert features.names(np.array([0])) == features.names([0])
    for told in (features.names, features.locations):
        with pytest.raises(IndexError, match=r"no token -1: .* -1 means none"):
            told([0, -1])
        with pytest.raises(IndexError):
            told([len(features.row)])


def test_the_page_is_made_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs" / "reference" / "features.md").read_text("utf-8")
    script = root / ".ci" / "feature_index.py"
    made = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    assert made.stdout == page, "python .ci/feature_index.py --write"
    namespace: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        exec(compile(code, "features.md", "exec"), namespace)
    assert "launch" in namespace["names"] and namespace["here"] > 0
