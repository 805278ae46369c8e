# SPDX-License-Identifier: BSD-3-Clause
"""`tensor.data =` between host and device, as old programs move their models."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor, nn

import torchtraceap
from torchtraceap.errors import DryRunError

from .shared_run import Seen


def network() -> tuple[nn.Module, torch.optim.Optimizer]:
    """A small one that was trained, with all that lies on the host then."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    net(torch.randn(3, 4)).square().sum().backward()
    optimizer.step()
    return net, optimizer


def by_data(net: nn.Module, optimizer: torch.optim.Optimizer, device: str) -> None:
    """Move all of it without a method of modules."""
    for parameter in net.parameters():
        parameter.data = parameter.data.to(device)
        if parameter._grad is not None:
            parameter._grad.data = parameter._grad.data.to(device)
    for buffer in net.buffers():
        buffer.data = buffer.data.to(device)
    for state in optimizer.state.values():
        for key, value in state.items():
            if key != "step":
                value.data = value.data.to(device)


def train(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor) -> list[Tensor]:
    for _ in range(2):
        net(x).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [*net.parameters(), *net.buffers()]


def test_a_model_that_is_moved_by_data_trains_as_on_the_cpu() -> None:
    x = torch.randn(3, 4)
    expected = [t.detach() for t in train(*network(), x)]
    net, optimizer = network()
    with torchtraceap.dry_run(values="all") as run:
        by_data(net, optimizer, "cuda")
        moved = len(run.ops)
        found = [t.detach().cpu() for t in train(net, optimizer, x.cuda())]
    for value, other in zip(found, expected, strict=True):
        torch.testing.assert_close(value, other)
    # 4 parameters, their gradients, 3 buffers, 8 moments; `.data` itself is none.
    copies = [op for op in run.ops[:moved] if op.copy and op.copy.direction == "h2d"]
    assert moved == len(copies) == 19
    assert run.ops[moved + 1].phase == "forward"


def test_all_of_it_is_back_after_the_run() -> None:
    net, optimizer = network()
    tensors = [*net.parameters(), *net.buffers()]
    tensors += [p.grad for p in net.parameters()]  # type: ignore[misc]
    tensors += [t for state in optimizer.state.values() for t in state.values()]
    former = [t.detach().clone() for t in tensors]
    with torchtraceap.dry_run():
        by_data(net, optimizer, "cuda")
        train(net, optimizer, torch.randn(3, 4, device="cuda"))
        by_data(net, optimizer, "cpu")
        by_data(net, optimizer, "cuda")
    now = [*net.parameters(), *net.buffers(), *(p.grad for p in net.parameters())]
    now += [t for state in optimizer.state.values() for t in state.values()]
    assert all(a is b for a, b in zip(now, tensors, strict=True))
    for value, other in zip(now, former, strict=True):
        torch.testing.assert_close(value.detach(), other, rtol=0, atol=0)
    train(net, optimizer, torch.randn(3, 4))


def test_a_vector_on_the_device_moves_parameters_there(seen: Seen) -> None:
    net = nn.Linear(3, 2)
    vector = torch.arange(8.0, device="cuda")
    nn.utils.vector_to_parameters(vector, net.parameters())
    assert net.weight.is_cuda and net.bias.tolist() == [6, 7]
    vector.zero_()  # Its memory is theirs.
    assert net.weight.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_memory_of_what_leaves_the_device_is_freed() -> None:
    with torchtraceap.dry_run():
        parameter = nn.Parameter(torch.ones(1024))
        parameter.data = parameter.data.cuda()
        assert torch.cuda.memory_allocated() == 4096
        parameter.data = parameter.data.cpu()
        assert torch.cuda.memory_allocated() == 0


def test_what_was_moved_is_not_kept_alive() -> None:
    with torchtraceap.dry_run():
        one = torch.ones(4)
        one.data = one.data.cuda()
        weak = weakref.ref(one)
        del one
        gc.collect()
        assert weak() is None and torch.cuda.memory_allocated() == 0


def test_hooks_stay(seen: Seen) -> None:
    calls: list[str] = []
    parameter = nn.Parameter(torch.ones(3))
    parameter.register_hook(lambda grad: calls.append("hook"))
    parameter.register_post_accumulate_grad_hook(lambda p: calls.append("after"))
    parameter.data = parameter.data.cuda()
    (parameter * 2).sum().backward()
    assert calls == ["hook", "after"]


def test_a_gradient_stays_where_it_is(seen: Seen) -> None:
    parameter = nn.Parameter(torch.ones(3))
    (parameter * 3).sum().backward()
    gradient = parameter.grad
    parameter.data = parameter.data.cuda()
    assert parameter.grad is gradient and gradient is not None
    assert not gradient.is_cuda
    (parameter * 3).sum().backward()
    with pytest.raises(RuntimeError, match="same device"):  # as CUDA's backward
        _ = parameter.grad
    parameter.grad = None
    (parameter * 3).sum().backward()
    assert parameter.grad.tolist() == [3, 3, 3]


def test_a_gradient_may_be_moved_first() -> None:
    with torchtraceap.dry_run():
        parameter = nn.Parameter(torch.ones(3))
        (parameter * 3).sum().backward()
        assert parameter.grad is not None
        gradient = parameter.grad
        parameter.grad.data = parameter.grad.data.cuda()
        parameter.data = parameter.data.cuda()
        (parameter * 3).sum().backward()
        assert parameter.grad is gradient and gradient.tolist() == [6, 6, 6]
    assert parameter.grad is gradient and gradient.tolist() == [3, 3, 3]


def test_a_gradient_that_was_moved_alone_is_back() -> None:
    parameter = nn.Parameter(torch.ones(3))
    (parameter * 3).sum().backward()
    gradient = parameter.grad
    assert gradient is not None
    with torchtraceap.dry_run():
        parameter.grad.data = parameter.grad.data.cuda()
        assert gradient.is_cuda and parameter.grad is gradient
    assert parameter.grad is gradient and gradient.tolist() == [3, 3, 3]


def test_what_cannot_be_moved_so_says_so() -> None:
    worked_out = torch.ones(3, requires_grad=True) * 2
    seen = torch.ones(3)
    view = seen[:2]
    with torchtraceap.dry_run():
        for tensor in (worked_out, seen):
            with pytest.raises(DryRunError, match=r"`\.data =` between"):
                tensor.data = tensor.data.cuda()
    assert view.device.type == "cpu"
