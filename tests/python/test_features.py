# SPDX-License-Identifier: BSD-3-Clause
"""test_features.py: the arrays of a report, as a model or a notebook reads them, and
what has no part in them."""

from __future__ import annotations

import dataclasses
import gc
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torchtraceap import Report, _core, analyze, load
from torchtraceap.data.features import Features

from .conftest import python
from .pages import ROOT, blocks, page
from .trace_builder import kernel, launch, op, report_of

TRACES = sorted((ROOT / "tests" / "data").glob("*.json.gz"))


def name_of(path: Path) -> str:
    return path.name.removesuffix(".json.gz")


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
            share = label.saved_fraction  # What its fix saves of the window.
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
    report = analyze(data / "a100-cupti-range-no-kernels.json.gz")
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


# --- Tokens --------------------------------------------------------------------------


@pytest.mark.parametrize("path", TRACES, ids=name_of)
def test_edges_lead_to_their_other_end(path: Path) -> None:
    """Parents begin before their children, launched work after its call; and an
    edge is there whenever its other end is a token of the same device."""
    report = analyze(path)
    features = report.features()
    tokens, begin = features.tokens, features.token_begin
    columns = report.loaded.columns
    starts = columns["ts"][features.row]
    tilings = [(w.device, w.pid) for w in report.windows]
    of_tiling = np.repeat([tilings.index(t) for t in tilings], np.diff(begin))
    work = tokens["lane_kind"] >= 2
    own = np.arange(begin[-1])
    for edge in ("parent", "launch"):
        has = tokens[edge] >= 0
        assert (tokens[edge] >= -1).all() and (tokens[edge] < begin[-1]).all()
        assert (has <= (work == (edge == "launch"))).all()
        assert (of_tiling[tokens[edge][has]] == of_tiling[has]).all()
    parents = tokens["parent"] >= 0
    above = tokens["parent"][parents]
    assert (above < own[parents]).all()
    assert (starts[above] <= starts[parents]).all()
    depth = np.minimum(255, tokens["depth"][above].astype(int) + 1)
    assert (tokens["depth"][parents] == depth).all()
    assert (parents == (tokens["depth"] > 0))[~work].all()
    launched = tokens["launch_delay"] >= 0
    assert (launched == (tokens["launch"] >= 0)).all()
    heads = tokens["repeats"] > 0
    assert heads[begin[:-1][np.diff(begin) > 0]].all()


def test_tokens_lead_to_their_events(data: Path) -> None:
    trace = load(data / "h100-vit-nsfw-inference.json.gz")
    report = analyze(trace)
    features = report.features()
    names = [trace.strings[i] for i in trace.columns["name"][features.row]]
    assert features.names(range(len(names))) == names
    lengths = np.log2(1 + trace.columns["dur"][features.row])
    assert np.allclose(features.tokens["duration"], lengths)
    first = names.index("aten::linear")
    (place,) = features.locations([first])
    assert (place.function, place.recorded_line) == ("run_on_input", 37)
    with pytest.raises(IndexError):
        features.locations([len(names)])


def test_neighbors_are_merged_within_steps(slow_loader: Report) -> None:
    fine, coarse = slow_loader.features(), slow_loader.features(merge=4)
    begin = coarse.window_begin
    assert begin[0] == 0 and begin[-1] == len(slow_loader.windows)
    assert np.diff(begin).min() >= 1 and np.diff(begin).max() == 4
    assert np.array_equal(coarse.token_begin, fine.token_begin[begin])
    same = slow_loader.features(merge=1).windows
    assert np.array_equal(same, fine.windows, equal_nan=True)


# --- The page ------------------------------------------------------------------------


def test_the_page_is_made_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    text, script = page("reference/features"), ROOT / ".ci" / "feature_index.py"
    made = python(script, check=True)
    assert made.stdout == text, "python .ci/feature_index.py --write"
    namespace: dict[str, Any] = {}
    for code in blocks(text, "python"):
        exec(compile(code, "features.md", "exec"), namespace)
    assert "launch" in namespace["names"] and namespace["here"] > 0


# --- What has no part in them ---------------------------------------------------------

#: Small enough to be written and read again.
SMALL = [path for path in TRACES if path.stat().st_size < 200_000]


