# SPDX-License-Identifier: BSD-3-Clause
"""test_storages.py: storages of tensors on the device are there."""

from __future__ import annotations

import copy

import pytest
import torch

import torchtraceap
from torchtraceap.dryrun.record import Op
from torchtraceap.errors import DryRunError

from .shared_run import Seen

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
