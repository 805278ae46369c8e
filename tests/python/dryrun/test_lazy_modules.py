# SPDX-License-Identifier: BSD-3-Clause
"""Modules that learn their shapes in their first call."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

import torchtraceap

from .shared_run import Seen

X = torch.arange(2 * 3 * 8 * 8.0).view(2, 3, 8, 8) / 100


def lazy_net() -> nn.Sequential:
    return nn.Sequential(
        nn.LazyConv2d(4, 3),
        nn.LazyBatchNorm2d(),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(5),
    )


def train(net: nn.Module, x: Tensor) -> list[Tensor]:
    """Train from set values, as a GPU's random numbers are others."""
    net(x)
    with torch.no_grad():
        for at, parameter in enumerate(net.parameters()):
            parameter.copy_(
                torch.linspace(-1, 1 + at, parameter.numel()).view_as(parameter)
            )
    net.get_submodule("1").reset_running_stats()  # type: ignore[operator]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, foreach=False)
    for _ in range(2):
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [t.detach() for t in (loss, *net.parameters(), *net.buffers())]


def test_they_train_as_on_the_cpu(seen_all: Seen) -> None:
    expected = train(lazy_net(), X)
    net = lazy_net().to("cuda")
    # Nothing is in them, so nothing is copied but the batch norm's counter.
    assert sum(op.copy.nbytes for op in seen_all.ops if op.copy) == 8
    found = [t.cpu() for t in train(net, X.cuda())]
    assert type(net[4]) is nn.Linear and net[4].in_features == 4 * 6 * 6
    assert net[4].weight.is_cuda and net[1].running_mean.is_cuda
    torch.testing.assert_close(found, expected)


def test_they_may_be_made_on_the_device(seen: Seen) -> None:
    layer = nn.LazyLinear(5, device="cuda")
    layer.half()
    out = layer(torch.ones(2, 3, device="cuda", dtype=torch.half))
    assert out.shape == (2, 5) and layer.weight.is_cuda
    assert layer.weight.dtype == torch.half


def test_they_are_as_before_after_the_run() -> None:
    net = lazy_net()
    calls: list[str] = []
    net[4].register_forward_pre_hook(lambda *_: calls.append("before"))
    parameters = list(net.parameters())
    with torchtraceap.dry_run():
        net.to("cuda")
        net.eval()
        net(X.cuda()).sum().backward()
        net[4].register_forward_pre_hook(lambda *_: calls.append("later"))
    assert [type(m) for m in net] == [type(m) for m in lazy_net()]
    assert all(a is b for a, b in zip(net.parameters(), parameters, strict=True))
    assert all(
        isinstance(p, UninitializedParameter) for p in (net[0].weight, net[4].bias)
    )
    assert isinstance(net[1].running_mean, UninitializedBuffer)
    assert net[4].in_features == 0 and not net.training
    net.train()
    calls.clear()
    other = torch.ones(2, 7, 10, 10)
    assert net(other).shape == (2, 5)
    assert calls == ["before", "later"]
    assert type(net[4]) is nn.Linear and net[4].in_features == 4 * 8 * 8
    assert not any(map(is_lazy, [*net.parameters(), *net.buffers()]))
    net(other).sum().backward()


def test_what_the_host_learned_stays_learned() -> None:
    layer = nn.LazyLinear(5)
    moved = nn.LazyLinear(5)
    with torchtraceap.dry_run():
        layer(torch.ones(2, 3))
        moved(torch.ones(2, 3))
        moved.cuda()
    assert type(layer) is nn.Linear and layer.weight.shape == (5, 3)
    assert type(moved) is nn.Linear and moved.weight.shape == (5, 3)


def test_what_loads_shapes_still_does() -> None:
    state = nn.Linear(3, 5).state_dict()
    layer = nn.LazyLinear(5)
    with torchtraceap.dry_run():
        layer.cuda()
        layer(torch.ones(2, 4, device="cuda"))
    layer.load_state_dict(state)
    assert torch.equal(layer.weight, state["weight"])
    with torchtraceap.dry_run():
        other = nn.LazyLinear(5).cuda()
        other.load_state_dict(state)
        assert other.weight.shape == (5, 3) and other.weight.is_cuda
        assert torch.equal(other.weight.cpu(), state["weight"])
