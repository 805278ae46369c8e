# SPDX-License-Identifier: BSD-3-Clause
"""test_html_code.py: lines of code in a report: the user's own, and no other file; and
reports with the source file and without it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.base.program_files import code_excerpt
from torchtraceap.views.html.page import code_of

from .trace_builder import LOADER, annotation, frame, op, report_of

SECRET = "TOKEN = 'hunter2'\n" * 9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a program, beside files that are none of its business."""
    work = tmp_path / "work"
    (work / "lib").mkdir(parents=True)
    (work / ".hidden").mkdir()
    (work / "train.py").write_text("".join(f"line_{n} = {n}\n" for n in range(1, 61)))
    (work / "lib" / "data.py").write_text("import os\n\tx = 1\r\ny = '\u2028'\nlast\n")
    for secret in ("outside.py", "work/.hidden/key.py", "work/.env", "work/notes.txt"):
        (tmp_path / secret).write_text(SECRET)
    (work / "link.py").symlink_to(tmp_path / "outside.py")
    (work / "env.py").symlink_to(work / ".env")
    (work / "up").symlink_to(tmp_path)
    (work / "folder.py").mkdir()
    (work / "large.py").write_bytes(b"x = 1\n" * 300_000)
    os.mkfifo(work / "pipe.py")
    monkeypatch.chdir(work)
    return work


def texts(file: str, line: int) -> list[str]:
    return [row.text for row in code_excerpt(file, line)]


def test_the_line_is_shown_with_some_around_it(folder: Path) -> None:
    rows = code_excerpt("train.py", 42)
    assert [row.number for row in rows] == [40, 41, 42, 43, 44]
    assert [row.text for row in rows if row.here] == ["line_42 = 42"]
    assert texts("train.py", 1)[0] == "line_1 = 1"
    assert texts(str(folder / "train.py"), 60)[-1] == ""
    # Lines are counted as Python counts them.
    assert texts("lib/data.py", 3)[2] == "y = '\u2028'"


def test_a_file_below_sys_path_is_found(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    assert texts("data.py", 1) == []
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder / "lib")])
    assert texts("data.py", 1)[0] == "import os"


