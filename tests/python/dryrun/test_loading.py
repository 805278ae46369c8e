# SPDX-License-Identifier: BSD-3-Clause
"""test_loading.py: files of tensors are loaded onto the device of a dry run."""

from __future__ import annotations

import io
from typing import Any

import pytest

import torchtraceap

torch = pytest.importorskip("torch")


def saved(value: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("where", ["cuda", "cuda:0", {"cpu": "cuda"}, "device"])
def test_a_storage_is_copied_once_and_stays_shared(where: Any) -> None:
    rows = torch.arange(6.0).view(2, 3)
    file = saved({"rows": rows, "last": rows[1], "epoch": 3})
    with torchtraceap.dry_run() as run:
        where = torch.device("cuda") if where == "device" else where
        loaded = torch.load(file, map_location=where)
        assert [sync.api for sync in run.syncs] == ["Tensor.cuda"]
        assert str(loaded["rows"].device) == "cuda:0"
        loaded["last"].zero_()
        assert loaded["rows"].tolist() == [[0, 1, 2], [0, 0, 0]]
        assert loaded["epoch"] == 3


def test_a_checkpoint_keeps_its_weights() -> None:
    net = torch.nn.Linear(3, 2)
    file = saved(net.state_dict())
    with torchtraceap.dry_run() as run:
        other = torch.nn.Linear(3, 2, device="cuda")
        other.load_state_dict(torch.load(file, map_location="cuda"))
        assert len(run.syncs) == 2
        assert torch.equal(other.weight.cpu(), net.weight)


def test_elsewhere_nothing_changes() -> None:
    before = list(torch.serialization._package_registry)
    with torchtraceap.dry_run() as run:
        for where in (None, "cpu"):
            loaded = torch.load(saved(torch.ones(3)), map_location=where)
            assert str(loaded.device) == "cpu"
        assert not run.syncs
    assert torch.serialization._package_registry == before
