# SPDX-License-Identifier: BSD-3-Clause
"""Attention takes the kernel in a dry run that torch would choose on that GPU.

What is expected is what torch's sdp_utils.cpp asks for, and its documentation.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import torchtraceap

FLASH = "_scaled_dot_product_flash_attention"
EFFICIENT = "_scaled_dot_product_efficient_attention"
CUDNN = "_scaled_dot_product_cudnn_attention"
MATH = "_safe_softmax"  # the one operator of its own that the plain way has
KERNELS = {FLASH, EFFICIENT, CUDNN, MATH}
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


def _attend(
    dtype: torch.dtype, width: int = 64, mask: Any = None, gpu: str = "H100 SXM",
    key_length: int = 16, key_heads: int = 4, grad: bool = False, **options: Any,
) -> list[str]:  # fmt: skip
    with torchtraceap.dry_run(gpu=gpu) as run:
        query = torch.randn(2, 4, 16, width, device="cuda", dtype=dtype)
        key = torch.randn(2, key_heads, key_length, width, device="cuda", dtype=dtype)
        query.requires_grad_(grad)
        if mask is not None:
            mask = mask.to("cuda")
        before = len(run.ops)
        out = F.scaled_dot_product_attention(query, key, key, mask, **options)
        assert out.shape == query.shape
        assert out.dtype is query.dtype
        assert out.is_cuda
        if grad:
            out.sum().backward()
            assert query.grad.shape == query.shape
    return [op.name.removeprefix("aten::") for op in run.ops[before:]]


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
        (EFFICIENT, {"dtype": F16, "gpu": "T4"}),
        (EFFICIENT, {"dtype": F16, "gpu": "V100"}),
        (FLASH, {"dtype": F16, "gpu": "RTX 4090", "width": 192, "grad": True}),
        (FLASH, {"dtype": F16, "gpu": "RTX 4090", "width": 200}),
        (EFFICIENT, {"dtype": F16, "gpu": "RTX 4090", "width": 200, "grad": True}),
        (MATH, {"dtype": BF16, "gpu": "T4"}),
        (MATH, {"dtype": F32, "width": 6}),
        (MATH, {"dtype": torch.float64}),
        (MATH, {"dtype": F32, "key_heads": 2, "enable_gqa": True}),
    ],
)
def test_the_kernel_that_is_chosen(expected: str, case: dict[str, Any]) -> None:
    assert KERNELS & set(_attend(**case)) == {expected}


def test_backward_is_that_of_the_kernel() -> None:
    for dtype, kernel in ((BF16, FLASH), (F32, EFFICIENT)):
        names = _attend(dtype, grad=True)
        assert names.count(kernel) == names.count(f"{kernel}_backward") == 1


def test_what_goes_before_the_kernel() -> None:
    odd = torch.ones(16, 13, dtype=torch.bool)
    assert "constant_pad_nd" in _attend(BF16, mask=odd, key_length=13)
    assert "constant_pad_nd" not in _attend(BF16, mask=MASK)
    padded = _attend(BF16, width=60)
    assert padded.count("constant_pad_nd") == 3
    assert padded.index(FLASH) < padded.index("slice")


def test_the_program_chooses() -> None:
    with sdpa_kernel(SDPBackend.MATH):
        assert MATH in _attend(BF16)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert CUDNN in _attend(BF16)
    order = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION]
    with sdpa_kernel(order, set_priority=True):
        assert EFFICIENT in _attend(BF16)
    with (
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
        pytest.raises(RuntimeError, match="No available kernel"),
    ):
        _attend(F32)
    torch.backends.cuda.enable_flash_sdp(False)
    try:
        assert EFFICIENT in _attend(BF16)
    finally:
        torch.backends.cuda.enable_flash_sdp(True)


def test_under_autocast_and_without_autograd() -> None:
    with torch.inference_mode():
        assert FLASH in _attend(BF16)
    with torch.no_grad():
        assert FLASH in _attend(BF16)
    with torchtraceap.dry_run() as run:
        query = torch.randn(1, 2, 8, 16, device="cuda", requires_grad=True)
        with torch.autocast("cuda", dtype=BF16):
            F.scaled_dot_product_attention(query, query, query).sum().backward()
        names = [op.name.removeprefix("aten::") for op in run.ops]
    assert {FLASH, f"{FLASH}_backward"} <= set(names)


def test_multihead_attention() -> None:
    with torchtraceap.dry_run() as run:
        layer = nn.MultiheadAttention(16, 2, batch_first=True).to("cuda", BF16)
        x = torch.randn(2, 8, 16, device="cuda", dtype=BF16)
        out, weights = layer(x, x, x, need_weights=False)
        assert out.shape == x.shape
        assert weights is None
        out.sum().backward()
        before = len(run.ops)
        _, weights = layer(x, x, x)  # to have weights takes the plain way
        assert weights.shape == (2, 8, 8)
        names = [op.name.removeprefix("aten::") for op in run.ops]
    assert names[:before].count(FLASH) == 1
    assert "_softmax" in names[before:]
    assert FLASH not in names[before:]


def test_tensors_of_the_host_and_meta_tensors_after_the_run() -> None:
    with torchtraceap.dry_run() as run:
        x = torch.randn(1, 2, 4, 8)
        real = F.scaled_dot_product_attention(x, x, x)
    assert not run.ops
    torch.testing.assert_close(real, F.scaled_dot_product_attention(x, x, x))
    meta = torch.randn(1, 2, 4, 8, device="meta", requires_grad=True)
    out = F.scaled_dot_product_attention(meta, meta, meta)
    assert "ScaledDotProduct" not in type(out.grad_fn).__name__
