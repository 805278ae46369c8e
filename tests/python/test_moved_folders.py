# SPDX-License-Identifier: BSD-3-Clause
"""test_moved_folders.py: a program compared with itself in another folder."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.gate.moved_folders import moves

TRACE = "kineto2021-v100-resnet50-workers4.json.gz"


def names(before: set[str], after: set[str]) -> dict[str, str]:
    return {
        now: was for move in moves(before, after) for now, was in move.files.items()
    }


# The files before and after, and of each of those after what it was: "-" if not known.
MOVES = [
    ("/a/train.py", "/b/train.py", "/a/train.py"),
    ("/a/train.py", "/a/train.py", "-"),  # It is there still.
    ("/a/train.py", "/a/eval.py", "-"),
    ("train.py", "src/train.py", "train.py"),
    ("C:\\ci\\1\\train.py", "/home/me/train.py", "C:\\ci\\1\\train.py"),
    ("/x/train.py /y/train.py", "/z/train.py", "-"),  # Either may be it.
    # More files say which of them it is.
    (
        "/x/train.py /x/model.py /y/train.py",
        "/z/train.py /z/model.py",
        "/x/train.py /x/model.py",
    ),
    # The names alone do not: two files are called alike in the program.
    ("/p/a/ops.py /p/b/ops.py", "/q/a/ops.py /q/b/ops.py", "/p/a/ops.py /p/b/ops.py"),
    # The program and its libraries may move apart.
    (
        "/p/train.py /py311/lib/hub.py",
        "/q/train.py /opt/lib/hub.py",
        "/p/train.py /py311/lib/hub.py",
    ),
    # One of its files is where it was.
    ("/p/train.py /lib/hub.py", "/q/train.py /lib/hub.py", "/p/train.py -"),
    ("train.py /lib/hub.py", "src/train.py /lib/hub.py", "train.py -"),
    # A single script, at home elsewhere; or in checkouts that CI counts.
    ("/tmp/x/proj/train.py", "/home/me/train.py", "/tmp/x/proj/train.py"),
    ("/home/me/p/train.py", "/home/runner/work/p/p/train.py", "/home/me/p/train.py"),
    ("/ci/1/p/train.py", "/ci/2/p/train.py", "/ci/1/p/train.py"),
    # One program that has not moved: a wait is mended in one file, new in another.
    ("/p/enc/m.py /p/train.py", "/p/dec/m.py /p/train.py", "- -"),
    ("/p/enc/m.py /p/x/t.py", "/p/dec/m.py /p/x/t.py", "- -"),
    ("/p/enc/m.py", "/p/dec/m.py", "-"),  # Nothing else tells.
    ("/p/m.py", "/p/dec/m.py", "-"),
    ("enc/m.py", "dec/m.py", "-"),
    ("enc/m.py", "/p/dec/m.py", "-"),
    ("/enc/m.py /train.py", "/dec/m.py /train.py", "- -"),
    ("/p/x/m.py /p/x/t.py", "/q/m.py /p/x/t.py", "- -"),  # It is there.
    # Nor by two files, if one stayed; if both folders were there; if both are.
    ("/p/enc/m.py /p/enc/n.py /p/x/t.py", "/p/dec/m.py /p/dec/n.py /p/x/t.py", "- - -"),
    ("/p/enc/m.py /p/enc/n.py /p/dec/o.py", "/p/dec/m.py /p/dec/n.py", "- -"),
    # Two checkouts side by side, by two files; what is installed has not moved.
    (
        "/ci/main/t.py /ci/main/lib/m.py /ci/env/site-packages/a/b.py",
        "/ci/pr/t.py /ci/pr/lib/m.py /ci/env/site-packages/a/b.py",
        "/ci/main/t.py /ci/main/lib/m.py -",
    ),
    ("/e/site-packages/a/m.py", "/home/me/m.py", "-"),
    # A move within a move is none.
    (
        "/ci/1/p/train.py /ci/1/p/models/net.py",
        "/ci/2/p/train.py /ci/2/p/models2/net.py",
        "/ci/1/p/train.py -",
    ),
    (
        "/ci/1/t.py /ci/1/m-1/a.py /ci/1/m-1/b.py /ci/1/m-1/c.py",
        "/ci/2/t.py /ci/2/m-2/a.py /ci/2/m-2/b.py /ci/2/m-2/c.py",
        "/ci/1/t.py - - -",
    ),
    # Any package has this file: it moves with others only.
    ("/a/__init__.py", "/b/c/__init__.py", "-"),
    ("/a/__init__.py /a/m.py", "/b/__init__.py /b/m.py", "/a/__init__.py /a/m.py"),
    ("/p/a/__init__.py /p/a/m.py", "/p/b/__init__.py /p/b/m.py", "- -"),
]


@pytest.mark.parametrize(("before", "after", "was"), MOVES)
def test_what_has_moved(before: str, after: str, was: str) -> None:
    one, other = set(before.split()), set(after.split())
    pairs = zip(after.split(), was.split(), strict=True)
    known = {now: then for now, then in pairs if then != "-"}
    assert names(one, other) == known
    assert names(other, one) == {then: now for now, then in known.items()}


def test_many_files_of_one_name() -> None:
    """They are told by their folders' names; all pairs of them would be 36 million."""
    ends = [f"pk{n}/{name}.py" for n in range(3000) for name in ("__init__", "model")]
    known = names({f"/ci/main/{e}" for e in ends}, {f"/ci/pr/{e}" for e in ends})
    assert known == {f"/ci/pr/{end}": f"/ci/main/{end}" for end in ends}


@pytest.mark.parametrize(
    ("before", "after", "folders"),
    [
        ("/train.py", "/app/train.py", ("/", "/app")),
        ("train.py", "/app/train.py", ("", "/app")),
        ("C:\\ci\\1\\train.py", "/me/train.py", ("C:\\ci\\1", "/me")),
        ("C:\\train.py", "D:/ci/train.py", ("C:\\", "D:/ci")),
    ],
)
def test_folders_are_called_as_they_were(
    before: str, after: str, folders: tuple[str, str]
) -> None:
    (move,) = moves({before}, {after})
    assert (move.before, move.after) == folders
    (move,) = moves({after}, {before})
    assert (move.after, move.before) == folders


def test_a_moved_program_is_the_same(data: Path) -> None:
    text = gzip.decompress((data / TRACE).read_bytes())
    moved = text.replace(b"resnet50_profiler_api.py", b"home/resnet50_profiler_api.py")
    assert moved != text
    comparison = torchtraceap.compare(
        torchtraceap.analyze(text), torchtraceap.analyze(moved)
    )
    assert {found.status for found in comparison.findings} == {"same"}
    placed = [f for f in comparison.findings if f.before and f.before.file]
    assert placed
    for found in placed:
        assert found.before is not None and found.after is not None
        assert found.after.file == "home/" + found.before.file  # As it is called there.
    assert any("home" in note and "moved" in note for note in comparison.notes)
