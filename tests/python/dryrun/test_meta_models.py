# SPDX-License-Identifier: BSD-3-Clause
"""Models that a program makes on "meta" first, and then on the GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn

import torchtraceap

from .shared_run import Seen


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.LayerNorm(3))


def on_meta() -> nn.Module:
    with torch.device("meta"):
        return small()


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


def test_skip_init_makes_layers_on_the_gpu(seen: Seen) -> None:
    layer = nn.utils.skip_init(nn.Linear, 2, 3, device="cuda")
    assert layer.weight.is_cuda
    assert {op.name for op in seen.ops} == {"aten::empty_like"}


@pytest.mark.parametrize("buffers", [False, True])
def test_init_empty_weights_of_accelerate(buffers: bool, seen: Seen) -> None:
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
