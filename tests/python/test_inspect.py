# SPDX-License-Identifier: BSD-3-Clause
"""test_inspect.py: what ``torchtraceap inspect`` counts and shows."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_inspect_counts_like_json(program: Run, data: Path) -> None:
    small = [p for p in sorted(data.glob("*.json.gz")) if p.stat().st_size < 200_000]
    assert len(small) > 5
    for path in small:
        result = program("inspect", path, "--json")
        assert result.returncode == 0
        got = json.loads(result.stdout.splitlines()[-1])
        expected = counted(path)
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


def test_inspect_for_people(program: Run, data: Path, tmp_path: Path) -> None:
    result = program(
        "inspect", data / "kineto2021-v100-resnet50-workers0-memory.json.gz"
    )
    text = result.stdout.decode()
    assert "75,718" in text and "kernel" in text and "schemaVersion" in text
    path = tmp_path / "odd.json"
    path.write_text('{"a\\u001b[31m": 1, "traceEvents": [{"ph": "\\u202e"}]}')
    text = program("inspect", path).stdout.decode()
    assert text.replace("\n", "").isprintable() and "\u202e" not in text


def test_absurd_durations_do_not_overflow(program: Run, tmp_path: Path) -> None:
    dur = 9_000_000_000_000_000  # Microseconds; the largest sum is past 64 bits.
    events = [{"ph": "X", "name": "a", "ts": 0, "dur": dur} for _ in range(5)]
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"traceEvents": events}))
    got = json.loads(program("inspect", path, "--json").stdout)
    assert got["sum_dur_ns"] == 5 * dur * 1000


def test_times_that_are_none_do_not_count(program: Run, tmp_path: Path) -> None:
    x = {"ph": "X", "name": "a"}
    events = [
        {**x, "ts": 5, "dur": 2},
        {**x, "ts": 4, "dur": -3},
        {**x, "dur": 1},
        {**x, "ts": 9},
        {"ph": "i", "name": "a", "ts": 1},
    ]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"traceEvents": events}))
    got = json.loads(program("inspect", path, "--json").stdout)
    assert (got["x"], got["sum_dur_ns"], got["min_ts_ns"]) == (4, 3000, 4000)
    path.write_text(json.dumps({"traceEvents": [x]}))
    got = json.loads(program("inspect", path, "--json").stdout)
    assert (got["x"], got["sum_dur_ns"], got["min_ts_ns"]) == (1, 0, None)


def test_gpu_counts_kernels_copies_and_memsets_alone(
    program: Run, tmp_path: Path
) -> None:
    """Under all their names, and no other work of a device."""
    counted_ones = ["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"]
    others = ["mtia_ccp_events", "hpu_op", "gpu_user_annotation", "cuda_sync", "cpu_op"]
    events = [
        {"ph": phase, "cat": cat, "name": "a", "ts": 0, "dur": 1}
        for cat in counted_ones + others
        for phase in "Xi"
    ]
    path = tmp_path / "work.json"
    path.write_text(json.dumps({"traceEvents": events}))
    got = json.loads(program("inspect", path, "--json").stdout.splitlines()[-1])
    assert (got["gpu"], got["x"], got["instants"]) == (6, 11, 11)


def test_elements_that_are_no_events_do_not_count(program: Run, tmp_path: Path) -> None:
    odd = [None, 3, [], {}, {"ph": 3}, {"ph": None}, {"ph": "X"}, {"ph": "long"}]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"traceEvents": odd}))
    got = json.loads(program("inspect", path, "--json").stdout.splitlines()[-1])
    assert (got["events"], got["x"], got["left_out"]) == (2, 1, 0)
    counts = {w["kind"]: w["count"] for w in got["warnings"]}
    assert counts["skipped_element"] == 3 and counts["no_phase"] == 3
    assert all(set(w) == {"kind", "count", "detail"} for w in got["warnings"])
