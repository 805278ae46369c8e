# SPDX-License-Identifier: BSD-3-Clause
"""test_target_file.py: a file that is written is the old one or the new one, whole."""

from __future__ import annotations

import gzip
import json
import os
import resource
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import Report
from torchtraceap.base.files import replacing, write_text
from torchtraceap.profiling.kept_trace import KeptTrace
from torchtraceap.views.table_columns import TABLES

from .conftest import Cli, python
from .real_traces import DATA
from .trace_format import events_of, plain, strict

TINY = DATA / "a100-event-sync-3streams-tiny.json.gz"
# Each way to write a file of its own: with Python, with the core, and compressed.
WRITERS: dict[str, Callable[[Report, Path], object]] = {
    "report.json": Report.to_json,
    "fixed.json": lambda report, path: torchtraceap.what_if(report).to_trace(path),
    "fixed.json.gz": lambda report, path: torchtraceap.what_if(report).to_trace(path),
    "copy.json": Report.to_perfetto,
    "copy.json.gz": Report.to_perfetto,
}
REFUSED = (OSError, ValueError)  # The core's errors of writing are ValueErrors.
by_writer = pytest.mark.parametrize("name", WRITERS)


@pytest.fixture(scope="module")
def report() -> Report:
    return torchtraceap.analyze(TINY)


