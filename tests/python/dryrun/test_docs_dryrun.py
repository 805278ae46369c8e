# SPDX-License-Identifier: BSD-3-Clause
"""docs/dryrun.md: its code runs and finds what the page says, its tables are true."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import torchtraceap

DOCS = Path(__file__).resolve().parents[3] / "docs"


def _blocks(page: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _run(code: str, folder: Path, names: dict[str, Any]) -> dict[str, Any]:
    """Run code as a file of its own, for its lines are the user's."""
    file = folder / "example.py"
    file.write_text(code, "utf-8")
    exec(compile(code, str(file), "exec"), names)
    return names


def test_the_first_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It "names two lines that wait in each step, the copy of the batch and the if"."""
    (code,) = _blocks("dryrun.md")
    run = _run(code, tmp_path, {})["run"]
    assert capsys.readouterr().out == run.summary() + "\n"
    lines = code.splitlines()
    often = [wait for wait in run.waits if wait.steps == 3]
    named = [lines[wait.line.line - 1].strip() for wait in often]
    assert sorted(named) == [
        'batch = torch.randn(32, 512).to("cuda")',
        "if torch.isnan(loss):",
    ]
    assert not torch.cuda.is_available()


def test_the_assertions(tmp_path: Path) -> None:
    """The example of docs/pytest.md, with a training step as the page means it."""
    (code,) = (
        block for block in _blocks("pytest.md") if "torchtraceap.dry_run" in block
    )

    def build() -> tuple[torch.nn.Module, torch.optim.Optimizer, str]:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = torch.nn.Linear(64, 8).to(device)
        return model, torch.optim.SGD(model.parameters(), lr=0.1), device

    def step(model: Any, optimizer: Any, x: Any, y: Any, history: list[float]) -> None:
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def step_that_waits(*args: Any, history: list[float]) -> None:
        step(*args, history)
        args[2].sum().item()

    data = {"x": torch.ones(4, 64), "y": torch.zeros(4, dtype=torch.long)}
    names = {"torchtraceap": torchtraceap, "build": build, **data}
    with pytest.raises(AssertionError, match=r"example\.py:4 "):  # x.to(device)
        _run(code, tmp_path, {**names, "train_step": step})
    allowed = code.replace('"metrics.py"', '"metrics.py", "example.py:4"')
    _run(allowed, tmp_path, {**names, "train_step": step})
    with pytest.raises(AssertionError, match="_local_scalar_dense"):
        _run(allowed, tmp_path, {**names, "train_step": step_that_waits})


def test_what_it_tells_is_there() -> None:
    text = (DOCS / "dryrun.md").read_text("utf-8")
    named = set(re.findall(r"`run\.(\w+)", text))
    assert len(named) >= 12
    with torchtraceap.dry_run() as run:
        torch.ones(3, device="cuda").sum()
    assert not [name for name in named if not hasattr(run, name)]


def test_the_options_are_those_of_the_page() -> None:
    text = (DOCS / "dryrun.md").read_text("utf-8")
    _, _, table = text.partition("| option of `dry_run` |")
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([^|]*) \|", table, re.MULTILINE)
    shown = {}
    for names, defaults in rows:
        for name, default in zip(
            names.split(", "), defaults.replace(",000", "_000").split(", "), strict=True
        ):
            shown[name.strip("`")] = default.strip("`").replace("_000", "000")
    real = inspect.signature(torchtraceap.dry_run).parameters
    for name, parameter in real.items():
        default = parameter.default
        text = f'"{default}"' if isinstance(default, str) else f"{default:g}"
        if isinstance(default, int):
            text = str(default)
        assert shown[name] == text, name
