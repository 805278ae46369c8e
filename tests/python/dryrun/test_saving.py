# SPDX-License-Identifier: BSD-3-Clause
"""test_saving.py: a dry run replaces no checkpoint by guesses."""

from __future__ import annotations

import importlib
import io
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap.cli import main

from .scripts import Write

SCRIPT = """
    from torch import save
    import torch
    net = torch.nn.Linear(8, 8, device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net(torch.ones(2, 8, device="cuda")).sum().backward()
    optimizer.step()
    save({"net": net.state_dict(), "epoch": 3}, "ck.pt")
    assert torch.load("./ck.pt")["epoch"] == 3
"""


@pytest.mark.parametrize(("path", "there"), [(str, True), (Path, False)])
def test_a_file_of_guesses_is_left_out(
    tmp_path: Path, path: Callable[[Path], Any], there: bool
) -> None:
    file = tmp_path / "ck.pt"
    if there:
        torch.save({"net": torch.ones(3)}, file)
    before = file.read_bytes() if there else None
    with torchtraceap.dry_run() as run:
        net = torch.nn.Linear(3, 2, device="cuda")
        torch.save({"net": net.state_dict(), "epoch": 3}, path(file))
        assert len(run.syncs) == 2  # It waits as ever.
        loaded = torch.load(path(file), map_location="cuda", mmap=True)
        assert loaded["epoch"] == 3
        assert str(loaded["net"]["weight"].device) == "cuda:0"
    assert (file.read_bytes() if there else None) == before
    assert file.exists() == there
    (note,) = (n for n in run.record.notes if "torch.save" in n)
    assert "ck.pt' was left out" in note
    assert "--allow-writes" in note
    assert note.split()[0] in run.summary()


def test_after_the_run_files_are_written_and_read(tmp_path: Path) -> None:
    file, module = tmp_path / "ck.pt", types.ModuleType("held")
    save, load = torch.save, torch.load
    with torchtraceap.dry_run():
        module.save = torch.save  # type: ignore[attr-defined]
        torch.save(torch.ones(3, device="cuda"), file)
    assert (torch.save, torch.load) == (save, load)
    with pytest.raises(FileNotFoundError):
        torch.load(file)
    module.save(torch.arange(3), file)
    assert torch.load(file).tolist() == [0, 1, 2]


def test_unknown_values_copied_to_the_host_are_guesses_too(tmp_path: Path) -> None:
    file = tmp_path / "ck.pt"
    with torchtraceap.dry_run(values="none"):
        net = torch.nn.Linear(3, 2, device="cuda")
        torch.save({k: v.cpu() for k, v in net.state_dict().items()}, file)
    assert not file.exists()


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("kind", ["storage", "untyped_storage"])
def test_a_file_of_a_storage_of_guesses_is_left_out(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "storage.pt"
    before = list(torch.serialization._package_registry)
    with torchtraceap.dry_run() as run:
        torch.save(getattr(torch.ones(3, device="cuda"), kind)(), file)
        assert not file.exists()
        assert str(torch.load(file, weights_only=False).device) == "cuda:0"
        torch.save(getattr(torch.ones(3), kind)(), file)
        assert file.exists()
        # torch sorts the rows then, and cannot if two are alike.
        for row in before:
            torch.serialization.register_package(*row)
            torch.serialization._package_registry.remove(row)
    assert torch.serialization._package_registry == before
    assert len([n for n in run.record.notes if "left out" in n]) == 1


def test_what_is_no_guess_is_written(tmp_path: Path) -> None:
    file, buffer = tmp_path / "data.pt", io.BytesIO()
    with torchtraceap.dry_run() as run:
        torch.save({"rows": torch.arange(4), "name": "x"}, file)
        assert torch.load(file)["rows"].tolist() == [0, 1, 2, 3]
        torch.save(torch.ones(3, device="cuda"), buffer)
        # What replaces a file that was left out is what is read.
        torch.save(torch.ones(3, device="cuda"), tmp_path / "other.pt")
        torch.save(torch.zeros(2), tmp_path / "other.pt")
        assert torch.load(tmp_path / "other.pt").tolist() == [0, 0]
    assert buffer.tell() > 0
    assert torch.load(file)["name"] == "x"
    assert len([n for n in run.record.notes if "left out" in n]) == 1


def test_it_can_be_allowed(tmp_path: Path) -> None:
    file = tmp_path / "ck.pt"
    with torchtraceap.dry_run(allow_writes=True) as run:
        torch.save(torch.ones(3, device="cuda"), file)
        assert str(torch.load(file).device) == "cuda:0"
    # As a GPU writes it.
    assert torch.load(file, map_location="cpu").tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="map_location"):
        torch.load(file)
    assert not [n for n in run.record.notes if "left out" in n]


def test_what_is_too_large_to_be_kept_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchtraceap_dryrun.device import saving

    monkeypatch.setattr(saving, "_MOST_KEPT", 10_000)
    file = tmp_path / "ck.pt"
    with torchtraceap.dry_run():
        torch.save(torch.ones(10_000, device="cuda"), file)
        with pytest.raises(DryRunError, match="too large"):
            torch.load(file)
    assert not file.exists()


def test_safetensors_are_left_out(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    with torchtraceap.dry_run() as run:
        save_file = importlib.import_module("safetensors.torch").save_file
        for where in ("cuda", "cpu"):
            save_file({"w": torch.ones(3, device=where)}, tmp_path / where)
    assert [file.name for file in tmp_path.iterdir()] == ["cpu"]
    assert len([n for n in run.record.notes if "left out" in n]) == 1
    assert safetensors.save_file is not save_file


@pytest.mark.parametrize("allowed", [False, True])
def test_a_script_keeps_its_checkpoint(
    script: Write, capsys: pytest.CaptureFixture[str], allowed: bool
) -> None:
    path = script(SCRIPT)
    Path("ck.pt").write_bytes(b"weeks of training")
    options = ["--allow-writes"] if allowed else []
    assert main(["dryrun", *options, path]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("torch.save(...) to 'ck.pt' was left out" in said) == (not allowed)
    assert (Path("ck.pt").read_bytes() == b"weeks of training") == (not allowed)
