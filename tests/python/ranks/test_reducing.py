# SPDX-License-Identifier: BSD-3-Clause
"""test_reducing.py: the child processes that reduce the files of ranks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchtraceap.analysis_plan import AnalysisPlan, plan_analysis
from torchtraceap.base.errors import TraceError
from torchtraceap.data.load import plan_load
from torchtraceap.ranks import making, reducing
from torchtraceap.ranks.rank_record import RankRecord
from torchtraceap.ranks.recordings import RankFile
from torchtraceap.ranks.reducing import reduce_files

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


def test_modules_of_the_current_folder_are_not_run(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pickle", "queue", "logging"):
        (tmp_path / f"{name}.py").write_text("open('run', 'w'); raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    (record,) = reduced(path)
    assert record.facts.rank == 1
    assert not (tmp_path / "run").exists()


def test_as_many_at_a_time_as_memory_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(put(tmp_path / f"{n}.json", b" " * 1000)) for n in range(4)]
    monkeypatch.setattr(reducing, "_CGROUP", tmp_path)
    monkeypatch.setattr(reducing, "_processors", lambda: 8)
    (tmp_path / "memory.max").write_text("max\n")
    assert reducing._workers(paths) == 4
    (tmp_path / "memory.max").write_text("120000\n")
    (tmp_path / "memory.current").write_text("100000\n")
    assert reducing._workers(paths) == 2  # 4 times their text, of half of 20 000

    def unknown(_: str) -> int:
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert reducing._workers(paths) == 1


@pytest.mark.parametrize(("ending", "most"), [("json", 32 << 20), ("json.gz", 4 << 20)])
def test_reports_are_kept_of_files_that_are_small_once_inflated(
    ending: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are sparse, so that none of them is read."""
    called: list[int] = []

    def reduce(paths: list[str], *_: object) -> list[TraceError]:
        called.append(len(paths))
        return [TraceError("not read")] * len(paths)

    monkeypatch.setattr(making, "reduce_files", reduce)
    files = [RankFile(str(tmp_path / f"{n}.{ending}"), n) for n in range(2)]
    for size, times in ((1000, 0), (most // 2 + 1, 1)):
        for file in files:
            with open(file.path, "wb") as stream:
                stream.truncate(size)
        assert len(list(making._reduced(files, plan_load(), plan(), None))) == 2
        assert len(called) == times