def same(one: Report, other: Report) -> None:
    """Fail if any value differs."""
    a, b = one.features(), other.features()
    for name, left, right in zip(a.columns, a.windows.T, b.windows.T, strict=True):
        assert np.allclose(left, right, rtol=0, atol=0, equal_nan=True), name
    assert np.array_equal(a.token_begin, b.token_begin)
    for name, values in a.tokens.items():
        assert np.array_equal(values, b.tokens[name]), name


@pytest.mark.parametrize("path", SMALL, ids=name_of)
def test_the_clock_decides_nothing(path: Path) -> None:
    try:
        document = json.loads(gzip.decompress(path.read_bytes()))
    except json.JSONDecodeError:
        pytest.skip("a trace that is not a whole document")
    if isinstance(document, list):
        document = {"traceEvents": document}
    events = document["traceEvents"]

    def of(changed: list[Any]) -> Report:
        return analyze(json.dumps({**document, "traceEvents": changed}).encode())

    same(of(events), of([_later(event, 4096) for event in events]))


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


def test_stacks_do_not_change_what_else_happened(data: Path) -> None:
    path = data / "h100-vit-nsfw-inference.json.gz"
    document = json.loads(gzip.decompress(path.read_bytes()))
    events = document["traceEvents"]
    frames = [e for e in events if e.get("cat") == "python_function"]
    # The analyzed part begins and ends with a frame: these two stay.
    ends = (
        min(frames, key=lambda e: e["ts"]),
        max(frames, key=lambda e: e["ts"] + e["dur"]),
    )
    assert len(frames) > 2000
    fewer = [e for e in events if e.get("cat") != "python_function"] + [*ends]
    with_, without = (
        analyze(json.dumps({**document, "traceEvents": of}).encode()).features()
        for of in (events, fewer)
    )
    for name, a, b in zip(
        with_.columns, with_.windows.T, without.windows.T, strict=True
    ):
        # Rules read frames.
        if not name.startswith("cause_"):
            assert np.allclose(a, b, rtol=0, atol=1e-6, equal_nan=True), name
    for name, values in with_.tokens.items():
        assert np.array_equal(values, without.tokens[name]), name


def test_devices_of_merged_ranks_go_to_the_rank_of_the_same_number() -> None:
    """Of more than ten, where letters have another order; all ids are the same."""
    events = [
        made
        for rank in range(12)
        for made in (
            op("aten::mm", 0, 900, pid=f"rank {rank}"),
            launch(10, 1, pid=f"rank {rank}"),
            kernel(50, 100 + rank, "k", correlation=1, pid=f"GPU {rank}"),
        )
    ]
    rows = report_of(*events).balance
    assert {row.pid: row.busy_us for row in rows} == {
        f"rank {rank}": 100 + rank for rank in range(12)
    }


def test_merged_ranks_say_what_each_says_alone() -> None:
    def rank(label: str, slower: float) -> list[Any]:
        pid = f"{label} 4000"
        return [
            made
            for i in range(60)
            for made in (
                op("aten::mm", i * 1000, 900, pid=pid),
                launch(i * 1000 + 10, i + 1, pid=pid),
                kernel(i * 1000 + 50, slower, "k", correlation=i + 1, pid=f"{label} 0"),
            )
        ]

    fast, slow = rank("[TP00]", 300), rank("[TP01]", 600)
    both = report_of(*fast, *slow)
    features = both.features()
    assert {w.pid for w in both.windows} == {"[TP00] 4000", "[TP01] 4000"}
    # What is usual is so of the whole file, and its kernels have one name.
    shared = {"kernel_ratio_median", "kernel_ratio_p90"}
    for label, alone in (("[TP00]", fast), ("[TP01]", slow)):
        one = report_of(*alone).features()
        mine = [w.pid == f"{label} 4000" for w in both.windows]
        assert sum(mine) == len(one.windows) == 2
        for name, a, b in zip(
            one.columns, one.windows.T, features.windows[mine].T, strict=True
        ):
            if name not in shared and not name.startswith("cause_"):
                assert np.allclose(a, b, rtol=0, atol=1e-6, equal_nan=True), name
