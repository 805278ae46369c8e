# SPDX-License-Identifier: BSD-3-Clause
"""Attention, recurrent layers: the kernels that torch would choose on that GPU.

What is expected is what torch's sdp_utils.cpp asks for, its documentation, and, of
values, a real run on the CPU.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import torchtraceap
from torchtraceap.base.errors import DryRunError

from .shared_run import Seen

FLASH = "_scaled_dot_product_flash_attention"
EFFICIENT = "_scaled_dot_product_efficient_attention"
CUDNN = "_scaled_dot_product_cudnn_attention"
MATH = "_safe_softmax"  # the one operator of its own that the plain way has
KERNELS = {FLASH, EFFICIENT, CUDNN, MATH}
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


def _attend(
    seen: Seen, dtype: torch.dtype, width: int = 64, mask: Any = None,
    key_length: int = 16, key_heads: int = 4, grad: bool = False, **options: Any,
) -> list[str]:  # fmt: skip
    query = torch.randn(2, 4, 16, width, device="cuda", dtype=dtype)
    key = torch.randn(2, key_heads, key_length, width, device="cuda", dtype=dtype)
    query.requires_grad_(grad)
    if mask is not None:
        mask = mask.to("cuda")
    since = seen.anew()
    out = F.scaled_dot_product_attention(query, key, key, mask, **options)
    assert out.shape == query.shape
    assert out.dtype is query.dtype
    assert out.is_cuda
    if grad:
        out.sum().backward()
        assert query.grad.shape == query.shape
    return since.names


MASK = torch.ones(16, 16, dtype=torch.bool)


@pytest.mark.parametrize(
    ("expected", "case"),
    [
        (FLASH, {"dtype": BF16}),
        (FLASH, {"dtype": F16, "is_causal": True, "width": 256}),
        (FLASH, {"dtype": F16, "width": 60}),
        (FLASH, {"dtype": BF16, "key_heads": 2, "enable_gqa": True}),
        (EFFICIENT, {"dtype": F32}),
        (EFFICIENT, {"dtype": BF16, "mask": MASK}),
        (EFFICIENT, {"dtype": BF16, "mask": MASK.float().bfloat16()}),
        (EFFICIENT, {"dtype": F16, "width": 264}),
        (EFFICIENT, {"dtype": BF16, "is_causal": True, "key_length": 8}),
        (MATH, {"dtype": F32, "width": 6}),
        (MATH, {"dtype": torch.float64}),
        (MATH, {"dtype": F32, "key_heads": 2, "enable_gqa": True}),
    ],
)
def test_the_kernel_that_is_chosen(
    expected: str, case: dict[str, Any], seen: Seen
) -> None:
    assert KERNELS & set(_attend(seen, **case)) == {expected}


def test_what_goes_before_the_kernel(seen: Seen) -> None:
    odd = torch.ones(16, 13, dtype=torch.bool)
    assert "constant_pad_nd" in _attend(seen, BF16, mask=odd, key_length=13)
    assert "constant_pad_nd" not in _attend(seen, BF16, mask=MASK)
    padded = _attend(seen, BF16, width=60)
    assert padded.count("constant_pad_nd") == 3
    assert padded.index(FLASH) < padded.index("slice")


def test_the_program_chooses(seen: Seen) -> None:
    with sdpa_kernel(SDPBackend.MATH):
        assert MATH in _attend(seen, BF16)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert CUDNN in _attend(seen, BF16)
    order = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(order, set_priority=True):
        assert EFFICIENT in _attend(seen, BF16)
    with (
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
        pytest.raises(RuntimeError, match="No available kernel"),
    ):
        _attend(seen, F32)
    torch.backends.cuda.enable_flash_sdp(False)
    try:
        assert EFFICIENT in _attend(seen, BF16)
    finally:
        torch.backends.cuda.enable_flash_sdp(True)


def test_under_autocast_and_without_autograd(seen: Seen) -> None:
    for without in (torch.inference_mode(), torch.no_grad()):
        with without:
            assert FLASH in _attend(seen, BF16)
    since = seen.anew()
    query = torch.randn(1, 2, 8, 16, device="cuda", requires_grad=True)
    with torch.autocast("cuda", dtype=BF16):
        F.scaled_dot_product_attention(query, query, query).sum().backward()
    assert {FLASH, f"{FLASH}_backward"} <= set(since.names)


@pytest.mark.parametrize(
    ("gpu", "cases"),
    [
        ("T4", ((EFFICIENT, {"dtype": F16}), (MATH, {"dtype": BF16}))),
        ("V100", ((EFFICIENT, {"dtype": F16}),)),
        (
            "RTX 4090",
            (
                (FLASH, {"dtype": F16, "width": 192, "grad": True}),
                (FLASH, {"dtype": F16, "width": 200}),
                (EFFICIENT, {"dtype": F16, "width": 200, "grad": True}),
            ),
        ),
    ],
)
def test_the_kernel_that_is_chosen_on_another_gpu(gpu: str, cases: Any) -> None:
    with torchtraceap.dry_run(gpu=gpu) as run:
        for expected, case in cases:
            assert KERNELS & set(_attend(Seen(run), **case)) == {expected}


def test_tensors_of_the_host_and_meta_tensors_after_the_run() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.randn(1, 2, 4, 8)
        real = F.scaled_dot_product_attention(x, x, x)
    assert not run.ops
    torch.testing.assert_close(real, F.scaled_dot_product_attention(x, x, x))
    meta = torch.randn(1, 2, 4, 8, device="meta", requires_grad=True)
    out = F.scaled_dot_product_attention(meta, meta, meta)
    assert "ScaledDotProduct" not in type(out.grad_fn).__name__


# --- Attention made of functions -----------------------------------------------------

of_flex = pytest.mark.filterwarnings("ignore:flex_attention called without")


def later_keys(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return score + (k - q)


def given() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(1, 2, 16, 8) for _ in range(3)]


@of_flex
def test_flex_attention_gives_what_it_gives_on_the_host(seen_all: Seen) -> None:
    with torch.no_grad():
        expected = flex_attention(*given(), score_mod=later_keys)
        on_device = [one.cuda() for one in given()]
        since = seen_all.anew()
        found = flex_attention(*on_device, score_mod=later_keys)
        assert found.is_cuda and found.device == torch.device("cuda", 0)
        # Queries by keys, and what comes of it by values.
        assert since.names.count("bmm") == 2
        since = since.anew()
        twice = found * 2
        assert since.names == ["mul"]
        torch.testing.assert_close(twice.cpu(), expected * 2)
        assert len(since.syncs) == 1


@of_flex
def test_its_backward_is_refused_by_name(seen: Seen) -> None:
    with pytest.raises(DryRunError, match="backward of flex_attention"):
        flex_attention(*(one.cuda().requires_grad_() for one in given()))


# --- Recurrent layers: cuDNN's --------------------------------------------------------


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
