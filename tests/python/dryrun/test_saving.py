# SPDX-License-Identifier: BSD-3-Clause
"""Storages and files: loaded onto the device, and none replaced by guesses."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap.cli import main
from torchtraceap_dryrun.record import Op

from .scripts import Write
from .shared_run import Seen

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
        assert len(run.syncs) == 2  # It waits as usual.
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


# --- Storages -------------------------------------------------------------------------

# Programs still use what torch warns of.
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


def test_they_say_where_they_are() -> None:
    before = dict(vars(torch.UntypedStorage))
    mine = torch.empty(2, device="meta")
    with torchtraceap.dry_run() as run:
        rows = torch.ones(3, device="cuda")
        storage = rows.untyped_storage()
        for one in (storage, rows.storage(), rows.view(3, 1).untyped_storage()):
            assert one.device == torch.device("cuda", 0)
            assert one.is_cuda
            assert one.get_device() == 0
        assert "cuda:0" in repr(storage)
        for tensor in (mine, torch.empty(2, device="meta")):
            assert str(tensor.untyped_storage().device) == "meta"
            assert not tensor.untyped_storage().is_cuda
        host = torch.ones(3).untyped_storage()
        assert str(host.device) == "cpu"
        assert not host.is_shared()
        assert not run.syncs
    assert str(storage.device) == "meta"
    assert dict(vars(torch.UntypedStorage)) == before


def test_they_are_moved_and_copied(seen: Seen) -> None:
    host = torch.arange(3.0)
    there = host.storage().cuda()
    assert [sync.api for sync in seen.syncs] == ["Tensor.cuda"]
    assert there.untyped().cuda() is there.untyped()
    # Each of these is memory of its own.
    copies = [copy.deepcopy(there), there.clone(), there.cpu().cuda(), there.cpu()]
    rows = torch.empty(0, device="cuda").set_(there)
    rows.zero_()
    assert rows.tolist() == [0, 0, 0]
    assert host.tolist() == [0, 1, 2]
    for one in copies:
        assert [one[0], one[1], one[2]] == [0, 1, 2]
    assert [str(one.device) for one in copies] == ["cuda:0"] * 3 + ["cpu"]
    with pytest.raises(DryRunError, match="slices"):
        there.untyped()[:4]


def test_pinned_memory_is_not_waited_for(seen: Seen) -> None:
    pinned = torch.ones(3).pin_memory()
    pinned.untyped_storage().cuda(non_blocking=True)
    (copied,) = (
        entry.copy
        for entry in seen.entries
        if isinstance(entry, Op) and entry.copy is not None
    )
    assert (copied.pinned, copied.blocking) == (True, False)
    assert not seen.syncs


def test_they_are_shared_as_they_are(seen: Seen) -> None:
    net = torch.nn.Linear(2, 2).cuda()
    assert net.share_memory() is net
    assert net.weight.is_shared()
    assert str(net.weight.device) == "cuda:0"
    with pytest.raises(DryRunError, match="another process"):
        torch.multiprocessing.get_context("spawn").SimpleQueue().put(net.weight)
    host = torch.nn.Linear(2, 2).share_memory()
    assert host.weight.is_shared()


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "where",
    [
        "cuda",
        "cuda:0",
        {"cpu": "cuda"},
        torch.device("cuda"),
        lambda storage, location: storage.cuda(),
        lambda storage, location: storage.cuda(0),
        lambda storage, location: storage.to(device="cuda"),
    ],
)
def test_a_storage_is_copied_once_and_stays_shared(where: Any, seen: Seen) -> None:
    rows = torch.arange(6.0).view(2, 3)
    file = saved({"rows": rows, "last": rows[1], "epoch": 3})
    loaded = torch.load(file, map_location=where)
    assert [sync.api for sync in seen.syncs] == ["Tensor.cuda"]
    assert str(loaded["rows"].device) == "cuda:0"
    loaded["last"].zero_()
    assert loaded["rows"].tolist() == [[0, 1, 2], [0, 0, 0]]
    assert loaded["epoch"] == 3


def test_elsewhere_nothing_changes() -> None:
    before = list(torch.serialization._package_registry)
    with torchtraceap.dry_run() as run:
        for where in (None, "cpu"):
            loaded = torch.load(saved(torch.ones(3)), map_location=where)
            assert str(loaded.device) == "cpu"
        assert not run.syncs
    assert torch.serialization._package_registry == before


def by_path(value: Any, tmp_path: Path, **options: Any) -> Any:
    torch.save(value, tmp_path / "ck.pt")
    return torch.load(tmp_path / "ck.pt", **options)


def by_file(value: Any, tmp_path: Path, **options: Any) -> Any:
    return torch.load(saved(value), **options)


def by_old_file(value: Any, tmp_path: Path, **options: Any) -> Any:
    torch.save(value, tmp_path / "ck.pt", _use_new_zipfile_serialization=False)
    return torch.load(tmp_path / "ck.pt", **options)


@pytest.mark.parametrize("way", [by_path, by_file, by_old_file])
@pytest.mark.parametrize("options", [{}, {"weights_only": True}])
def test_what_was_on_the_device_is_loaded_there(
    tmp_path: Path, way: Any, options: dict[str, Any], seen: Seen
) -> None:
    rows = torch.arange(4.0, device="cuda")
    net = torch.nn.Linear(4, 1, device="cuda")
    state = {"ema": rows, "host": torch.ones(2), "net": net.state_dict(), "n": 3}
    loaded = way(state, tmp_path, **options)
    apis = [sync.api for sync in seen.syncs]
    assert apis[:3] == ["Tensor.cpu"] * 3 and set(apis[3:]) == {"Tensor.cuda"}
    assert loaded["ema"].mul_(0.5).add_(rows).tolist() == [0, 1.5, 3, 4.5]
    assert rows.tolist() == [0, 1, 2, 3]  # It was a copy.
    assert str(loaded["host"].device) == "cpu"
    assert loaded["n"] == 3
    net.load_state_dict(loaded["net"])
    host = way(state, tmp_path, map_location="cpu", **options)
    assert str(host["ema"].device) == "cpu"
    assert host["ema"].tolist() == [0, 1, 2, 3]


def test_what_was_pickled_on_the_device_is_there(seen: Seen) -> None:
    rows = torch.nn.Parameter(torch.arange(3.0, device="cuda"))
    loaded = pickle.loads(pickle.dumps({"rows": rows, "host": torch.ones(1)}))
    assert isinstance(loaded["rows"], torch.nn.Parameter)
    assert str(loaded["rows"].device) == "cuda:0"
    assert loaded["rows"].tolist() == [0, 1, 2]
    assert str(loaded["host"].device) == "cpu"
