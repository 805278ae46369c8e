# SPDX-License-Identifier: BSD-3-Clause
"""test_target_file.py: a file that is written is the old one or the new one, whole."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.base.files import replacing, write_text
from torchtraceap.cli import main
from torchtraceap.profiling.kept_trace import KeptTrace

from .real_traces import DATA
from .test_trace_out import no_file_over

TINY = DATA / "a100-event-sync-3streams-tiny.json.gz"
FORMS = ["json", "html", "sarif", "markdown", "perfetto"]


@pytest.fixture(scope="module")
def report() -> torchtraceap.Report:
    return torchtraceap.analyze(TINY)


@pytest.mark.parametrize("form", FORMS)
def test_a_full_disk_leaves_the_old_file(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with no_file_over(500):
        assert main(["analyze", str(TINY), "-q", f"--{form}", str(target)]) == 2
    told = capsys.readouterr().err
    assert str(target) in told and "File too large" in told and ".torchtr" not in told
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["out"]


def test_a_full_disk_leaves_all_of_the_old_tables(
    report: torchtraceap.Report, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    report.to_parquet(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    longest = max(len(data) for data in before.values())
    with no_file_over(longest - 1), pytest.raises(OSError, match=str(tmp_path)):
        torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz").to_parquet(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_tables_may_be_written_while_others_are(
    report: torchtraceap.Report, tmp_path: Path
) -> None:
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


def test_what_stands_there_is_kept_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "target"
    link.symlink_to("far/target")
    with pytest.raises(FileNotFoundError, match=r"leads nowhere: '.*link'"):
        write_text(link, "new")
    target.write_text("old")
    target.chmod(0o640)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    target.chmod(0o440)
    with pytest.raises(PermissionError, match=r"it is read-only: '.*link'"):
        write_text(link, "newer")
    assert target.read_text() == "new\n"


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


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """A pipe, a device, and what the process has open, be it a file."""
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "read", "wb") as out:
        reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=out)
        write_text(tmp_path / "pipe", "text")
        reader.wait(20)
    assert (tmp_path / "read").read_text() == "text\n"
    write_text(os.devnull, "text")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "text")
    code = "from torchtraceap.base.files import write_text as w; w('/dev/stdout', 'a')"
    with open(tmp_path / "out", "w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
        assert os.fstat(out.fileno()).st_nlink == 1
    assert (tmp_path / "out").read_text() == "a\n"
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert piped.stdout == b"a\n"


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