def test_libraries_are_not_shown(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of this Python, all of which is in sys.path, nor of another below."""
    for file in (json.__file__, pytest.__file__, "json/__init__.py", "os.py"):
        assert code_excerpt(file, 1) == []
    assert code_excerpt("_pytest/main.py", 1) == []
    for packages in ("site-packages", "dist-packages"):
        below = folder / "venv" / "lib" / packages
        below.mkdir(parents=True)
        (below / "other.py").write_text(SECRET)
        assert code_excerpt(f"venv/lib/{packages}/other.py", 1) == []
        monkeypatch.syspath_prepend(below)
        assert code_excerpt("other.py", 1) == []
    # Nor where the working folder holds that of the library.
    monkeypatch.chdir(Path(json.__file__).parents[2])
    assert code_excerpt(json.__file__, 1) == []


@pytest.mark.parametrize("inside", ["", "work", "work/lib"])
def test_a_folder_of_many_projects_counts_for_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """The home folder, what is above it, and the root; below it, all is well."""
    assert texts("train.py", 1)
    monkeypatch.setenv("HOME", str(tmp_path / inside))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / inside))
    assert bool(texts("train.py", 1)) == (inside == "")
    monkeypatch.chdir("/")
    train = str(folder / "train.py")
    assert texts(train, 1) == [] == texts(train.lstrip("/"), 1)
    monkeypatch.chdir(tmp_path)
    assert texts("work/train.py", 1) == []


@pytest.mark.parametrize(
    "file",
    [
        *("/etc/passwd", "../outside.py", "lib/../../outside.py", "link.py", "env.py"),
        *("up/outside.py", ".hidden/key.py", "up/work/.hidden/key.py", ".env"),
        *("notes.txt", "notes.txt\0.py", "folder.py", "large.py", "pipe.py", ".py"),
        *("none.py", "\ud800.py", "a" * 5_000 + ".py", "", "file:///etc/passwd"),
        *("http://example.org/train.py", "//example.org/share/train.py", "~/train.py"),
    ],
)
def test_no_other_file_is_shown(folder: Path, file: str) -> None:
    assert code_excerpt(file, 1) == []
    outside = folder.parent / "outside.py"
    assert code_excerpt(str(outside), 1) == []


@pytest.mark.parametrize("line", [0, -1, 62, 2**40])
def test_a_line_that_is_not_there_is_not_shown(folder: Path, line: int) -> None:
    assert code_excerpt("train.py", line) == []


def test_what_is_no_text_does_no_harm(folder: Path) -> None:
    (folder / "odd.py").write_bytes(b"\xff\x00<script>\x1b[31m" + b"x" * 5_000)
    (row,) = code_excerpt("odd.py", 1)
    assert len(row.text) < 200


def test_page_and_notebook_show_the_line_of_a_finding(
    folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = data / "kineto2021-v100-resnet50-workers0-memory.json.gz"
    (folder / "train.py").rename(folder / "resnet50_profiler_api.py")
    with_code = torchtraceap.analyze(trace)
    assert "line_42 = 42" in with_code.to_html()
    assert "line_40 = 40" in with_code.to_html()
    assert "line_42 = 42" in with_code._repr_html_()
    assert "line_40 = 40" not in with_code._repr_html_()
    monkeypatch.chdir(folder.parent)
    assert "line_42 = 42" not in with_code.to_html()


def test_code_that_is_not_the_users_is_not_shown(
    folder: Path, slow_loader: torchtraceap.Report
) -> None:
    (folder / "train.py").rename(folder / "resnet50_profiler_api.py")
    finding = slow_loader.findings[0]
    assert finding.location and code_of(finding)
    where = finding.location.replace(user=False)
    assert code_of(finding.replace(location=where)) == ()


# --- Places of findings ---------------------------------------------------------------

NEXT = "torch/utils/data/dataloader.py(720): __next__"
TRAIN = """\
import gc

def main(loader, prof):
    for x, y in loader:
        step(x, y)
        gc.collect()
        prof.step()
"""
EVENTS = (
    frame("train.py(7): main", 0, 20_000),  # running: where prof.step() was called
    frame("torch/profiler/profiler.py(1227): step", 1, 10),
    frame(NEXT, 20, 9_000),
    annotation(LOADER, 21, 8_990),
    op("aten::mm", 9_100, 2_000),
    frame("<built-in function collect>", 12_000, 6_000),
)


@pytest.fixture
def reports(here: Path) -> tuple[torchtraceap.Report, torchtraceap.Report]:
    """Reports made without the source file and with it."""
    without = report_of(*EVENTS)
    assert without.findings
    Path("train.py").write_text(TRAIN)
    return without, report_of(*EVENTS)


def test_a_report_has_lines_or_the_function(reports: Any) -> None:
    without, found = reports
    for report, places in (
        (without, ["train.py in main()", "train.py in main()"]),
        (found, ["train.py:4", "train.py:6"]),
    ):
        assert [f.pattern for f in report.findings[:2]] == [
            "dataloader_bound",
            "gc_pause",
        ]
        assert [str(f.location) for f in report.findings[:2]] == places
    assert "train.py in main()  dataloader_bound" in without.summary()
    assert "train.py:7" not in without.summary()
    assert "train.py:6 main  " in found.summary()


def test_what_a_finding_is_does_not_hang_on_the_file(reports: Any) -> None:
    without, found = reports
    assert [f.id for f in without.findings] == [f.id for f in found.findings]
    for pair in torchtraceap.compare(without, found).findings:
        assert pair.before and pair.after


def test_every_output_copes_without_a_line(reports: Any) -> None:
    for report, line in zip(reports, (None, 4), strict=True):
        form = report.to_dict()["findings"][0]["location"]
        assert form == {
            "file": "train.py",
            "line": line,
            "function": "main",
            "recorded_line": 7,
            "recorded_at": "start",
            "user": True,
        }
        place = json.loads(report.to_sarif())["runs"][0]["results"][0]["locations"][0]
        region = place["physicalLocation"].get("region")
        assert region == (line and {"startLine": line})
        text = "train.py:4" if line else "train.py in main()"
        assert text in report.to_html() and text in report.to_markdown()


def test_a_finding_is_asked_for_by_either_line(reports: Any) -> None:
    without, found = reports
    for report, lines in ((without, [7]), (found, [4, 7])):
        for line in lines:
            assert torchtraceap.what_if(report, f"train.py:{line}").gain


def test_a_trace_is_at_hand_with_the_files_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "away").mkdir()
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}))
    monkeypatch.chdir(tmp_path / "away")
    first = torchtraceap.analyze(trace).findings[0]
    assert first.location is not None and first.location.line == 4
