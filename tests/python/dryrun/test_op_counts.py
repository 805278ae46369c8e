# SPDX-License-Identifier: BSD-3-Clause
"""A dry run makes the operators that a real run on the CPU makes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
import torch

import torchtraceap
from torchtraceap_dryrun.record import Op

from .real_ops import Real, RealOps
from .small_models import Cnn, Transformer, batch, train_step

# Views and memory without content: no kernel, and which of them are made differs.
_IDLE = {"view", "t", "transpose", "expand", "detach", "alias", "permute", "select"}
_IDLE |= {"slice", "unsqueeze", "squeeze", "_unsafe_view", "_reshape_alias", "unbind"}
_IDLE |= {"empty", "empty_like", "new_empty", "empty_strided", "lift_fresh"}
_IDLE |= {f"profiler::_record_function_{what}" for what in ("enter_new", "exit")}
# Under another name on the device, with the same kernels.
_NAMED = {"_native_batch_norm_legit": "native_batch_norm"}


@cache
def _dry(model: type[torch.nn.Module], **options: Any) -> list[Op]:
    with torchtraceap.dry_run() as run:
        net = model().to("cuda")
        optimizer = torch.optim.AdamW(net.parameters(), **options)
        for _ in range(2):
            data = [t.to("cuda") for t in batch(net)]
            run.step()
            train_step(net, optimizer, *data)
        run.step()
    return [op for op in run.ops if op.step == 2 and not op.is_view]


def _real(model: type[torch.nn.Module], **options: Any) -> list[Real]:
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
    ops, real = _dry(model, foreach=True), _real(model, foreach=True)
    assert _counts(ops, "backward") == _counts(real, "backward")
    forward, expected = _counts(ops, "forward", "optimizer"), _counts(real, "forward")
    # The optimizer's step counters stay on the host, and are no work of a GPU.
    counters = expected - forward
    assert set(counters) <= {"_local_scalar_dense", "_foreach_add_", "add_"}, counters
    assert not forward - expected


@pytest.mark.parametrize("model", [Cnn, Transformer])
def test_every_backward_operator_is_at_the_line_of_its_forward_one(model: Any) -> None:
    ops = [op for op in _dry(model) if op.phase == "backward"]
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
    ops = _dry(Transformer)
    parts = [key for key, _ in itertools.groupby(op.phase for op in ops)]
    assert parts == ["forward", "backward", "optimizer"]
    modules = {op.module for op in ops}
    assert {"Transformer.layers.0.qkv", "Transformer.layers.1", "Transformer.head"} <= (
        modules
    )
    assert {op.module for op in ops if op.phase == "optimizer"} == {"AdamW"}
