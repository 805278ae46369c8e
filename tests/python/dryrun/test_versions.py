# SPDX-License-Identifier: BSD-3-Clause
"""test_versions.py: the basic program, and private names, on whatever torch is there.

It is what to run first with another version of torch.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun import private_names
from torchtraceap_dryrun.facade.replacing import Replacements
from torchtraceap_dryrun.private_names import NAMES, check_names, private


def test_the_basic_program() -> None:
    with torchtraceap.dry_run() as run:
        assert torch.cuda.is_available()
        model = torch.nn.Linear(64, 10).to("cuda")
        optimizer = torch.optim.AdamW(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for _ in range(3):
            batch = torch.randn(32, 64).to("cuda")
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(batch).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if torch.isnan(loss):
                break
            run.step()
    assert not torch.cuda.is_available()
    assert model.weight.device.type == "cpu"
    assert [step.waits for step in run.steps[1:]] == [3, 3]
    assert {place.api for place in run.waits} >= {"aten::_local_scalar_dense"}
    assert "backward" in {op.phase for op in run.ops}


# --- A torch without one of the names is refused, with the name -----------------------


_PACKAGE = Path(private_names.__file__).parent
# Private names of others than torch.
_OTHERS = {"_clear", "_current_frames", "_getframe", "_run_exitfuncs", "_shutdown"}


@pytest.fixture(autouse=True)
def _looked_up_anew() -> Iterator[None]:
    private.cache_clear()
    yield
    private.cache_clear()


def _remove(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Take a name away; where it is of a class in C, or of an object, its owner."""
    owner, _, name = path.rpartition(".")
    held = torch if owner == "torch" else _plain(owner)
    if path in sys.modules:
        monkeypatch.setitem(sys.modules, path, None)
    if not owner.endswith("()"):
        try:
            monkeypatch.delattr(held, name)
        except (AttributeError, TypeError):
            pass
        else:
            if not hasattr(held, name):
                return
            monkeypatch.undo()
    place, _, last = owner.removesuffix("()").rpartition(".")
    stands_in = SimpleNamespace()
    if owner.endswith("()"):
        stands_in = lambda *_, **__: SimpleNamespace()  # noqa: E731
    monkeypatch.setattr(_plain(place), last, stands_in)


def _plain(path: str) -> object:
    found: object = sys.modules["torch"]
    for part in path.split(".")[1:]:
        found = getattr(found, part.removesuffix("()"))
    return found


@pytest.mark.parametrize("path", NAMES)
def test_a_missing_name_is_told_before_anything_is_changed(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.cuda.is_available()
    check_names()
    private.cache_clear()
    with monkeypatch.context() as patch:
        _remove(patch, path)
        with pytest.raises(DryRunError) as raised:
            torchtraceap.dry_run()
    told = str(raised.value)
    # Of an owner that was taken away whole, another of its names may come first.
    owner = path.rpartition(".")[0].removesuffix("()")
    assert path in told or f"has no {owner}" in told, told
    assert torch.__version__ in told
    assert torch.cuda.is_available() is before


def test_nothing_stands_in_for_what_is_not_there() -> None:
    replaced = Replacements()
    with pytest.raises(DryRunError, match=r"has no torch\.cuda\.no_such_name"):
        replaced.set(torch.cuda, "no_such_name", 1)
    assert not hasattr(torch.cuda, "no_such_name")
    replaced.set(torch.cuda, "no_such_name", 1, new=True)
    replaced.undo()
    assert not hasattr(torch.cuda, "no_such_name")


def _private_names() -> tuple[set[str], list[tuple[str, str]]]:
    """Return the names that the package gives itself, and places with those it uses."""
    own, used = set(), []
    for path in sorted(_PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names: list[str] = []
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    own.add(name)
                case ast.Name(id=name, ctx=ast.Store()):
                    own.add(name)
                case ast.Attribute(ast.Name("self" | "cls"), name, ast.Store()):
                    own.add(name)
                case ast.Attribute(attr=name):
                    names = [name]
                case ast.ImportFrom(str(module)) if re.match(r"torch\b", module):
                    names = [*module.split("."), *(a.name for a in node.names)]
                case ast.Call(ast.Attribute(attr="set"), [_, ast.Constant(name), _]):
                    names = [str(name)]
            used += [(f"{path.name}:{node.lineno}", name) for name in names]
    return own, used


def test_all_private_names_that_are_used_are_in_the_table() -> None:
    own, used = _private_names()
    known = set(re.findall(r"\w+", " ".join(NAMES))) | own | _OTHERS
    assert len(used) > 1000
    assert not [
        f"{place}: {name}"
        for place, name in used
        if re.match(r"_(?!_)\w", name) and name not in known
    ]
