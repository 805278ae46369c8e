# SPDX-License-Identifier: BSD-3-Clause
"""test_table_folder.py: folders of tables, and what they leave alone."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

pytest.importorskip("pyarrow")

TINY = "mi250-rocm62-tiny.json.gz"


@pytest.fixture(scope="module")
def tiny(data: Path) -> torchtraceap.Report:
    return torchtraceap.analyze(data / TINY)


def test_a_folder_of_other_things_is_left_alone(
    tiny: torchtraceap.Report, tmp_path: Path
) -> None:
    folder = tmp_path / "a" / "b"
    events = folder / "events.parquet"
    tiny.to_parquet(folder)  # Made, with those above it.
    first = events.read_bytes()
    events.write_text("old")
    tiny.to_parquet(folder)  # Its own tables are replaced.
    assert events.read_bytes() == first
    (folder / "notes.txt").write_text("mine")
    events.write_text("kept")
    with pytest.raises(ValueError, match=r"holds notes\.txt, which is none of"):
        tiny.to_parquet(folder)
    assert events.read_text() == "kept"
    with pytest.raises(OSError):
        tiny.to_parquet(folder / "notes.txt")


def test_neither_a_trace_nor_what_a_link_leads_to_is_overwritten(
    tiny: torchtraceap.Report, data: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "events.parquet"
    trace.write_bytes((data / TINY).read_bytes())
    before = trace.read_bytes()
    with pytest.raises(ValueError, match="is the trace itself"):
        torchtraceap.analyze(trace).to_parquet(tmp_path)
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "findings.parquet").symlink_to(trace)
    with pytest.raises(ValueError, match=r"holds findings\.parquet"):
        tiny.to_parquet(folder)
    assert trace.read_bytes() == before


def test_what_is_missing_is_told_by_its_extra(
    tiny: torchtraceap.Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith(("pandas", "pyarrow")):
            raise ImportError(f"No module named '{name}'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"torchtraceap\[pandas\]"):
        tiny.to_pandas()
    with pytest.raises(ImportError, match=r"to_arrow needs .*torchtraceap\[arrow\]"):
        tiny.to_arrow()
    with pytest.raises(ImportError, match=r"to_parquet needs .*torchtraceap\[arrow\]"):
        tiny.to_parquet(tmp_path / "new")
    assert not (tmp_path / "new").exists()