@contextmanager
def no_file_over(limit: int) -> Iterator[None]:
    """Let writing fail as on a full disk once a file has ``limit`` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# --- Whatever writes it -------------------------------------------------------------


@by_writer
def test_a_file_that_is_there_is_replaced_as_itself(
    name: str, report: Report, tmp_path: Path
) -> None:
    """Where its link leads, with its permissions; a read-only one is refused."""
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / name, tmp_path / f"far.{name}"
    link.symlink_to(f"../far.{name}")
    with pytest.raises(REFUSED, match="broken link") as refused:
        WRITERS[name](report, link)
    assert str(link) in str(refused.value)
    for mode in (0o640, 0o664):
        target.write_text("old")
        target.chmod(mode)
        WRITERS[name](report, link)
        assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == mode
        assert json.loads(plain(target))
    target.write_text("old")
    target.chmod(0o440)
    with pytest.raises(REFUSED, match="it is read-only"):
        WRITERS[name](report, link)
    assert target.read_text() == "old"
    assert {*tmp_path.rglob("*")} == {link, link.parent, target}


@by_writer
def test_a_new_file_is_as_open_as_any_other(
    name: str, report: Report, tmp_path: Path
) -> None:
    (tmp_path / "other").touch()
    WRITERS[name](report, tmp_path / name)
    assert (tmp_path / name).stat().st_mode == (tmp_path / "other").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == sorted([name, "other"])


@by_writer
def test_where_writing_fails_the_old_file_stays(
    name: str, report: Report, tmp_path: Path
) -> None:
    target = tmp_path / name
    for before in ([], [name]):
        with no_file_over(1000), pytest.raises(REFUSED, match="too large") as refused:
            WRITERS[name](report, target)
        message = str(refused.value)
        assert str(target) in message and ".torchtr" not in message
        assert os.listdir(tmp_path) == before
        assert not before or target.read_text() == "old"
        target.write_text("old")


@by_writer
def test_a_pipe_is_written_to(name: str, report: Report, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with open(tmp_path / "read", "wb") as out:
        reader = subprocess.Popen(["cat", tmp_path / name], stdout=out)
        WRITERS[name](report, tmp_path / name)
        reader.wait(20)
    written = (tmp_path / "read").read_bytes()
    assert json.loads(gzip.decompress(written) if name.endswith(".gz") else written)


@pytest.mark.parametrize("name", ["trace.json", "link.json"])
@pytest.mark.parametrize("writer", ["fixed.json", "copy.json"])
def test_the_trace_itself_is_not_overwritten(
    writer: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(plain(TINY))
    (tmp_path / "link.json").symlink_to(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="trace itself"):
        WRITERS[writer](torchtraceap.analyze(path), tmp_path / name)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [*WRITERS][1:])
def test_a_trace_that_changed_is_refused(name: str, tmp_path: Path) -> None:
    path, target = tmp_path / "trace.json", tmp_path / name
    path.write_bytes(plain(TINY))
    report = torchtraceap.analyze(path)
    target.write_text("kept")
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(torchtraceap.TraceError, match="Load the trace again"):
        WRITERS[name](report, target)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        WRITERS[name](report, target)
    assert os.listdir(tmp_path) == [name] and target.read_text() == "kept"


# --- The core's writer --------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/dev/full", "cannot be written: No space left"),
        ("missing/fixed.json", "cannot be written: No such file"),
    ],
)
def test_paths_that_the_core_refuses(
    path: str, message: str, report: Report, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        torchtraceap.what_if(report).to_trace(tmp_path / path)


def test_compressed_copies(report: Report, tmp_path: Path) -> None:
    report.to_perfetto(tmp_path / "a.json")
    report.to_perfetto(tmp_path / "a.json.gz")
    assert plain(tmp_path / "a.json.gz") == (tmp_path / "a.json").read_bytes()


def test_unnamed_files_are_left_alone(tmp_path: Path, cli: Cli) -> None:
    """Neither the trace nor a file with nearly the name of the copy is touched."""
    trace = tmp_path / "run.gz.plain"
    trace.write_bytes(TINY.read_bytes())
    mine = [tmp_path / f"run{end}" for end in (".gz.part", ".gz.tmp", ".plain", "")]
    for path in mine:
        path.write_text("mine")
    before = {path: path.read_bytes() for path in (trace, *mine)}
    target = tmp_path / "run.gz"
    cli("analyze", trace, "--quiet", "--perfetto", target).fine()
    assert events_of(strict(plain(target)))
    assert {*tmp_path.iterdir()} == {target, *before}
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left")])
def test_what_ends_compressing_leaves_the_old_file(
    error: Any, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "copy.json.gz"
    target.write_text("old")

    def end(*_: object) -> int:
        raise error

    monkeypatch.setattr(gzip.GzipFile, "write", end)
    with pytest.raises((KeyboardInterrupt, ValueError)) as caught:
        report.to_perfetto(target)
    if isinstance(error, OSError):
        assert f"{target}: cannot be written: No space left" in str(caught.value)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_the_program_names_a_folder_that_is_missing(tmp_path: Path, cli: Cli) -> None:
    lost = tmp_path / "no" / "x.json.gz"
    code, _, err = cli("analyze", TINY, "--perfetto", lost)
    assert code == 2 and str(lost) in err and "a file in a folder that exists" in err
    assert "standard output" not in err  # This form does not go there.
    code, _, err = cli("analyze", TINY, "--json", lost)
    assert code == 2 and "or - for standard output" in err


# --- Python's writer ----------------------------------------------------------------


def test_a_full_disk_leaves_all_of_the_old_tables(
    report: Report, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    report.to_parquet(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    longest = max(len(data) for data in before.values())
    with no_file_over(longest - 1), pytest.raises(OSError, match=str(tmp_path)):
        torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz").to_parquet(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("folder", ["new", "new/er", "made"])
def test_a_full_disk_leaves_no_folder(
    folder: str, report: Report, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "made").mkdir()
    with no_file_over(100), pytest.raises(OSError, match=f"'{tmp_path / folder}'"):
        report.to_parquet(tmp_path / folder)
    assert [*tmp_path.rglob("*")] == [tmp_path / "made"]
    report.to_parquet(tmp_path / folder)
    assert len([*(tmp_path / folder).iterdir()]) == len(TABLES)
    assert (tmp_path / folder).stat().st_mode == (tmp_path / "made").stat().st_mode


# Writes tables, and kills itself at a system call that changes a folder.
_TABLES = """
import os, signal, sys
import torchtraceap

report = torchtraceap.analyze(sys.argv[2])
report.to_arrow()
calls = 0

def ended(event, arguments):
    global calls
    if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir"):
        calls += 1
        if calls == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(ended)
