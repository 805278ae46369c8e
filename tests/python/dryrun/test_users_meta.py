# SPDX-License-Identifier: BSD-3-Clause
"""Tensors and models that a program has on "meta" itself are none of the GPU's.

The expected results are torch's own: each call is made outside of a run
too, with "cpu" in the place of the GPU.
"""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchtraceap


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


def _facts(made: Tensor) -> tuple[Any, ...]:
    assert made.device == torch.device("meta") and made.is_meta and not made.is_cuda
    return made.shape, made.dtype, made.requires_grad, repr(made)


def test_they_are_as_without_a_run() -> None:
    expected = {name: _facts(make()) for name, make in MADE.items()}
    with torchtraceap.dry_run() as run:
        found = {name: _facts(make()) for name, make in MADE.items()}
        assert torch.cuda.max_memory_allocated() == 0
    assert found == expected
    assert not run.ops and not run.syncs


WRONG: dict[str, Callable[[str], Any]] = {
    "to": lambda gpu: torch.ones(3, device="meta").to(gpu),
    "to another": lambda gpu: torch.ones(3, device="meta").to(torch.ones(1).to(gpu)),
    "a module": lambda gpu: on_meta().to(gpu),
    "to the host": lambda _: torch.ones(3, device="meta").cpu(),
    "copy_": lambda gpu: torch.ones(3).to(gpu).copy_(torch.ones(3, device="meta")),
    "item": lambda _: torch.ones((), device="meta").item(),
}


def test_what_torch_refuses_is_refused() -> None:
    def refused(call: Callable[[str], Any], gpu: str) -> tuple[type, str]:
        with pytest.raises((RuntimeError, NotImplementedError)) as error:
            call(gpu)
        return error.type, str(error.value)

    expected = {name: refused(call, "cpu") for name, call in WRONG.items()}
    with torchtraceap.dry_run():
        found = {name: refused(call, "cuda") for name, call in WRONG.items()}
    assert found == expected


def test_they_do_not_mix_with_the_gpus(seen: Any) -> None:
    here, meta = torch.ones(3, device="cuda"), torch.ones(3, device="meta")
    with pytest.raises(RuntimeError, match="on the same device"):
        here + meta
    with pytest.raises(RuntimeError, match="on the same device"):
        nn.functional.linear(here, torch.ones(2, 3, device="meta"))
    meta.copy_(here)  # does nothing
    with pytest.raises(NotImplementedError, match="no data"):
        meta.cuda()


def test_the_gpus_stay_the_gpus(seen: Any) -> None:
    meta = torch.ones(3, device="meta")
    assert torch.zeros_like(meta, device="cuda").tolist() == [0, 0, 0]
    assert torch.empty_like(meta, device="cuda").is_cuda
    here = torch.ones(3, device="cuda", requires_grad=True)
    assert here.to("meta").is_meta and here.to("meta").requires_grad
    assert torch.empty_like(here, device="meta").is_meta
    assert here.to(meta).is_meta and here.new_tensor([1], device="meta").is_meta
    (here * here.new_tensor(2)).sum().backward()
    assert here.grad is not None and here.grad.is_cuda
    assert copy.deepcopy(here).is_cuda
    with torch.device("meta"):
        assert torch.ones(2, device="cuda").is_cuda
        assert (here.detach() + torch.ones_like(here)).is_cuda


def to_empty(net: nn.Module) -> nn.Module:
    return net.to_empty(device="cuda")


def assigned(net: nn.Module) -> nn.Module:
    net.load_state_dict(small().cuda().state_dict(), assign=True)
    return net


@pytest.mark.parametrize("fill", [to_empty, assigned])
def test_models_of_meta_get_to_the_gpu(fill: Callable[[nn.Module], nn.Module]) -> None:
    with torchtraceap.dry_run() as run:
        net = on_meta()
        former = list(net.parameters())
        assert not run.ops
        fill(net)
        # torch makes other parameters then, as between meta and CUDA.
        assert all(one.is_meta for one in former)
        assert all(one.is_cuda for one in net.parameters())
        # Two of 24 and 12 bytes, two of 12, in blocks of 512.
        assert torch.cuda.memory_allocated() == 4 * 512
        net(torch.ones(4, 2, device="cuda")).sum().backward()
        assert all(one.grad.is_cuda for one in net.parameters())  # type: ignore[union-attr]


def test_what_was_made_before_the_run_is_none_of_the_gpus_either() -> None:
    net = on_meta()
    x = torch.ones(4, 2, device="meta")
    with torchtraceap.dry_run() as run:
        assert x.is_meta and net(x).is_meta
        assert not run.ops
        net.to_empty(device="cuda")
        assert net(x.new_zeros(4, 2, device="cuda")).is_cuda


def test_loading_without_assigning_does_nothing_and_warns() -> None:
    with torchtraceap.dry_run(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = on_meta()
        net.load_state_dict(small().cuda().state_dict())
        assert next(net.parameters()).is_meta
    assert any("which is a no-op" in str(one.message) for one in caught)


def test_skip_init_makes_layers_on_the_gpu(seen: Any) -> None:
    layer = nn.utils.skip_init(nn.Linear, 2, 3, device="cuda")
    assert layer.weight.is_cuda
    assert {op.name for op in seen.ops} == {"aten::empty_like"}


@pytest.mark.parametrize("buffers", [False, True])
def test_init_empty_weights_of_accelerate(buffers: bool, seen: Any) -> None:
    accelerate = pytest.importorskip("accelerate")
    with accelerate.init_empty_weights(include_buffers=buffers):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert all(one.is_meta for one in net.parameters())
    assert net[1].running_mean.is_meta == buffers
    assert not seen.ops
    net.to_empty(device="cuda")
    assert net(torch.ones(4, 2, device="cuda")).is_cuda


def test_what_left_the_host_for_meta_stays_there() -> None:
    net, other = small(), small()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with torchtraceap.dry_run():
        net.to("meta")
        other.to("meta").to_empty(device="cuda")
    assert all(one.is_meta for one in net.parameters())
    assert len(optimizer.param_groups[0]["params"]) == 4


def test_autocast_leaves_them_alone(seen: Any) -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for device, dtype in (("meta", torch.float32), ("cuda", torch.bfloat16)):
            x = torch.ones(2, 2, device=device)
            assert (x @ x).dtype is dtype
