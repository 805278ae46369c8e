# SPDX-License-Identifier: BSD-3-Clause
"""What programs do beside forward, backward and a step, in a dry run."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint

import torchtraceap

from .real_ops import RealOps
from .shared_run import Seen


class Asks(nn.Module):
    """A layer that looks where its input is."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.layer, self.device = nn.Linear(4, 4), device

    def forward(self, x: Tensor) -> Tensor:
        assert x.device.type == self.device
        assert x.is_cuda == (self.device == "cuda")
        return self.layer(x).relu() + torch.ones(4, device=x.device)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_runs_forward_again(reentrant: bool, seen: Seen) -> None:
    def step(device: str) -> None:
        net = nn.Sequential(Asks(device), nn.Dropout(0.5), Asks(device)).to(device)
        x = torch.randn(2, 4, device=device, requires_grad=True)
        checkpoint(net, x, use_reentrant=reentrant).sum().backward()

    with RealOps() as real:
        step("cpu")
    step("cuda")
    for name in ("addmm", "mm", "relu", "threshold_backward"):
        assert seen.names.count(name) == real.names.count(name) > 0
    again = [op for op in seen.ops if op.name == "aten::addmm"]
    assert Counter(op.phase for op in again) == {"forward": 2, "backward": 2}


def test_saved_tensors_on_the_host(seen: Seen) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("cuda")
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = net(torch.randn(2, 4, device="cuda")).sum()
    before = len(seen.syncs)
    loss.backward()
    copies = [op.copy for op in seen.ops if op.copy is not None]
    assert any(one.direction == "d2h" and one.pinned for one in copies)
    assert not seen.syncs[before:]


def test_modules_move_and_stay_themselves(seen: Seen) -> None:
    words, head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
    head.weight = words.weight
    net = nn.Sequential(words, head)
    weight = words.weight
    assert net.to("cuda")[0].weight is net[1].weight is weight
    for dtype in (torch.half, torch.bfloat16, torch.float32):
        net.to(dtype)
        assert weight.dtype is dtype
        assert weight.is_cuda
    other = copy.deepcopy(net)
    assert other[0].weight is other[1].weight is not weight
    assert other[0].weight.is_cuda
    assert not net.cpu()[0].weight.is_cuda


def test_averages_of_weights(seen: Seen) -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to("cuda")
    average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    before = len(seen.ops)
    average.update_parameters(net)
    average.update_parameters(net)
    names = [op.name for op in seen.ops[before:]]
    assert names.count("aten::_foreach_lerp_") == 1
    assert names.count("aten::lerp_") == 0


@pytest.mark.parametrize("change", [weight_norm, spectral_norm])
def test_parametrizations(change: Any, seen: Seen) -> None:
    net = change(nn.Linear(3, 3)).to("cuda")
    net(torch.randn(2, 3, device="cuda")).sum().backward()
    assert all(one.grad.is_cuda for one in net.parameters() if one.requires_grad)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_programs_run_as_written() -> None:
    before = torch.compile(nn.Linear(4, 4), mode="max-autotune")

    with torchtraceap.dry_run() as run:
        after = torch.compile(nn.Linear(4, 4).to("cuda"), fullgraph=True, dynamic=True)
        x = torch.randn(2, 4, device="cuda")
        assert not run.record.notes
        after(before.to("cuda")(x)).sum().backward()
        assert after._orig_mod.weight.grad is not None

        @torch.compile
        def activated(x: Tensor) -> Tensor:
            return x.sin().cos()

        activated(x)
        layer = nn.Linear(4, 4).to("cuda")
        layer.compile()
        layer(x)
        names = Counter(op.name for op in run.ops)
    assert names["aten::addmm"] == 3
    assert names["aten::sin"] == names["aten::cos"] == 1
    assert len(run.record.notes) == 1
    assert "torch.compile was bypassed" in run.record.notes[0]


def test_operators_that_are_one_on_a_gpu(seen: Seen) -> None:
    half = torch.randn(4, 8, device="cuda", dtype=torch.half)
    norm = nn.RMSNorm(8).to("cuda")
    x = torch.randn(4, 8, device="cuda", requires_grad=True)

    def names(call: Any) -> list[str]:
        before = len(seen.ops)
        call()
        ops = [op for op in seen.ops[before:] if not op.is_view]
        return [op.name.removeprefix("aten::") for op in ops]

    soft = names(lambda: half.softmax(-1, dtype=torch.float32))
    assert soft == ["_softmax"]
    drop = names(lambda: nn.functional.dropout(x, 0.1).sum().backward())
    assert drop.count("native_dropout") == 1
    assert drop.count("native_dropout_backward") == 1
    assert "bernoulli_" not in drop
    assert not names(lambda: nn.functional.dropout(x, 0.1, training=False))
    rms = names(lambda: norm(x).sum().backward())
    assert rms.count("_fused_rms_norm") == 1
    assert rms.count("_fused_rms_norm_backward") == 1
    assert "rsqrt" not in rms
    assert norm.weight.grad.shape == (8,)
    with torch.inference_mode():
        assert names(lambda: nn.functional.dropout(x, 0.1)) == ["native_dropout"]
        assert names(lambda: norm(x)) == ["_fused_rms_norm"]
