# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers run in a dry run as cuDNN's, with the shapes of a real run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import torchtraceap

LAYERS = [
    lambda: nn.LSTM(8, 16, 2),
    lambda: nn.LSTM(8, 16, batch_first=True, bidirectional=True, proj_size=4),
    lambda: nn.GRU(8, 16, 2, bias=False, dropout=0.1),
    lambda: nn.RNN(8, 16, nonlinearity="relu"),
    lambda: nn.RNN(8, 16),
]


def _shapes(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return [_shapes(one) for one in value]


def _named(ops: Any, name: str) -> int:
    return sum(op.name == f"aten::{name}" for op in ops)


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("make", LAYERS)
def test_all_steps_in_one_operator(make: Any) -> None:
    real = make()(torch.randn(5, 3, 8))
    with torchtraceap.dry_run() as run:
        layer = make().to("cuda")
        x = torch.randn(5, 3, 8, device="cuda", requires_grad=True)
        before = len(run.ops)
        found = layer(x)
        assert _shapes(found) == _shapes(real)
        found[0].sum().backward()
        assert x.grad.shape == x.shape
        assert all(one.grad.shape == one.shape for one in layer.parameters())
    ops = [op for op in run.ops[before:] if not op.is_view]
    assert _named(ops, "_cudnn_rnn") == _named(ops, "_cudnn_rnn_backward") == 1
    assert len(ops) < 12


def test_moving_to_the_device_flattens_the_weights() -> None:
    with torchtraceap.dry_run() as run:
        layer = nn.LSTM(8, 16)
        before = [*layer.parameters()]
        layer.to("cuda")
        assert all(a is b for a, b in zip(before, layer.parameters(), strict=True))
        copies = [op for op in run.ops if op.name == "aten::copy_"]
        first = layer.weight_ih_l0.untyped_storage()._cdata
        assert {one.untyped_storage()._cdata for one in layer.parameters()} == {first}
    assert len(copies) == 4


@pytest.mark.parametrize("sort", [True, False])
def test_packed_sequences(sort: bool) -> None:
    lengths = torch.tensor([3, 2, 1] if sort else [2, 3, 1])

    def go(device: str) -> Any:
        layer = nn.GRU(8, 16, batch_first=True).to(device)
        data = torch.randn(3, 4, 8, device=device)
        packed = pack_padded_sequence(data, lengths, True, enforce_sorted=sort)
        out, state = layer(packed)
        return (*pad_packed_sequence(out, batch_first=True), state)

    real = go("cpu")
    with torchtraceap.dry_run() as run:
        found = go("cuda")
        assert _shapes(found) == _shapes(real)
        assert torch.equal(found[1], lengths)
    waits = [s.api for s in run.syncs if "pack" in _source(s)]
    assert waits == ([] if sort else ["Tensor.cuda", "Tensor.cpu"])
    assert _named(run.ops, "_cudnn_rnn") == 1


def _source(sync: Any) -> str:
    with open(sync.line.file, encoding="utf-8") as file:
        return file.readlines()[sync.line.line - 1]


def test_autocast_casts_weights_into_new_memory() -> None:
    with torchtraceap.dry_run() as run:
        layer = nn.LSTM(8, 16).to("cuda")
        x = torch.randn(5, 3, 8, device="cuda")
        before = len(run.ops)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out, _ = layer(x)
        # torch's autocast of cuDNN knows float16 only (AutocastRNN.cpp).
        assert out.dtype is torch.float16
        out.sum().backward()
        assert layer.weight_hh_l0.grad.dtype is torch.float32
    ops = run.ops[before:]
    assert _named(ops, "copy_") == 4
    casts = [op for op in ops if op.name == "aten::_to_copy"]
    assert [op.phase for op in casts] == ["forward"] * 3 + ["backward"] * 4


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_cells_have_a_fused_kernel(kind: str) -> None:
    make = {"lstm": nn.LSTMCell, "gru": nn.GRUCell}[kind]
    real = make(8, 16)(torch.randn(3, 8))
    with torchtraceap.dry_run() as run:
        cell = make(8, 16).to("cuda")
        found = cell(torch.randn(3, 8, device="cuda"))
        assert _shapes(found) == _shapes(real)
        (found[0] if kind == "lstm" else found).sum().backward()
        assert all(one.grad.shape == one.shape for one in cell.parameters())
    assert _named(run.ops, f"_thnn_fused_{kind}_cell") == 1
    assert _named(run.ops, "sigmoid") == 0


def test_inference_mode() -> None:
    with torchtraceap.dry_run() as run, torch.inference_mode():
        nn.LSTM(8, 16).to("cuda")(torch.randn(5, 3, 8, device="cuda"))
    assert _named(run.ops, "_cudnn_rnn") == 1


def test_layers_come_back_from_the_device() -> None:
    layer = nn.LSTM(8, 16)
    x = torch.randn(5, 3, 8)
    before = layer(x)[0].detach()
    with torchtraceap.dry_run():
        layer.to("cuda")
    assert torch.equal(layer(x)[0], before)
