# SPDX-License-Identifier: BSD-3-Clause
"""What programs, and libraries for them, do beside forward, backward and a step."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

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


# --- Libraries that run training and generation for others ----------------------------


ITEM = "aten::_local_scalar_dense"


def _gpt2(**options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64,
        eos_token_id=99, bos_token_id=99, **options,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def test_gpt2_generates() -> None:
    with torchtraceap.dry_run() as run:
        net = _gpt2().to("cuda").eval()
        words = torch.randint(0, 99, (1, 4), device="cuda")
        before = len(run.syncs)
        out = net.generate(
            words, max_new_tokens=6, do_sample=True, pad_token_id=99, min_new_tokens=6
        )
        assert out.shape == (1, 10)
    waits = Counter(sync.api for sync in run.syncs[before:])
    # At least one for each word: is it the end?
    assert waits[ITEM] >= 6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_accelerate(precision: str) -> None:
    accelerate = pytest.importorskip("accelerate")
    state = pytest.importorskip("accelerate.state")
    state.AcceleratorState._reset_state(True)
    data = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
    try:
        with torchtraceap.dry_run() as run:
            accelerator = accelerate.Accelerator(
                mixed_precision=precision, gradient_accumulation_steps=2
            )
            assert accelerator.device.type == "cuda"
            net = nn.Linear(4, 2)
            optimizer = torch.optim.AdamW(net.parameters())
            loader = DataLoader(data, batch_size=2, pin_memory=True)
            net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
            before = len(run.syncs)
            for x, y in loader:
                with accelerator.accumulate(net):
                    accelerator.backward(F.cross_entropy(net(x), y))
                    optimizer.step()
                    optimizer.zero_grad()
        waits = Counter(sync.api for sync in run.syncs[before:])
        # The scaler of fp16 reads one value for each of two steps.
        assert waits[ITEM] == (2 if precision == "fp16" else 0)
        assert any(op.name == "aten::addmm" for op in run.ops)
        halves = {op.outputs[0].dtype for op in run.ops if op.name == "aten::addmm"}
        assert halves == {"bfloat16" if precision == "bf16" else "float16"}
    finally:
        state.AcceleratorState._reset_state(True)


@pytest.mark.filterwarnings("ignore")
def test_lightning(tmp_path: Any) -> None:
    lightning = pytest.importorskip("lightning")

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def training_step(self, batch: Any, _: int) -> Any:
            x, y = batch
            assert x.is_cuda
            return F.cross_entropy(self.layer(x), y)

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters())

    data = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
    with torchtraceap.dry_run() as run:
        trainer = lightning.Trainer(
            accelerator="cuda", devices=1, max_epochs=1, logger=False,
            enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip
        trainer.fit(Module(), DataLoader(data, batch_size=4))
    names = Counter(op.name for op in run.ops)
    assert names["aten::addmm"] == 2
    assert names["aten::_foreach_lerp_"] == 2
