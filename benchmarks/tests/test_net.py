# SPDX-License-Identifier: BSD-3-Clause
"""test_net.py: differences between two recordings of outputs are named by field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import net

pytestmark = pytest.mark.verify

TRACE = net.DATA / "mi250-rocm62-tiny.json.gz"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The outputs of a small trace, twice."""
    said = net.outputs([TRACE], detector=False)
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        for form, text in said.items():
            net.write(tmp_path / name / f"tiny.{form}.gz", text)
    return tmp_path / "before", tmp_path / "after"


def test_the_same_twice(folders: tuple[Path, Path], capsys) -> None:
    assert net.compare(*folders, most=2) == net.SAME
    assert capsys.readouterr().out == "3 of 3 outputs are the same\n"


def test_a_field_a_line_and_a_page(folders: tuple[Path, Path], capsys) -> None:
    said = net.outputs([TRACE], detector=False)
    report = json.loads(said["json"])
    events = report["trace"]["events"]
    report["trace"]["events"] = events + 1
    report["trace"]["is_new"] = True
    del report["tool"]["version"]
    report["steps"] = [*report["steps"], *report["steps"], {"number": 1}]
    net.write(folders[1] / "tiny.json.gz", json.dumps(report))
    net.write(folders[1] / "tiny.text.gz", said["text"].replace("exit code 0", "1"))
    net.write(folders[1] / "tiny.html.gz", said["html"].replace("</h1>", "!</h1>"))
    (folders[0] / "gone.json.gz").write_bytes(b"")
    assert net.compare(*folders, most=2) == net.DIFFERENT
    out = capsys.readouterr().out
    for line in (
        "gone.json.gz is in one folder only",
        f"json trace.events: 1 sources\n    tiny: {events} -> {events + 1}\n",
        "json trace.is_new: 1 sources\n    tiny: only after\n",
        "json tool.version: 1 sources\n    tiny: only before\n",
        "json steps[] (length): 1 sources\n",
        "text: 1 sources\n    tiny: 2 lines: '-exit code 0' | '+1'",
        "html: 1 sources\n    tiny: 2 lines: ",
        "0 of 4 outputs are the same",
    ):
        assert line in out
