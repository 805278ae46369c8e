# SPDX-License-Identifier: BSD-3-Clause
"""test_perfetto_files.py: how the copy of a trace is written, and what is refused."""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli import main

from .real_traces import DATA
from .trace_format import events_of, plain, strict

NAMES = ["copy.json", "copy.json.gz"]


def test_compressed_copies(inference: torchtraceap.Report, tmp_path: Path) -> None:
    inference.to_perfetto(tmp_path / "a.json")
    inference.to_perfetto(tmp_path / "a.json.gz")
    assert (
        gzip.decompress((tmp_path / "a.json.gz").read_bytes())
        == (tmp_path / "a.json").read_bytes()
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "a.json.gz"]


def test_files_that_nobody_named_are_left_alone(tmp_path: Path) -> None:
    """Neither the trace nor anything else that is called nearly as the copy."""
    trace = tmp_path / "run.gz.plain"
    trace.write_bytes((DATA / "mi250-rocm62-tiny.json.gz").read_bytes())
    mine = [tmp_path / f"run{end}" for end in (".gz.part", ".gz.tmp", ".plain", "")]
    for path in mine:
        path.write_text("mine")
    before = {path: path.read_bytes() for path in (trace, *mine)}
    target = tmp_path / "run.gz"
    assert main(["analyze", str(trace), "--quiet", "--perfetto", str(target)]) == 0
    assert events_of(strict(plain(target)))
    assert set(tmp_path.iterdir()) == {target, *before}
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_there_is_replaced_as_itself(
    name: str, inference: torchtraceap.Report, tmp_path: Path
) -> None:
    """Where its link leads, with its permissions; a read-only one is refused."""
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / name, tmp_path / f"far.{name}"
    link.symlink_to(target)
    with pytest.raises(ValueError, match=r": .* leads nowhere") as told:
        inference.to_perfetto(link)
    assert str(told.value).startswith(f"{link}: ")
    target.write_text("old")
    target.chmod(0o640)
    inference.to_perfetto(link)
    assert link.is_symlink() and target.stat().st_mode & 0o777 == 0o640
    assert events_of(strict(plain(target)))
    target.write_text("old")
    target.chmod(0o440)
    with pytest.raises(ValueError, match="cannot be written: it is read-only"):
        inference.to_perfetto(link)
    assert target.read_text() == "old"
    assert set(tmp_path.rglob("*")) == {link, link.parent, target}


def test_a_new_copy_is_as_open_as_any_new_file(
    inference: torchtraceap.Report, tmp_path: Path
) -> None:
    (tmp_path / "other").write_text("")
    for name in NAMES:
        inference.to_perfetto(tmp_path / name)
        mode = (tmp_path / name).stat().st_mode
        assert mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_the_old_file(
    name: str, inference: torchtraceap.Report, tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource")
    target = tmp_path / name
    target.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(ValueError, match="cannot be written: File too lar") as told:
            inference.to_perfetto(target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(told.value).startswith(f"{target}: ")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left")])
def test_what_ends_compressing_leaves_the_old_file(
    error: Any,
    inference: torchtraceap.Report,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "copy.json.gz"
    target.write_text("old")

    def end(*_: object) -> int:
        raise error

    monkeypatch.setattr(gzip.GzipFile, "write", end)
    with pytest.raises((KeyboardInterrupt, ValueError)) as told:
        inference.to_perfetto(target)
    if isinstance(error, OSError):
        assert str(told.value).startswith(f"{target}: cannot be written: No space left")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_written_to(inference: torchtraceap.Report, tmp_path: Path) -> None:
    for name in NAMES:
        os.mkfifo(tmp_path / name)
        with open(tmp_path / "read", "wb") as out:
            reader = subprocess.Popen(["cat", tmp_path / name], stdout=out)
            inference.to_perfetto(tmp_path / name)
            reader.wait(20)
        data = (tmp_path / "read").read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        assert events_of(strict(data))


@pytest.mark.parametrize("name", ["trace.json", "link.json"])
def test_the_trace_itself_is_not_overwritten(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(plain(DATA / "mi250-rocm62-tiny.json.gz"))
    (tmp_path / "link.json").symlink_to(path)
    before = path.read_bytes()
    report = torchtraceap.analyze(path)
    with pytest.raises(ValueError, match="the trace itself"):
        report.to_perfetto(tmp_path / name)
    assert path.read_bytes() == before


def test_a_trace_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(plain(DATA / "mi250-rocm62-tiny.json.gz"))
    report = torchtraceap.analyze(path)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(torchtraceap.TraceError, match="Load the trace again"):
        report.to_perfetto(tmp_path / "copy.json")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        report.to_perfetto(tmp_path / "copy.json.gz")
    assert list(tmp_path.iterdir()) == []


def test_the_program_writes_it(tmp_path: Path, capsys: Any) -> None:
    trace = str(DATA / "mi250-rocm62-tiny.json.gz")
    target = tmp_path / "out.json"
    assert main(["analyze", trace, "--perfetto", str(target)]) == 0
    assert events_of(strict(target.read_bytes()))
    lost = tmp_path / "no" / "x.json.gz"
    assert main(["analyze", trace, "--perfetto", str(lost)]) == 2
    told = capsys.readouterr().err
    assert str(lost) in told and "a file in a folder that exists" in told
    assert "standard output" not in told  # Which this form does not go to.
    assert main(["analyze", trace, "--json", str(lost)]) == 2
    assert "or - for standard output" in capsys.readouterr().err
