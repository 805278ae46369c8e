# SPDX-License-Identifier: BSD-3-Clause
"""Libraries that run training and generation for others, in a dry run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import torchtraceap

ITEM = "aten::_local_scalar_dense"


def _gpt2(**options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64,
        eos_token_id=99, bos_token_id=99, **options,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def test_gpt2_is_trained_in_half_precision() -> None:
    with torchtraceap.dry_run() as run:
        net = _gpt2().to("cuda")
        assert net.lm_head.weight is net.transformer.wte.weight
        optimizer = torch.optim.AdamW(net.parameters())
        scaler = torch.amp.GradScaler("cuda")
        words = torch.randint(0, 100, (2, 16), device="cuda")
        for _ in range(3):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = net(input_ids=words, labels=words).loss
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            run.step()
    assert [sync.api for sync in run.syncs if sync.step == 2] == [ITEM]
    names = Counter(op.name for op in run.ops if op.step == 2)
    assert names["aten::_scaled_dot_product_flash_attention"] == 2


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
