# SPDX-License-Identifier: BSD-3-Clause
"""Recurrent layers run in a dry run as cuDNN's, with the results of a real run."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .shared_run import Seen

_LENGTHS = {"": None, "packed": [5, 3], "packed unsorted": [3, 5]}


def _recurrent(
    device: str, kind: Any, lengths: list[int] | None, **options: Any
) -> Any:
    """Return what a layer gives and its gradients."""
    torch.manual_seed(0)
    layer, data = kind(3, 4, **options).to(device), torch.randn(5, 2, 3).to(device)
    data.requires_grad_()
    given: Any = data
    if options.get("batch_first"):
        given = given.transpose(0, 1)
    if lengths:
        by_batch = options.get("batch_first", False)
        given = pack_padded_sequence(
            given,
            torch.tensor(lengths),
            by_batch,
            enforce_sorted=lengths[0] > lengths[1],
        )
    out, state = layer(given)
    if lengths:
        out, found = pad_packed_sequence(out)
        assert found.tolist() == lengths
    last = state[0] if isinstance(state, tuple) else state
    (out.square().sum() + last.sum()).backward()
    return [out, last, data.grad, *(weight.grad for weight in layer.parameters())]


@pytest.mark.parametrize("lengths", _LENGTHS.values(), ids=_LENGTHS)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
        (nn.LSTM, {"proj_size": 2, "bias": False, "batch_first": True}),
        (nn.GRU, {"num_layers": 2}),
        (nn.RNN, {"nonlinearity": "relu"}),
    ],
)
def test_all_steps_are_worked_out_in_one_operator(
    kind: Any, options: Any, lengths: list[int] | None, seen_all: Seen
) -> None:
    made = _recurrent("cuda", kind, lengths, **options)
    names = seen_all.names
    assert names.count("_cudnn_rnn") == names.count("_cudnn_rnn_backward") == 1
    found = [tensor.detach().cpu() for tensor in made]
    if lengths != _LENGTHS["packed unsorted"]:  # whose places a GPU works out
        made[0].sum().item()
        assert seen_all.syncs[-1].value == "known"
    with warnings.catch_warnings():  # of what is slow on a CPU
        warnings.simplefilter("ignore")
        expected = _recurrent("cpu", kind, lengths, **options)
    torch.testing.assert_close(found, [tensor.detach() for tensor in expected])


def test_what_drops_out_is_one_operator_too(seen: Seen) -> None:
    layer = nn.GRU(8, 16, 2, bias=False, dropout=0.1).to("cuda")
    x = torch.randn(5, 3, 8, device="cuda", requires_grad=True)
    since = seen.anew()
    out, state = layer(x)
    assert (out.shape, state.shape) == ((5, 3, 16), (2, 3, 16))
    out.sum().backward()
    assert x.grad is not None and x.grad.shape == x.shape
    assert since.names.count("_cudnn_rnn") == 1
    assert len([op for op in since.ops if not op.is_view]) < 12


def test_moving_to_the_device_flattens_the_weights(seen: Seen) -> None:
    layer = nn.LSTM(8, 16)
    before = [*layer.parameters()]
    layer.to("cuda")
    assert all(a is b for a, b in zip(before, layer.parameters(), strict=True))
    assert seen.names.count("copy_") == 4
    first = layer.weight_ih_l0.untyped_storage()._cdata
    assert {one.untyped_storage()._cdata for one in layer.parameters()} == {first}


def test_autocast_casts_weights_into_new_memory(seen: Seen) -> None:
    layer = nn.LSTM(8, 16).to("cuda")
    x = torch.randn(5, 3, 8, device="cuda")
    since = seen.anew()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out, _ = layer(x)
    # torch's autocast of cuDNN knows float16 only (AutocastRNN.cpp).
    assert out.dtype is torch.float16
    out.sum().backward()
    assert layer.weight_hh_l0.grad.dtype is torch.float32
    assert since.names.count("copy_") == 4
    casts = [op for op in since.ops if op.name == "aten::_to_copy"]
    assert [op.phase for op in casts] == ["forward"] * 3 + ["backward"] * 4


@pytest.mark.parametrize(("kind", "make"), [("lstm", nn.LSTMCell), ("gru", nn.GRUCell)])
def test_cells_have_a_fused_kernel(kind: str, make: Any, seen: Seen) -> None:
    cell = make(8, 16).to("cuda")
    found = cell(torch.randn(3, 8, device="cuda"))
    state = found[0] if kind == "lstm" else found
    assert state.shape == (3, 16)
    state.sum().backward()
    assert all(one.grad.shape == one.shape for one in cell.parameters())
    assert seen.names.count(f"_thnn_fused_{kind}_cell") == 1
    assert "sigmoid" not in seen.names


def test_inference_mode(seen: Seen) -> None:
    with torch.inference_mode():
        nn.LSTM(8, 16).to("cuda")(torch.randn(5, 3, 8, device="cuda"))
    assert seen.names.count("_cudnn_rnn") == 1
