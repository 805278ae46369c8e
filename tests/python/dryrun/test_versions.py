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


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(_PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def _own_names() -> set[str]:
    """Private names that the package gives itself."""
    own = set()
    for _, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and ast.unparse(node.value) in ("self", "cls")
            ):
                own.add(node.attr)
    return own


def _private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] == "torch":
                for part in [*node.module.split("."), *(a.name for a in node.names)]:
                    yield node.lineno, part
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith(".set")
            and len(node.args) == 3
            and isinstance(node.args[1], ast.Constant)
        ):
            yield node.lineno, str(node.args[1].value)


def test_all_private_names_that_are_used_are_in_the_table() -> None:
    known = set(re.findall(r"\w+", " ".join(NAMES))) | _own_names() | _OTHERS
    missing = [
        f"{path.relative_to(_PACKAGE)}:{line}: {name}"
        for path, tree in _trees()
        for line, name in _private_uses(tree)
        if re.match(r"_(?!_)\w", name) and name not in known
    ]
    assert not missing
