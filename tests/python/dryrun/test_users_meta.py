# SPDX-License-Identifier: BSD-3-Clause
"""Tensors that a program has on "meta" itself are none of the GPU's.

What is expected is what torch itself says of them: each call is made outside of a run
too, with "cpu" in the place of the GPU.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchtraceap
from torchtraceap.dryrun.device.users_meta import UsersMeta


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.LayerNorm(3))


def on_meta() -> nn.Module:
    with torch.device("meta"):
        return small()


def trained_on_meta() -> Tensor:
    net = on_meta()
    optimizer = torch.optim.AdamW(net.parameters())
    target = torch.zeros(4, dtype=torch.long, device="meta")
    loss = nn.functional.cross_entropy(net(torch.ones(4, 2, device="meta")), target)
    loss.backward()
    optimizer.step()
    return next(net.parameters()).grad  # type: ignore[return-value]


def by_default() -> Tensor:
    torch.set_default_device("meta")
    try:
        return torch.ones(2) + torch.tensor([1, 2])
    finally:
        torch.set_default_device(None)


def loaded() -> Tensor:
    file = io.BytesIO()
    torch.save(torch.ones(3), file)
    file.seek(0)
    return torch.load(file, map_location="meta")  # type: ignore[no-any-return]


MADE: dict[str, Callable[[], Tensor]] = {
    "empty": lambda: torch.empty(3, device="meta"),
    "by an object": lambda: torch.ones(3, device=torch.device("meta")) * 2,
    "a view": lambda: torch.ones(3, 4, device="meta")[1:].t().reshape(-1),
    "like": lambda: torch.zeros_like(torch.ones(3, device="meta")),
    "by its device": lambda: torch.ones(3, device=torch.ones(2, device="meta").device),
    "data": lambda: torch.tensor([1.0, 2.0], device="meta"),
    "as_tensor": lambda: torch.as_tensor([1.0], device="meta"),
    "as_tensor of one": lambda: torch.as_tensor(torch.ones(2), device="meta"),
    "new_tensor": lambda: torch.ones(2, device="meta").new_tensor([1, 2]),
    "new_zeros": lambda: torch.ones(2, device="meta").new_zeros(2),
    "new": lambda: torch.ones(2, device="meta").new([1, 2]),
    "of the host": lambda: torch.ones(2).to("meta"),
    "by another": lambda: torch.ones(2).to(torch.ones(1, device="meta")),
    "in half": lambda: torch.ones(2).to("meta", torch.half),
    "a parameter": lambda: nn.Parameter(torch.ones(2, device="meta")),
    "of a block": lambda: next(on_meta().parameters()),
    "moved": lambda: next(small().to("meta").parameters()),
    "emptied": lambda: next(small().to_empty(device="meta").parameters()),
    "copied": lambda: copy.deepcopy(torch.ones(3, device="meta")),
    "a gradient": trained_on_meta,
    "by default": by_default,
    "loaded": loaded,
    "data =": lambda: torch.ones(2, device="meta").data,
    "a smoothed loss": lambda: nn.functional.cross_entropy(
        torch.ones(4, 3, device="meta"),
        torch.zeros(4, dtype=torch.long, device="meta"),
        torch.ones(3, device="meta"),
        label_smoothing=0.1,
    ),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_they_are_as_without_a_run(make: Callable[[], Tensor]) -> None:
    expected = make()
    with torchtraceap.dry_run() as run:
        found = make()
        assert found.device == expected.device == torch.device("meta")
        assert found.is_meta and not found.is_cuda
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.requires_grad == expected.requires_grad
        assert repr(found) == repr(expected)
        assert torch.cuda.max_memory_allocated() == 0
    assert not run.ops and not run.syncs


WRONG: dict[str, Callable[[str], Any]] = {
    "to": lambda gpu: torch.ones(3, device="meta").to(gpu),
    "to another": lambda gpu: torch.ones(3, device="meta").to(torch.ones(1).to(gpu)),
    "a module": lambda gpu: on_meta().to(gpu),
    "to the host": lambda _: torch.ones(3, device="meta").cpu(),
    "copy_": lambda gpu: torch.ones(3).to(gpu).copy_(torch.ones(3, device="meta")),
    "item": lambda _: torch.ones((), device="meta").item(),
    "data =": lambda gpu: setattr(
        nn.Parameter(torch.ones(2, device="meta")), "data", torch.ones(2).to(gpu)
    ),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_what_torch_refuses_is_refused(call: Callable[[str], Any]) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as expected:
        call("cpu")
    with torchtraceap.dry_run(), pytest.raises(expected.type) as found:
        call("cuda")
    assert str(found.value) == str(expected.value)


def test_they_do_not_mix_with_the_gpus() -> None:
    with torchtraceap.dry_run():
        here, meta = torch.ones(3, device="cuda"), torch.ones(3, device="meta")
        with pytest.raises(RuntimeError, match="on the same device"):
            here + meta
        with pytest.raises(RuntimeError, match="on the same device"):
            nn.functional.linear(here, torch.ones(2, 3, device="meta"))
        meta.copy_(here)  # does nothing
        with pytest.raises(NotImplementedError, match="no data"):
            meta.cuda()


def test_the_gpus_stay_the_gpus() -> None:
    with torchtraceap.dry_run(values="all"):
        meta = torch.ones(3, device="meta")
        assert torch.zeros_like(meta, device="cuda").tolist() == [0, 0, 0]
        assert torch.empty_like(meta, device="cuda").is_cuda
        here = torch.ones(3, device="cuda", requires_grad=True)
        assert here.to("meta").is_meta and here.to("meta").requires_grad
        assert torch.empty_like(here, device="meta").is_meta
        assert here.to(meta).is_meta and here.new_tensor([1], device="meta").is_meta
        (here * here.new_tensor(2)).sum().backward()
        assert here.grad is not None and here.grad.is_cuda
        assert torch.cuda.FloatTensor([1]).is_cuda and here.is_cuda
        assert copy.deepcopy(here).is_cuda
        with torch.device("meta"):
            assert torch.ones(2, device="cuda").is_cuda
            assert (here.detach() + torch.ones_like(here)).is_cuda


def test_autocast_leaves_them_alone() -> None:
    with torchtraceap.dry_run(), torch.autocast("cuda", dtype=torch.bfloat16):
        for device, dtype in (("meta", torch.float32), ("cuda", torch.bfloat16)):
            x = torch.ones(2, 2, device=device)
            assert (x @ x).dtype is dtype


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
        assert (
            parameter.grad is not None
            and parameter.shape == (2,)
            and parameter.dtype is torch.float32
        )
        assert parameter.is_cuda and parameter.device.type == "cuda"
        assert not asked
