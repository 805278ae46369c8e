# SPDX-License-Identifier: BSD-3-Clause
"""test_inspect.py: what ``torchtraceap inspect`` counts, shows and refuses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli
from .trace_builder import event, kernel, launch, launched, op, trace_of

Counts = Callable[[bytes], dict[str, Any]]


@pytest.fixture
def counts(tmp_path: Path, cli: Cli) -> Counts:
    """Gives what ``--json`` prints of a trace."""

    def inspect(content: bytes) -> dict[str, Any]:
        path = tmp_path / "odd.json"
        path.write_bytes(content)
        *_, last = cli("inspect", path, "--json").fine().splitlines()
        printed: dict[str, Any] = json.loads(last)
        return printed

    return inspect


def test_inspect_counts_like_json(counts: Counts, data: Path) -> None:
    small = [p for p in sorted(data.glob("*.json.gz")) if p.stat().st_size < 200_000]
    assert len(small) > 5
    for path in small:
        got, expected = counts(path.read_bytes()), counted(path)
        assert {key: got[key] for key in expected} == expected, path.name
        assert isinstance(got["warnings"], list)


def counted(path: Path) -> dict[str, Any]:
    """Count a file with Python's json; times as whole nanoseconds."""
    document: Any = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    events = document if isinstance(document, list) else document["traceEvents"]
    events = [e for e in events if isinstance(e, dict) and isinstance(e.get("ph"), str)]
    x = [e for e in events if e["ph"] == "X"]
    work = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}

    def phase(*letters: str) -> int:
        return sum(e["ph"] in letters for e in events)

    return {
        "events": len(events),
        "x": len(x),
        "sum_dur_ns": int(sum(Decimal(e["dur"]) * 1000 for e in x if e["dur"] >= 0)),
        "min_ts_ns": int(min(Decimal(e["ts"]) * 1000 for e in x)),
        "gpu": sum(e.get("cat") in work for e in x),
        "flow_s": phase("s"),
        "flow_f": phase("f"),
        "instants": phase("i", "I"),
        "metadata": phase("M"),
    }


def test_inspect_for_people(data: Path, tmp_path: Path, cli: Cli) -> None:
    name = "kineto2021-v100-resnet50-workers0-memory.json.gz"
    text = cli("inspect", data / name).fine()
    assert "75,718" in text and "kernel" in text and "schemaVersion" in text
    path = tmp_path / "odd.json"
    path.write_text('{"a\\u001b[31m": 1, "traceEvents": [{"ph": "\\u202e"}]}')
    text = cli("inspect", path).fine()
    assert text.replace("\n", "").isprintable() and "\u202e" not in text


def test_absurd_durations_do_not_overflow(counts: Counts) -> None:
    dur = 9_000_000_000_000_000  # Microseconds; the largest sum is past 64 bits.
    got = counts(trace_of(*[op("a", 0, dur)] * 5))
    assert got["sum_dur_ns"] == 5 * dur * 1000


def test_gpu_counts_kernels_copies_and_memsets_alone(counts: Counts) -> None:
    """Under all their names, and no other work of a device."""
    counted_ones = ["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"]
    others = ["mtia_ccp_events", "hpu_op", "gpu_user_annotation", "cuda_sync", "cpu_op"]
    events = [
        event(cat, "a", 0, 1) | {"ph": phase}
        for cat in counted_ones + others
        for phase in "Xi"
    ]
    got = counts(trace_of(*events))
    assert (got["gpu"], got["x"], got["instants"]) == (6, 11, 11)


def test_elements_that_are_no_events_do_not_count(counts: Counts) -> None:
    odd: Any = [None, 3, [], {}, {"ph": 3}, {"ph": None}, {"ph": "X"}, {"ph": "long"}]
    got = counts(trace_of(*odd))
    assert (got["events"], got["x"], got["left_out"]) == (2, 1, 0)
    found = {w["kind"]: w["count"] for w in got["warnings"]}
    assert found["skipped_element"] == 3 and found["no_phase"] == 3
    assert all(set(w) == {"kind", "count", "detail"} for w in got["warnings"])


# --- Signs that show once events are laid out in time ---------------------------------

HOUR = 3_600_000_000
SIGNS = {
    # Kernels of a busy minute, one of which starts before its launch by 20 us.
    "clock_skew": [*launched(99, 30_040, 30_020, 10)],
    # A year away from the rest, and as long as fifteen days.
    "outlier_times": [op("far", 365 * 24 * HOUR, 5), op("long", 30_000, 360 * HOUR)],
    # Kept and counted as the file has it, but no time that an analysis takes.
    "far_time": [kernel(2**61 / 1000, 5, correlation=97)],
}


@pytest.mark.parametrize("kind", SIGNS)
def test_inspect_tells_of_a_trace_what_analyze_does(
    kind: str, tmp_path: Path, cli: Cli
) -> None:
    usual = [e for i in range(1, 41) for e in launched(i, 500 * i, 500 * i + 50, 200)]
    path = tmp_path / "odd.json"
    path.write_bytes(trace_of(*usual, *SIGNS[kind]))
    quality = json.loads(cli("inspect", path, "--json").fine())["quality"]
    report = json.loads(cli("analyze", path, "-q", "--json", "-").fine())
    assert quality == report["trace"]["quality"]
    (note,) = (n for n in quality["warnings"] if n["kind"] == kind)
    assert note["count"] == (2 if kind == "outlier_times" else 1)
    text = cli("inspect", path).fine()
    assert f"  warning      {kind} ×{note['count']}: {note['detail']}" in text
    assert f"  quality      {quality['verdict']}" in text


def test_a_sound_trace_gives_no_sign(data: Path, cli: Cli) -> None:
    text = cli("inspect", data / "mi250-rocm62-tiny.json.gz").fine()
    assert "  quality      ok\n" in text and "warning" not in text


def test_a_kernel_out_of_time_is_in_the_summary(tmp_path: Path, cli: Cli) -> None:
    """Even if it is one of fifty, without which busy time is 98 us for 100."""
    usual = [e for i in range(1, 50) for e in launched(i, 10 * i, 10 * i + 5, 2)]
    path = tmp_path / "far.json"
    far = kernel(2**61 / 1000, 2, correlation=50)
    path.write_bytes(trace_of(*usual, launch(500, 50), far))
    text = " ".join(cli("analyze", path, "--full").fine().split())
    assert "Quality: degraded" in text and "of 73 years or more are untimed" in text
    assert "busy 98 µs" in text or "98 µs of" in text
