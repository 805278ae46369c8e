# SPDX-License-Identifier: BSD-3-Clause
"""test_trace_out.py: where the changed timeline is written, and what stood there."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import torchtraceap

ROOT = Path(__file__).resolve().parents[2]
TINY = ROOT / "tests" / "data" / "a100-event-sync-3streams-tiny.json.gz"


@pytest.fixture(scope="module")
def result() -> torchtraceap.WhatIf:
    return torchtraceap.what_if(torchtraceap.analyze(TINY))


@contextmanager
def no_file_over(limit: int) -> Iterator[None]:
    """Let writing fail as on a full disk, once so many bytes are in a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_leads_to_the_file_that_is_written(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to("folder/target.json")
    result.to_trace(link)
    assert link.is_symlink()
    assert len(torchtraceap.load(target)) == len(torchtraceap.load(TINY))
    assert names(tmp_path) == ["folder", "link.json"]
    assert names(target.parent) == ["target.json"]


def test_a_link_to_nothing_is_refused(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    link = tmp_path / "link.json"
    link.symlink_to("missing.json")
    with pytest.raises(ValueError, match="link that leads nowhere"):
        result.to_trace(link)
    assert link.is_symlink()
    assert names(tmp_path) == ["link.json"]


def test_a_read_only_file_is_refused(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    out.write_text("kept")
    out.chmod(0o444)
    with pytest.raises(ValueError, match="cannot be written: it is read-only"):
        result.to_trace(out)
    assert out.read_text() == "kept"
    assert stat.S_IMODE(out.stat().st_mode) == 0o444
    assert names(tmp_path) == ["out.json"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_keeps_its_permissions(
    result: torchtraceap.WhatIf, tmp_path: Path, mode: int
) -> None:
    out = tmp_path / "out.json"
    out.write_text("old")
    out.chmod(mode)
    result.to_trace(out)
    assert "what_if" in out.read_text()
    assert stat.S_IMODE(out.stat().st_mode) == mode


def test_a_new_file_has_those_of_any_other(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    out, other = tmp_path / "out.json", tmp_path / "other"
    other.touch()
    result.to_trace(out)
    assert out.stat().st_mode == other.stat().st_mode


def test_where_writing_fails_the_old_file_stays(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    for before in ("kept", None):
        if before is None:
            out.unlink()
        else:
            out.write_text(before)
        with no_file_over(1000), pytest.raises(ValueError, match="File too large"):
            result.to_trace(out)
        assert out.exists() == (before is not None)
        assert before is None or out.read_text() == before
        assert names(tmp_path) == (["out.json"] if before else [])


def test_a_file_that_was_left_is_not_in_the_way(
    result: torchtraceap.WhatIf, tmp_path: Path
) -> None:
    """As of a process that was killed, whose number this one has by now."""
    left = tmp_path / f".torchtraceap-{os.getpid()}-0"
    left.write_text("left")
    result.to_trace(tmp_path / "out.json")
    assert left.read_text() == "left"
    assert names(tmp_path) == [left.name, "out.json"]
