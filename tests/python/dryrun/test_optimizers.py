# SPDX-License-Identifier: BSD-3-Clause
"""Operators of training steps, those of optimizers too, are those of a real run.

A GPU takes many tensors at once (``foreach``) by default; the CPU does on request, so a
real run on it gives the expected result.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

import torchtraceap
from torchtraceap_dryrun.record import Op

from .real_ops import Real, RealOps
from .shared_run import Seen
from .small_models import Cnn, Transformer, batch, train_step

PROFILER = {f"profiler::_record_function_{what}" for what in ("enter_new", "exit")}
# On the host: counters of steps. They are not work of a GPU.
HOST = {"_local_scalar_dense", "lift_fresh"} | PROFILER


def _real(kind: str, options: dict[str, Any]) -> Counter[str]:
    """Return the operators of a real run, but those on counters of steps on the host.

    Fused optimizers have them on the device.
    """
    with RealOps() as real:
        _train("cpu", kind, options, real.ops.clear)

    def on_counter(op: Real) -> bool:
        first = op.args[0] if op.args else None
        first = first[0] if isinstance(first, list) and first else first
        counter = isinstance(first, torch.Tensor) and first.shape == ()
        return counter and op.name in ("_foreach_add_", "_foreach_mul_", "add_")

    ops = real.ops if "fused" in options else [o for o in real.ops if not on_counter(o)]
    return Counter(op.name for op in ops if op.name not in HOST)


def _train(device: str, kind: str, options: dict[str, Any], begin: Any) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=0.01, **options)
    x = torch.randn(3, 4, device=device)

    for step in range(3):
        if step == 1:
            begin()
        optimizer.zero_grad()
        net(x).square().mean().backward()
        foreach = {"foreach": True} if device == "cpu" else {}
        nn.utils.clip_grad_norm_(net.parameters(), 1.0, **foreach)
        optimizer.step()


def _dry(kind: str, options: dict[str, Any], seen: Seen) -> tuple[Counter[str], Any]:
    begun: list[Seen] = []
    _train("cuda", kind, options, lambda: begun.append(seen.anew()))
    return Counter(begun[0].names), begun[0].syncs


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("SGD", {}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"fused": True}),
        ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
        ("Adam", {"fused": True}),
        ("Adam", {"foreach": False}),
        ("AdamW", {}),
        ("AdamW", {"fused": True}),
        ("NAdam", {}),
        ("RAdam", {}),
        ("Adagrad", {}),
        # Before 2.12 for a CPU only.
        *([("Adagrad", {"fused": True})] if torch.__version__ >= (2, 12) else []),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("Adadelta", {}),
        ("Adamax", {}),
    ],
)
def test_operators_are_those_of_a_real_run(
    kind: str, options: dict[str, Any], seen: Seen
) -> None:
    told = options if {"fused", "foreach"} & set(options) else {"foreach": True}
    found, syncs = _dry(kind, options, seen)
    assert found == _real(kind, {**options, **told})
    assert not syncs
    if "foreach" not in told:
        assert found[f"_fused_{kind.lower()}_"] == 2
    # Clipping: one operator for all norms, one for all factors.
    assert found["_foreach_norm"] == 2
    assert found["linalg_vector_norm"] == 2


# --- What is theirs in a run, and what they are afterwards ----------------------------


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
        net(torch.ones(2, 4, device="cuda")).sum().backward()
        optimizer.step()
    assert optimizer.param_groups[0]["lr"].device.type == "cpu"
    assert optimizer.param_groups[0]["lr"].item() == pytest.approx(0.1)


def test_what_an_optimizer_did_on_the_host_stays() -> None:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(net.parameters())
    with torchtraceap.dry_run():
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
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


# --- Whole steps ----------------------------------------------------------------------

# Views and memory without content: no kernel, and which of them are made differs.
_IDLE = {"view", "t", "transpose", "expand", "detach", "alias", "permute", "select"}
_IDLE |= {"slice", "unsqueeze", "squeeze", "_unsafe_view", "_reshape_alias", "unbind"}
_IDLE |= {"empty", "empty_like", "new_empty", "empty_strided", "lift_fresh"} | PROFILER
# Under another name on the device, with the same kernels.
_NAMED = {"_native_batch_norm_legit": "native_batch_norm"}


@cache
def _dry_steps(model: type[torch.nn.Module], **options: Any) -> list[Op]:
    with torchtraceap.dry_run() as run:
        net = model().to("cuda")
        optimizer = torch.optim.AdamW(net.parameters(), **options)
        for _ in range(2):
            data = [t.to("cuda") for t in batch(net)]
            run.step()
            train_step(net, optimizer, *data)
        run.step()
    return [op for op in run.ops if op.step == 2 and not op.is_view]


def _real_steps(model: type[torch.nn.Module], **options: Any) -> list[Real]:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), **options)
    train_step(net, optimizer, *batch(net))
    data = batch(net)
    with RealOps() as real:
        train_step(net, optimizer, *data)
    return real.ops


def _counts(ops: Iterable[Op | Real], *phases: str) -> Counter[str]:
    names = (op.name.removeprefix("aten::") for op in ops if op.phase in phases)
    return Counter(_NAMED.get(name, name) for name in names if name not in _IDLE)


@pytest.mark.parametrize("model", [Cnn, Transformer])
def test_forward_and_backward_are_those_of_a_run_on_the_cpu(model: Any) -> None:
    ops, real = _dry_steps(model, foreach=True), _real_steps(model, foreach=True)
    assert _counts(ops, "backward") == _counts(real, "backward")
    forward, expected = _counts(ops, "forward", "optimizer"), _counts(real, "forward")
    # The optimizer's step counters stay on the host, and are not work of a GPU.
    counters = expected - forward
    assert set(counters) <= {"_local_scalar_dense", "_foreach_add_", "add_"}, counters
    assert not forward - expected


@pytest.mark.parametrize("model", [Cnn, Transformer])
def test_every_backward_operator_is_at_the_line_of_its_forward_one(model: Any) -> None:
    ops = [op for op in _dry_steps(model) if op.phase == "backward"]
    assert len(ops) > 10
    for op in ops:
        assert op.caller is not None and op.caller.function == "train_step"
        assert op.line is not None
        if op.forward is None:  # the accumulation of gradients
            continue
        inside = op.line.function in ("forward", "train_step")
        assert inside, (op.name, op.line)
    assert sum(op.forward is not None for op in ops) >= 0.9 * len(ops)


def test_parts_of_a_step_are_told_apart() -> None:
    ops = _dry_steps(Transformer)
    parts = [key for key, _ in itertools.groupby(op.phase for op in ops)]
    assert parts == ["forward", "backward", "optimizer"]
    modules = {op.module for op in ops}
    assert {"Transformer.layers.0.qkv", "Transformer.layers.1", "Transformer.head"} <= (
        modules
    )
    assert {op.module for op in ops if op.phase == "optimizer"} == {"AdamW"}
