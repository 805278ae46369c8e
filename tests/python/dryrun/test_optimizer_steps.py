# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers in a dry run: what is theirs in it, and what they are afterwards."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torchtraceap

from .shared_run import Seen


def _train(net: nn.Module, optimizer: torch.optim.Optimizer, device: str) -> None:
    net(torch.ones(2, 4, device=device)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


KINDS = {"SGD": {"momentum": 0.9}, "AdamW": {}, "LBFGS": {"max_iter": 2}}


class Trained:
    """A layer and what trains it, the same each time that it is made."""

    def __init__(self, kind: str) -> None:
        torch.manual_seed(0)
        self.net = nn.Linear(4, 4)
        options = {"lr": 0.1, **KINDS[kind]}
        self.optimizer = getattr(torch.optim, kind)(self.net.parameters(), **options)

    def step(self, device: str = "cpu") -> None:
        def closure() -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = self.net(torch.ones(2, 4, device=device)).square().mean()
            loss.backward()
            return loss

        self.optimizer.step(closure)


@pytest.mark.parametrize("steps_before", [0, 1])
def test_an_optimizer_made_before_goes_on(steps_before: int) -> None:
    pairs = [(Trained(kind), Trained(kind)) for kind in KINDS]
    for one in (one for pair in pairs for one in pair):
        for _ in range(steps_before):
            one.step()
    with torchtraceap.dry_run():
        for dry, _ in pairs:
            dry.net.cuda()
            dry.optimizer.load_state_dict(dry.optimizer.state_dict())
            dry.step("cuda")
    for dry, other in pairs:
        dry.step()
        other.step()
        state = dry.net.state_dict(), other.net.state_dict()
        torch.testing.assert_close(*state, rtol=0, atol=0)


def test_a_rate_that_is_a_tensor_is_on_the_host_again() -> None:
    net = nn.Linear(4, 4)
    rate = torch.tensor(0.1)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, capturable=True)
    with torchtraceap.dry_run():
        net.cuda()
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.param_groups[0]["lr"] = rate.cuda()
        _train(net, optimizer, "cuda")
    assert optimizer.param_groups[0]["lr"].device.type == "cpu"
    assert optimizer.param_groups[0]["lr"].item() == pytest.approx(0.1)


def test_what_an_optimizer_did_on_the_host_stays() -> None:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(net.parameters())
    with torchtraceap.dry_run():
        _train(net, optimizer, "cpu")
    assert optimizer.state[net.weight]["step"] == 1


def test_a_step_that_raises_is_over(seen: Seen) -> None:
    def closure() -> torch.Tensor:
        raise ValueError

    net = nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with pytest.raises(ValueError):
        optimizer.step(closure)
    optimizer.register_step_pre_hook(lambda *_: closure())
    with pytest.raises(ValueError):
        optimizer.step()
    since = len(seen.ops)
    net(torch.ones(2, 4, device="cuda")).sum().item()
    assert {op.phase for op in seen.ops[since:]} == {"forward"}
    assert "Linear" in {op.module for op in seen.ops[since:]}
    assert seen.syncs[-1].phase == "forward"


def test_a_closure_and_its_modules_are_not_the_optimizers(seen: Seen) -> None:
    trained = Trained("LBFGS")
    trained.net.cuda()
    trained.step("cuda")
    trained.net(torch.ones(2, 4, device="cuda"))
    of = {
        op.name: {(o.phase, o.module) for o in seen.ops if o.name == op.name}
        for op in seen.ops
    }
    assert of["aten::addmm"] == {("forward", "Linear")}
    assert of["aten::mean"] == {("forward", "")}
    assert ("backward", "Linear") in of["aten::mm"]
    assert not any(op.phase == "backward" and op.module == "LBFGS" for op in seen.ops)
    assert of["aten::dot"] == {("optimizer", "LBFGS")}