report.to_parquet(sys.argv[1])
"""


def test_a_killed_process_leaves_tables_of_one_report(
    report: Report, tmp_path: Path
) -> None:
    """In a folder that has some: old ones or new ones."""
    pytest.importorskip("pyarrow")
    report.to_parquet(tmp_path / "old")
    other = DATA / "mi250-rocm62-tiny.json.gz"
    torchtraceap.analyze(other).to_parquet(tmp_path / "new")
    whole = {name: files_in(tmp_path / name) for name in ("old", "new")}
    for call in (*range(1, 12, 2), *range(12, 40, 5)):
        target = tmp_path / f"out{call}"
        report.to_parquet(target)
        code = python("-c", _TABLES, target, other, call).returncode
        found = files_in(target)
        assert any(found.items() <= some.items() for some in whole.values())
        assert code == 0 or code == -9
        if code == 0:
            assert found == whole["new"]
            break
    assert call > 4


def files_in(folder: Path) -> dict[str, bytes]:
    """The tables in a folder, which may not be there."""
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def test_tables_may_be_written_while_others_are(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with replacing(tmp_path / "steps.parquet") as new:
        Path(new).write_text("theirs")
        report.to_parquet(tmp_path)
    assert (tmp_path / "steps.parquet").read_text() == "theirs"


def test_of_two_writers_one_wins_and_none_is_lost_in_the_middle(tmp_path: Path) -> None:
    target = tmp_path / "out"
    texts = [letter * 1_000_000 for letter in "ab"]
    seen = set()
    target.write_text(texts[0] + "\n")
    threads = [
        threading.Thread(target=lambda t=t: [write_text(target, t) for _ in range(20)])
        for t in texts
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen.add(target.read_text())
    assert seen <= {text + "\n" for text in texts}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, OSError()])
def test_what_ends_the_block_comes_out_and_leaves_nothing(
    error: Any, tmp_path: Path
) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(BaseException) as told, replacing(target) as new:
        Path(new).write_text("half")
        raise error
    assert told.value is error or type(told.value) is error
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", IsADirectoryError),
        (".", IsADirectoryError),
        ("file/", IsADirectoryError),
        ("no/file", FileNotFoundError),
        ("taken/file", NotADirectoryError),
        ("x" * 300, OSError),
    ],
)
def test_errors_name_the_path(name: str, error: type[OSError], tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    path = f"{tmp_path}/{name}"
    with pytest.raises(error) as told:
        write_text(path, "text")
    assert told.value.filename == path and os.listdir(tmp_path) == ["taken"]


def test_devices_and_what_the_process_has_open_are_written_to(tmp_path: Path) -> None:
    write_text(os.devnull, "text")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "text")
    code = "from torchtraceap.base.files import write_text as w; w('/dev/stdout', 'a')"
    with open(tmp_path / "out", "w") as out:
        python("-c", code, stdout=out, capture_output=False, check=True)
        assert os.fstat(out.fileno()).st_nlink == 1
    assert (tmp_path / "out").read_text() == "a\n"
    assert python("-c", code).stdout == "a\n"


class Recorded:
    """Stands in for torch's autograd profile: its export writes a trace."""

    kineto_results = type("Results", (), {})()

    def export_chrome_trace(self, path: str) -> None:
        Path(path).write_text('{"traceEvents": [], "traceName": "x"}')


def test_copies_of_a_kept_trace_are_whole(tmp_path: Path) -> None:
    inner = Recorded()
    kept = KeptTrace(inner)
    target, packed = tmp_path / "a.json", tmp_path / "a.json.gz"
    for _ in range(2):
        kept(str(target))
        kept.pack(str(packed))
    assert gzip.decompress(packed.read_bytes()).startswith(b'{"traceEvents": [], ')
    before = target.read_bytes(), packed.read_bytes()
    (tmp_path / "a.json.tmp").write_text("mine")
    with no_file_over(8):
        with pytest.warns(UserWarning, match="File too large"):
            kept(str(target))
        with pytest.raises(OSError, match=f"File too large: '{packed}'"):
            kept.pack(str(packed))
    assert (target.read_bytes(), packed.read_bytes()) == before
    assert sorted(os.listdir(tmp_path)) == ["a.json", "a.json.gz", "a.json.tmp"]
