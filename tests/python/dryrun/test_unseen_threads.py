# SPDX-License-Identifier: BSD-3-Clause
"""What a thread of before the block makes of the device's tensors lies there too."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchtraceap
from torchtraceap.dryrun.device.users_meta import UsersMeta


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    with ThreadPool(1) as made:
        yield made


def test_its_tensors_are_the_devices(pool: ThreadPool) -> None:
    with torchtraceap.dry_run() as run:
        x = torch.ones(3, device="cuda")
        made: Tensor = pool.apply(lambda: x * 2)
        assert made.is_cuda
        before = len(run.ops)
        assert (x + made).is_cuda and (made * 2).is_cuda
        assert [op.name for op in run.ops[before:]] == ["aten::add", "aten::mul"]
        made.sum().item()
        # x, made, and nothing of the sums, which are gone.
        assert torch.cuda.memory_allocated() == 2 * 512
    assert len(run.syncs) == 1
    assert [note for note in run.record.notes if "a thread of before the block" in note]


def test_the_programs_own_stay_its_own_beside_such_threads(pool: ThreadPool) -> None:
    net = nn.Linear(2, 2, device="meta")
    net(torch.ones(1, 2, device="meta")).sum().backward()
    with torchtraceap.dry_run() as run:
        assert net.weight.is_meta and net.weight.grad.is_meta  # type: ignore[union-attr]
        assert torch.tensor([1.0], device="meta").is_meta
        assert torch.ones(2, device="meta").new([1, 2]).is_meta
        net(torch.ones(1, 2, device="meta")).sum().backward()
        assert net.bias.grad.is_meta  # type: ignore[union-attr]
        with run.suspended():
            outside = torch.ones(2, device="meta") * 2
        assert outside.is_meta and (outside * 2).is_meta
        assert not run.ops
        net.to_empty(device="cuda")
        assert net(torch.ones(1, 2, device="cuda")).is_cuda


class Odd(type):
    """What a program may do with the classes of its own."""

    def __eq__(cls, other: object) -> bool:  # So they have no hash.
        raise AssertionError("a class was compared")

    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"a class was asked for {name}")


def test_classes_that_can_be_neither_hashed_nor_asked_do_no_harm(
    pool: ThreadPool,
) -> None:
    odd = type.__call__(Odd, "Config", (), {})
    one = object.__new__(odd)
    object.__setattr__(one, "one", one)
    with pytest.raises(TypeError, match="unhashable"):
        hash(odd)
    assert gc.is_tracked(one)
    mine = nn.Parameter(torch.ones(2, device="meta"))
    with torchtraceap.dry_run() as run:
        assert mine.is_meta and (mine * 2).is_meta
        assert pool.apply(lambda: torch.ones(2, device="meta")) is not None
    assert not run.ops


def test_a_gradient_is_of_the_thread_that_asked_for_it() -> None:
    one, other = (nn.Parameter(torch.ones(2)) for _ in range(2))
    for parameter in (one, other):
        parameter.grad = torch.ones(2)
    with torchtraceap.dry_run():
        gradient = one.grad
        thread = threading.Thread(target=lambda: other.grad)
        thread.start()
        thread.join()
        # Known to be that of `one`, else it would be refused as held by autograd.
        gradient.data = gradient.data.cuda()  # type: ignore[union-attr]
        assert one.grad is gradient and one.grad.is_cuda


def test_getters_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    of_class = UsersMeta.asked_by

    def asked_by(self: UsersMeta, func: Any, *rest: Any) -> bool | None:
        asked.append(func)
        return of_class(self, func, *rest)

    monkeypatch.setattr(UsersMeta, "asked_by", asked_by)
    with torchtraceap.dry_run():
        parameter = nn.Parameter(torch.ones(2, device="cuda"))
        parameter.grad = torch.ones(2, device="cuda")
        asked.clear()
        gradient = parameter.grad
        assert parameter.shape == (2,) and parameter.dtype is torch.float32
        assert parameter.is_cuda and parameter.device.type == "cuda"
        assert not asked
        assert weakref.getweakrefcount(gradient) == 0
