# SPDX-License-Identifier: BSD-3-Clause
"""test_moved_folders.py: a program compared with itself in another folder."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.gate.moved_folders import moves

TRACE = "kineto2021-v100-resnet50-workers4.json.gz"


def names(before: set[str], after: set[str]) -> dict[str, str]:
    return {
        now: was for move in moves(before, after) for now, was in move.files.items()
    }


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ({"/a/train.py"}, {"/b/train.py"}, {"/b/train.py": "/a/train.py"}),
        ({"/a/train.py"}, {"/a/train.py"}, {}),  # It is there still.
        ({"/a/train.py"}, {"/a/eval.py"}, {}),
        ({"train.py"}, {"src/train.py"}, {"src/train.py": "train.py"}),
        (
            {"C:\\ci\\1\\train.py"},
            {"/home/me/train.py"},
            {"/home/me/train.py": "C:\\ci\\1\\train.py"},
        ),
        # Either may be it.
        ({"/x/train.py", "/y/train.py"}, {"/z/train.py"}, {}),
        # More files say which of them it is.
        (
            {"/x/train.py", "/x/model.py", "/y/train.py"},
            {"/z/train.py", "/z/model.py"},
            {"/z/train.py": "/x/train.py", "/z/model.py": "/x/model.py"},
        ),
        # The names alone do not: two files are called alike in the program.
        (
            {"/p/a/ops.py", "/p/b/ops.py"},
            {"/q/a/ops.py", "/q/b/ops.py"},
            {"/q/a/ops.py": "/p/a/ops.py", "/q/b/ops.py": "/p/b/ops.py"},
        ),
        # The program and its libraries may move apart.
        (
            {"/p/train.py", "/py311/lib/hub.py"},
            {"/q/train.py", "/opt/lib/hub.py"},
            {"/q/train.py": "/p/train.py", "/opt/lib/hub.py": "/py311/lib/hub.py"},
        ),
        # One of its files is where it was.
        (
            {"/p/train.py", "/lib/hub.py"},
            {"/q/train.py", "/lib/hub.py"},
            {"/q/train.py": "/p/train.py"},
        ),
    ],
)
def test_what_has_moved(
    before: set[str], after: set[str], known: dict[str, str]
) -> None:
    assert names(before, after) == known
    assert names(after, before) == {was: now for now, was in known.items()}


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


def test_a_script_run_dry_in_two_folders(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    for name, more in (("old", ""), ("new", "    float(x.min())\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(
            "import torch, torchtraceap\n"
            "with torchtraceap.dry_run() as run:\n"
            "    x = torch.ones(8, device='cuda')\n"
            f"    x.sum().item()\n{more}"
            f"run.to_trace({str(tmp_path / name)!r} + '/dry.json')\n"
        )
        subprocess.run([sys.executable, tmp_path / name / "train.py"], check=True)
    comparison = torchtraceap.compare(
        tmp_path / "old" / "dry.json", tmp_path / "new" / "dry.json"
    )
    found = {f.status: f for f in comparison.findings}
    assert sorted(found) == ["new", "same"]
    assert found["new"].after is not None
    assert found["new"].after.place == f"{tmp_path}/new/train.py:5"
