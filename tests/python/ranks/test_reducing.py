# SPDX-License-Identifier: BSD-3-Clause
"""test_reducing.py: the child processes that reduce the files of ranks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from torchtraceap.analysis_plan import AnalysisPlan, plan_analysis
from torchtraceap.base import children, program_files
from torchtraceap.base.errors import TraceError
from torchtraceap.base.roots import Roots
from torchtraceap.data.load import plan_load
from torchtraceap.data.source import RankPaths, source_of
from torchtraceap.ranks import job, reducing
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile
from torchtraceap.ranks.reducing import reduce_files

from ..trace_builder import LOADER, annotation, frame, op, trace_of
from .rank_folder import put, rank_trace


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(put(tmp_path / "rank1.json", rank_trace(1, 2)))


def plan() -> AnalysisPlan:
    return plan_analysis(detector="off")


def reduced(path: str) -> list[RankRecord]:
    (answer,) = reduce_files([path], plan_load(), plan())
    assert not isinstance(answer, Exception), answer
    return answer


def test_modules_of_the_current_folder_are_not_run(path: str, here: Path) -> None:
    for name in ("pickle", "queue", "logging"):
        (here / f"{name}.py").write_text("open('run', 'w'); raise SystemExit(3)")
    (record,) = reduced(path)
    assert record.facts.rank == 1
    assert not (here / "run").exists()


def test_as_many_at_a_time_as_memory_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(put(tmp_path / f"{n}.json", b" " * 1000)) for n in range(4)]
    monkeypatch.setattr(children, "_CGROUP", tmp_path)
    monkeypatch.setattr(reducing, "processors", lambda: 8)
    (tmp_path / "memory.max").write_text("max\n")
    assert reducing._workers(paths) == 4
    (tmp_path / "memory.max").write_text("120000\n")
    (tmp_path / "memory.current").write_text("100000\n")
    assert reducing._workers(paths) == 2  # 4 times their text, of half of 20 000
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 5000\nshmem 2\n")
    assert reducing._workers(paths) == 3  # Files are given up at need.

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert reducing._workers(paths) == 1


@pytest.mark.parametrize(("is_gzip", "most"), [(False, 32 << 20), (True, 4 << 20)])
def test_reports_are_kept_of_files_that_are_small_once_inflated(
    is_gzip: bool, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are sparse, so that none of them is read."""
    called: list[int] = []

    def reduce(paths: list[str], *_: object) -> list[TraceError]:
        called.append(len(paths))
        return [TraceError("not read")] * len(paths)

    monkeypatch.setattr(job, "reduce_files", reduce)
    files = [RankFile(str(tmp_path / f"{n}.json"), n) for n in range(2)]
    for size, times in ((1000, 0), (most // 2 + 1, 1)):
        for file in files:
            with open(file.path, "wb") as stream:
                stream.write(b"\x1f\x8b" if is_gzip else b"{}")
                stream.truncate(size)
        assert len(list(job._reduced(files, plan_load(), plan(), None))) == 2
        assert len(called) == times


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_no_fault_of_a_file_is_raised(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "rank0.json", rank_trace(0, 2))
    put(tmp_path / "rank1.json", rank_trace(1, 2))
    broken = replace(plan_load(), settings={"no_such_option": 1})
    found = source_of(tmp_path)
    assert isinstance(found, RankPaths)
    if not kept:
        monkeypatch.setattr(job, "_KEPT_BYTES", 0)
    with pytest.raises(AttributeError, match="no_such_option"):
        job.job_of_files(found, broken, plan())


_CHILD = (
    "import os, time; from torchtraceap.base import children; "
    "children.watch_parent(os.getppid())"
)
_PARENT = f"""
import subprocess, sys, time
code = {_CHILD + "; print(os.getpid(), flush=True); time.sleep(60)"!r}
subprocess.Popen([sys.executable, "-c", code])
time.sleep(60)
"""


def test_a_child_ends_when_its_parent_is_killed() -> None:
    """Also while it reads a file: it is not its input alone that tells."""
    begin = time.monotonic()
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) != parent.pid
        parent.kill()
        assert parent.stdout.read() == b""  # The child had it open, too.
    assert time.monotonic() - begin < 30


def started_by(parent: int) -> subprocess.Popen[bytes]:
    """Start a child as `reduce_files` does, which takes this process for its parent."""
    pipe = subprocess.PIPE
    command = children.command_of("torchtraceap.ranks.reducing", parent)
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)


def test_a_child_ends_when_its_parent_was_killed_before_it_could_look() -> None:
    with started_by(parent=1 << 30) as child:
        assert child.stdout is not None and child.stderr is not None
        assert (child.stdout.read(), child.stderr.read()) == (b"", b"")
    assert child.returncode == 1


@pytest.mark.parametrize("when", ["before the options", "before the answer"])
def test_a_child_says_nothing_when_nobody_reads_it(when: str, path: str) -> None:
    with started_by(os.getpid()) as child:
        assert child.stdin is not None and child.stderr is not None
        assert child.stdout is not None
        child.stdout.close()
        if when == "before the answer":
            children.send(child.stdin, (plan_load(), plan(), None))
            children.send(child.stdin, path)
        child.stdin.close()
        assert child.stderr.read() == b""


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_is_heard_by_the_parent_alone(
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """It reaches the whole group, a child while it is being loaded, too."""
    site = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "sitecustomize.py").write_text(site)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (record,) = reduced(path)
    assert record.facts.rank == 1
    assert capfd.readouterr().err == ""


def test_a_child_reads_source_files_below_the_roots_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of a call is looked up in the user's source; see program_files.py."""
    source = b"def main(loader):\n    for x in loader:\n        step(x)\n"
    program = put(tmp_path / "program/train.py", source)
    trace = trace_of(
        frame(f"{program}(1): main", 0, 20_000),
        frame("torch/utils/data/dataloader.py(720): __next__", 20, 9_000),
        annotation(LOADER, 21, 8_990),
        op("aten::mm", 9_100, 2_000),
    )
    path = str(put(tmp_path / "runs/rank0.json", trace))
    monkeypatch.syspath_prepend(program.parent)
    lines = []
    for folder in ("", "program", "runs"):
        roots = Roots([str(tmp_path / folder)]) if folder else None
        monkeypatch.setattr(program_files, "_roots", roots)
        (record,) = reduced(path)
        (found,) = (f for f in record.findings if f.pattern == "dataloader_bound")
        assert found.location is not None
        lines.append(found.location.line)
    assert lines == [2, 2, None]
