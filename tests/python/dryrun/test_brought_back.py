# SPDX-License-Identifier: BSD-3-Clause
"""After a dry run what a program's modules hold is what it was."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import nn

import torchtraceap
from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.device.moved_tensors import MovedTensors


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
        assert len(run.ops) == before  # `.data` is no operator.
        assert layer.weight.shape == (4,) and layer.weight.is_cuda
