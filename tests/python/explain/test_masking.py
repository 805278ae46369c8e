# SPDX-License-Identifier: BSD-3-Clause
"""What is taken out of names and source lines before they leave, and what is not."""

from __future__ import annotations

import time

import pytest

from torchtraceap.explain.masking import Mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("torch/nn/modules/module.py(1782): _call_impl", "module.py(1782): _call_impl"),
        ("/home/alice/proj/train.py:88 step", "train.py:88 step"),
        ("/Users/bob smith/my proj/x.py(3): f", "x.py(3): f"),
        ("C:\\Users\\bob\\x.py", "x.py"),
        ("\\\\srv\\share\\a.py", "a.py"),
        ("open('../../etc/passwd')", "open('passwd')"),
        ("~/secret/x.py", "x.py"),
        ("api_key = 'sk-abcdefghij1234567890XYZ'", "<secret>"),
        ("hf_ABCDEFGHIJKLMNOPQRST", "<secret>"),
        ("ghp_abcdefghij0123456789abcdefghij012345", "<secret>"),
        ("AWS AKIAABCDEFGHIJKLMNOP", "AWS <secret>"),
        ("PASSWORD='letmein!'", "<secret>"),
        ("password: hunter22222", "<secret>"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "<secret>"),
        ("Bearer abcdefgh12345678", "<secret>"),
        ("https://user:pass@host.com/x/y", "<url>"),
        ("file:///etc/hosts", "<url>"),
        ("mail bob@corp.example 10.2.3.4", "mail <address> <host>"),
        ("<dict object at 0x7f8899aabbcc>", "<dict object at 0x…>"),
    ],
)
def test_takes_out(text: str, masked: str) -> None:
    assert Mask()(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "aten::add",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add"
        "<float>, at::detail::Array<char*, 3>>(int, at::native)",
        "Memcpy HtoD (Pageable -> Device)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x64x64_MI32x32x1_SN_LDSB1_AFC1",
        "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "loss = a / b / c",
        "x = y/2",
        "a //= b//c",
        "token = tok_of(x)",
        "token_embedding = nn.Embedding(vocab, dim)",
        "key = key_states",
        "model/layers/0/attn",
    ],
)
def test_leaves_alone(text: str) -> None:
    mask = Mask()
    assert mask(text) == text and not mask.counts


def test_counts_what_it_took() -> None:
    mask = Mask()
    mask("/a/b/x.py bob@corp.example")
    mask("/a/b/y.py")
    assert mask.counts == (("address", 1), ("path", 2))


def test_hostile_texts_take_no_time() -> None:
    begin = time.perf_counter()
    for piece in ("a/", "x", "key", "/ a", "a@", "1.", "-----BEGIN ", "ey", "://"):
        Mask()(piece * 20_000)
    assert time.perf_counter() - begin < 10
