# SPDX-License-Identifier: BSD-3-Clause
"""Data loaders in a dry run: batches count as pinned, with any kind of worker."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import torchtraceap

from .loader_data import Batch, Numbers
from .shared_run import Seen


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True},
        {
            "num_workers": 1,
            "multiprocessing_context": "spawn",
            "persistent_workers": True,  # as to start one takes seconds
        },
    ],
)
def test_pinned_batches_do_not_wait(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, seen: Seen
) -> None:
    # Under a name by which a process of its own can import it.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    numbers = importlib.import_module("loader_data").Numbers
    loader = DataLoader(numbers(), batch_size=4, pin_memory=True, **options)
    rows = []
    for _ in range(2):
        for batch in loader:
            assert batch["image"].is_pinned()
            assert all(one.is_pinned() for one in batch["pair"])
            batch["image"].to("cuda", non_blocking=True)
            rows.append(batch["image"][:, 0].tolist())
            assert batch["name"] == [str(int(one)) for one in rows[-1]]
    assert rows == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]] * 2
    assert loader.pin_memory is True
    del loader
    copies = [(op.copy.pinned, op.copy.blocking) for op in seen.ops]
    assert copies == [(True, False)] * 4
    assert not seen.syncs


def test_unpinned_batches_and_blocking_copies(seen: Seen) -> None:
    for batch in DataLoader(Numbers(), batch_size=4, num_workers=2):
        assert not batch["image"].is_pinned()
        batch["image"].to("cuda", non_blocking=True)
        batch["image"].to("cuda")
    copies = [op.copy for op in seen.ops]
    assert [one.pinned for one in copies] == [False] * 4
    assert [one.blocking for one in copies] == [False, True] * 2
    assert len(seen.syncs) == 2


def test_batches_of_a_type_of_their_own(seen: Seen) -> None:
    loader = DataLoader(
        Numbers(), batch_size=4, num_workers=1, pin_memory=True, collate_fn=Batch
    )
    assert [batch.images.is_pinned() for batch in loader] == [True, True]


def test_pinned_memory_that_the_program_makes() -> None:
    with torchtraceap.dry_run() as run:
        host = torch.empty(4, pin_memory=True)
        assert host.is_pinned()
        assert torch.tensor([1.0], pin_memory=True).is_pinned()
        assert not torch.empty(4).is_pinned()
        host.copy_(torch.randn(4, device="cuda"), non_blocking=True)
    assert not run.syncs
    copy = run.ops[-1].copy
    assert (copy.direction, copy.pinned, copy.blocking) == ("d2h", True, False)
    with pytest.raises(RuntimeError):
        torch.empty(4, pin_memory=True)


def test_workers_do_not_record(seen: Seen) -> None:
    class OnDevice(Numbers):
        def __getitem__(self, index: int) -> dict[str, Any]:
            assert torch.utils.data.get_worker_info() is not None
            try:
                torch.zeros(3).to("cuda")
            except (AssertionError, RuntimeError):  # as in a forked process with CUDA
                return super().__getitem__(index)
            raise ValueError("a worker has a GPU")

    assert len([*DataLoader(OnDevice(), batch_size=4, num_workers=1)]) == 2
    assert not seen.ops
