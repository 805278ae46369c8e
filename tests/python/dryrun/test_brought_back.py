# SPDX-License-Identifier: BSD-3-Clause
"""After a dry run what a program's modules hold is what it was."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.moved_tensors import MovedTensors

from .shared_run import Seen


def test_modules_that_were_moved_are_back_on_the_host_as_they_were() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    net.requires_grad_(True)[0].bias.requires_grad_(False)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    weight = net[0].weight
    optimizer = torch.optim.SGD(net.parameters(), lr=1)
    with pytest.raises(ZeroDivisionError), torchtraceap.dry_run():
        net.cuda().half().cpu()
        net.float().cuda()
        net(torch.ones(4, 3, device="cuda")).sum().backward()
        optimizer.step()
        assert net[0].weight is weight and weight.is_cuda
        1 / 0  # noqa: B018
    assert net[0].weight is weight
    assert not net[0].bias.requires_grad
    after = net.state_dict()
    assert before.keys() == after.keys()
    for name, value in after.items():
        assert torch.equal(value, before[name]), name
    net(torch.randn(4, 3)).pow(4).sum().backward()
    optimizer.step()
    assert not torch.equal(weight, before["0.weight"])


def test_views_weak_references_and_live_graphs_hinder_nothing() -> None:
    net = nn.Linear(4, 4)
    former = net.weight.detach().clone()
    view, weak = net.weight.view(-1), weakref.ref(net.weight)
    loss = net(torch.ones(2, 4)).sum()
    with torchtraceap.dry_run():
        net.cuda()
        inside = net.weight.view(-1)
        held = net(torch.ones(2, 4, device="cuda")).sum()
    assert weak() is net.weight
    assert torch.equal(net.weight, former) and torch.equal(view, former.view(-1))
    with torch.no_grad():
        net.weight.zero_()
    assert not view.any()
    del inside, held
    loss.backward()
    assert net.weight.grad is not None and net.weight.grad.eq(2).all()


def test_what_cannot_be_swapped_is_another_parameter_and_said() -> None:
    net, other = nn.Linear(4, 4), nn.Linear(4, 4)
    former = net.weight.detach().clone()
    moved = net.weight
    with (
        pytest.warns(UserWarning, match=r"Linear\.weight is a new parameter"),
        torchtraceap.dry_run(),
    ):
        net.cuda()
        other.cuda()
        weak = torch._C._WeakTensorRef(net.weight)
    assert net.weight is not moved and isinstance(net.weight, nn.Parameter)
    assert torch.equal(net.weight, former) and other.weight.device.type == "cpu"
    assert net.bias.device.type == "cpu"
    del weak


def test_a_model_that_a_profiler_still_knows_is_moved_and_back() -> None:
    net = nn.Linear(4, 4)
    former = net.weight
    weak = torch._C._WeakTensorRef(former)
    with torchtraceap.dry_run() as run:
        net.cuda()
        assert net.weight.is_cuda and isinstance(net.weight, nn.Parameter)
        net(torch.ones(2, 4, device="cuda")).sum().backward()
    assert net.weight is former and former.grad is None
    assert former.device.type == net.bias.device.type == "cpu"
    assert any("got new parameters" in note for note in run.notes)
    del weak


def test_an_interruption_leaves_nothing_on_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    former = {name: value.clone() for name, value in net.state_dict().items()}
    back, times = MovedTensors.bring_back, 0

    def interrupted(*args: Any) -> None:
        nonlocal times
        times += 1
        if times == 2:
            raise KeyboardInterrupt
        back(*args)

    monkeypatch.setattr(MovedTensors, "bring_back", interrupted)
    with pytest.raises(KeyboardInterrupt), torchtraceap.dry_run():
        net.cuda()
    for name, value in net.state_dict().items():
        torch.testing.assert_close(value, former[name], rtol=0, atol=0)


def test_a_parameter_keeps_what_hangs_on_it() -> None:
    class Marked(nn.Parameter):  # type: ignore[misc]
        pass

    net = nn.Linear(4, 4)
    net.weight = Marked(net.weight.detach())
    net.weight._no_weight_decay = True
    calls: list[str] = []
    net.weight.register_hook(lambda grad: calls.append("hook"))
    net.weight.register_post_accumulate_grad_hook(lambda p: calls.append("after"))
    net(torch.ones(2, 4)).sum().backward()
    gradient = net.weight.grad
    assert gradient is not None
    former = gradient.clone()
    calls.clear()
    for _ in range(2):
        with torchtraceap.dry_run():
            net.cuda()
            assert type(net.weight) is Marked and net.weight._no_weight_decay
            assert net.weight.grad is not None and net.weight.grad.is_cuda
            net(torch.ones(2, 4, device="cuda")).sum().backward()
            assert calls == ["hook", "after"]
            net.half()
            net.zero_grad()
        assert type(net.weight) is Marked and net.weight._no_weight_decay
        assert net.weight.grad is gradient and torch.equal(gradient, former)
        calls.clear()
    net(torch.ones(2, 4)).sum().backward()
    assert calls == ["hook", "after"] and torch.equal(gradient, 2 * former)


def test_a_gradient_of_before_is_freed_in_the_run_and_back_after_it() -> None:
    net = nn.Linear(4, 4)
    net(torch.ones(2, 4)).sum().backward()
    with torchtraceap.dry_run():
        net.cuda()
        before = torch.cuda.memory_allocated()
        net.zero_grad()
        gc.collect()
        assert torch.cuda.memory_allocated() < before
    assert net.weight.grad is not None and net.weight.grad.eq(2).all()


def test_recurrent_layers_run_afterwards() -> None:
    net = nn.LSTM(4, 4)
    expected = net(torch.ones(2, 4))[0]
    with warnings.catch_warnings(), torchtraceap.dry_run():
        net.cuda()(torch.ones(2, 4, device="cuda"))
    assert torch.equal(net(torch.ones(2, 4))[0], expected)


@pytest.mark.parametrize("way", ["swap_module_params", "overwrite_module_params"])
def test_however_modules_are_told_to_move(way: str) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    former = [*net.parameters(), *net.buffers()]
    values = [one.detach().clone() for one in former]
    tell = getattr(torch.__future__, f"set_{way}_on_conversion")
    tell(True)
    try:
        with torchtraceap.dry_run():
            net.cuda()
            assert net[0].weight.is_cuda
            assert (net[0].weight is former[0]) == way.startswith("swap")
            net(torch.ones(2, 4, device="cuda")).sum().backward()
            assert getattr(torch.__future__, f"get_{way}_on_conversion")()
    finally:
        tell(False)
    now = [*net.parameters(), *net.buffers()]
    assert all(a is b for a, b in zip(now, former, strict=True))
    assert all(torch.equal(a, b) for a, b in zip(now, values, strict=True))


def test_data_is_assigned_on_one_side_only() -> None:
    layer = nn.Linear(4, 4)
    with torchtraceap.dry_run() as run:
        for tensor in (layer.weight, torch.ones(4)):
            with pytest.raises(DryRunError, match=r"model\.to\(\"cuda\"\)"):
                tensor.data = tensor.data.cuda()
        layer.cuda()
        with pytest.raises(TypeError):
            layer.weight.data = 3  # type: ignore[assignment]
        host = torch.ones(4)
        host.data = torch.zeros(2)
        assert host.tolist() == [0, 0]
        before = len(run.ops)
        layer.weight.data = layer.bias.data
        assert len(run.ops) == before  # `.data` is not an operator.
        assert layer.weight.shape == (4,) and layer.weight.is_cuda


# --- Modules that learn their shapes in their first call ------------------------------


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
