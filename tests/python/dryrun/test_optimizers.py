# SPDX-License-Identifier: BSD-3-Clause
"""Optimizers and gradient clipping make the operators that they make on a GPU.

A GPU takes many tensors at once (``foreach``) by default; the CPU does if told to, so a
real run on it says what is expected.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn

from .real_ops import Real, RealOps
from .shared_run import Seen

# On the host: counters of steps. They are no work of a GPU.
HOST = {"_local_scalar_dense", "lift_fresh"}
HOST |= {f"profiler::_record_function_{what}" for what in ("enter_new", "exit")}


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

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss

    for step in range(3):
        if step == 1:
            begin()
        if kind == "LBFGS":
            optimizer.step(closure)
        else:
            closure()
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


def test_capturable_keeps_its_counters_on_the_device(seen: Seen) -> None:
    found, syncs = _dry("Adam", {"capturable": True}, seen)
    assert not syncs
    assert found["_foreach_add_"] >= 2  # of the counters
    assert found["_foreach_pow"] == 4  # of both betas, on the device


def test_lbfgs_waits(seen: Seen) -> None:
    found, syncs = _dry("LBFGS", {"max_iter": 2}, seen)
    assert {sync.api for sync in syncs} == {"aten::_local_scalar_dense"}
    assert found["mm"] == _real("LBFGS", {"max_iter": 2})["mm"]


def test_parameters_moved_after_the_optimizer_was_made(seen: Seen) -> None:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(net.parameters())
    net.to("cuda")
    net(torch.randn(2, 4, device="cuda")).sum().backward()
    optimizer.step()
    assert all(one.is_cuda for one in optimizer.param_groups[0]["params"])
    assert "_foreach_lerp_" in seen.names
