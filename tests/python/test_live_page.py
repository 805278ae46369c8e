# SPDX-License-Identifier: BSD-3-Clause
"""test_live_page.py: the examples of docs/live.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")

pytestmark = [
    # torch says so once a process, whenever a profiler begins a second cycle.
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events"),
]

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)


def train_step(batch: Any) -> None:
    (batch @ batch).relu().sum().item()


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_example(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = BLOCKS[number]
    monkeypatch.chdir(tmp_path)
    batch = torch.ones(8, 8)
    names: dict[str, Any] = {
        "torch": torch,
        "torchtraceap": torchtraceap,
        "batch": batch,
        "loader": [batch] * 12,
        "train_step": train_step,
        "train": lambda: train_step(batch),
    }
    exec(compile(code, f"live.md, example {number}", "exec"), names)
    if "handler.reports" in code:
        assert len(names["handler"].reports) == 2
        assert len(list((tmp_path / "reports").iterdir())) == 4
    if "torchtraceap.profile() as prof" in code:
        assert capsys.readouterr().out == names["prof"].report.summary() + "\n\n"


def test_links_lead_somewhere() -> None:
    text = PAGE.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        elif "://" not in target:
            assert (PAGE.parent / target.partition("#")[0]).exists(), target
