# SPDX-License-Identifier: BSD-3-Clause
"""test_launches.py: operators become the kernels that CUDA PyTorch launches."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.dryrun.trace_ops import is_kernel, read
from torchtraceap_dryrun.estimate.gpus import gpu
from torchtraceap_dryrun.estimate.kernel_time import CLASSES, kernel_us
from torchtraceap_dryrun.estimate.launch import Launch
from torchtraceap_dryrun.estimate.launches import TABLE, has_rule, launches_of
from torchtraceap_dryrun.estimate.list_launches import CHUNK, MOST_BLOCKS, filled
from torchtraceap_dryrun.record import Op
from torchtraceap_dryrun.record_writer import plain

ROOT = Path(__file__).resolve().parents[3]
H100, V100 = gpu("H100"), gpu("V100")
aten = torch.ops.aten


def op(f: Any, *args: Any, **kwargs: Any) -> Op:
    """Return an operator as a dry run writes it down; its results by torch."""
    found = f(*args, **kwargs)
    flat = found if isinstance(found, (tuple, list)) else (found,)
    outputs = tuple(plain(t) for t in flat if isinstance(t, torch.Tensor))
    named = {name: plain(value) for name, value in kwargs.items()}
    name, overload = f._schema.name, f._schema.overload_name
    return Op(name, overload, plain(args), named, outputs, 0, "forward", None, "")


def meta(*shape: int, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


HALF = {"dtype": torch.bfloat16}
X, ROW = meta(64, 256), meta(1, 256)
IMAGE = meta(8, 64, 28, 28)
IDS, FLAGS = meta(64, dtype=torch.int64), meta(64, 256, dtype=torch.bool)
Q = meta(2, 8, 128, 64, **HALF)

# What public traces and the source of torch 2.x show.
of = functools.partial
KNOWN: dict[str, tuple[str, functools.partial[Op]]] = {
    "same shapes": ("elementwise", of(op, aten.add.Tensor, X, X)),
    "broadcast": ("strided", of(op, aten.add.Tensor, X, ROW)),
    "a number": ("elementwise", of(op, aten.mul.Scalar, X, 2)),
    "all transposed": ("elementwise", of(op, aten.add.Tensor, X.t(), X.t())),
    "one transposed": ("strided", of(op, aten.add.Tensor, X.t(), meta(256, 64))),
    "a part in place": ("strided", of(op, aten.add_.Scalar, X[:, :8], 1)),
    "a value read": ("elementwise", of(op, aten.fill_.Scalar, X, 0)),
    "clone, same order": ("memcpy", of(op, aten.clone.default, X)),
    "clone, another order": (
        "copy",
        of(op, aten.clone.default, X.t(), memory_format=torch.contiguous_format),
    ),
    "a cast": ("elementwise", of(op, aten._to_copy.default, X, dtype=torch.float16)),
    "masked_fill copies": (
        "memcpy elementwise", of(op, aten.masked_fill.Scalar, X, FLAGS, 0.0)
    ),
    "masked_fill_": ("elementwise", of(op, aten.masked_fill_.Scalar, X, FLAGS, 0.0)),
    "rows summed": ("reduce", of(op, aten.sum.dim_IntList, X, [1])),
    "columns summed": ("column_reduce", of(op, aten.sum.dim_IntList, X, [0])),
    "whole numbers widened": ("elementwise reduce", of(op, aten.sum.default, FLAGS)),
    "norm of columns": (
        "column_reduce", of(op, aten.linalg_vector_norm.default, X, 2, [0])
    ),
    "softmax": ("norm", of(op, aten._softmax.default, X, -1, False)),
    "mean loss": ("elementwise reduce", of(op, aten.mse_loss.default, X, X)),
    "loss of each": ("elementwise", of(op, aten.mse_loss.default, X, X, 0)),
    "embedding": ("gather", of(op, aten.embedding.default, X, IDS)),
    "short rows sorted": ("memcpy elementwise sort", of(op, aten.sort.default, X)),
    "put": ("gather", of(op, aten.index_put_.default, X, [IDS], X)),
    "put and added": (
        "sort sort sort sort gather", of(op, aten.index_put_.default, X, [IDS], X, True)
    ),
    "another view in place": ("", of(op, aten.squeeze_.default, meta(1, 4))),
    "cat": ("cat", of(op, aten.cat.default, [X] * 3)),
    "cat of many": ("cat cat", of(op, aten.cat.default, [X] * 129)),
    "flash attention": (
        "attention", of(op, aten._scaled_dot_product_flash_attention.default, Q, Q, Q)
    ),
    "half a convolution, NCHW": (
        "layout layout conv layout",
        of(op, aten.convolution.default, IMAGE.bfloat16(), meta(64, 64, 3, 3, **HALF),
           None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    ),
    "half a convolution, channels last": (
        "conv elementwise",
        of(op, aten.convolution.default,
           IMAGE.bfloat16().to(memory_format=torch.channels_last),
           meta(64, 64, 3, 3, **HALF), meta(64, **HALF), [1, 1], [1, 1], [1, 1], False,
           [0, 0], 1),
    ),
    "nothing to do": ("", of(op, aten.add.Tensor, meta(0), meta(0))),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_launches(name: str) -> None:
    expected, found = KNOWN[name]
    works = [launch.work for launch in launches_of(found(), H100)]
    assert works == expected.split()


@pytest.mark.parametrize("batch_first", [True, False])
def test_recurrent_layers_have_two_kernels_a_step(batch_first: bool) -> None:
    shape = (4, 10, 32) if batch_first else (10, 4, 32)
    weights = [meta(256, 32), meta(256, 64), meta(256), meta(256)]
    args = (meta(*shape), weights, 4, None, meta(1, 4, 64), meta(1, 4, 64), 2, 64, 0,
            1, batch_first)  # fmt: skip
    found = Op("aten::_cudnn_rnn", "", plain(args), {}, (), 0, "forward", None, "")
    said = launches_of(found, H100)
    assert [launch.work for launch in said] == ["gemm", *["gemm", "elementwise"] * 10]
    assert sum(launch.flops for launch in said) == 2 * 4 * 10 * (256 * 32 + 256 * 64)


def test_views_launch_nothing() -> None:
    view = op(aten.t.default, X)
    view.is_view = True
    assert launches_of(view, H100) == ()


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (aten.mm.default, (meta(96, 512, **HALF), meta(512, 80, **HALF))),
        (
            aten.addmm.default,
            (meta(80, **HALF), meta(96, 512, **HALF), meta(512, 80, **HALF)),
        ),
        (aten.bmm.default, (meta(4, 96, 64), meta(4, 64, 80))),
        (
            aten.convolution.default,
            (meta(4, 16, 30, 30), meta(32, 8, 3, 3), None, [2, 2], [1, 1], [1, 1],
             False, [0, 0], 2),
        ),
        (
            aten.convolution_backward.default,
            (meta(4, 32, 15, 15), meta(4, 16, 30, 30), meta(32, 16, 3, 3), None,
             [2, 2], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]),
        ),
        (aten._scaled_dot_product_flash_attention.default, (Q, Q, Q)),
    ],
)  # fmt: skip
def test_flops_are_those_torch_counts(f: Any, args: tuple[Any, ...]) -> None:
    with FlopCounterMode(display=False) as counter:
        found = op(f, *args)
    assert counter.get_total_flops() > 0
    said = sum(launch.flops for launch in launches_of(found, H100))
    assert said == counter.get_total_flops()


@pytest.mark.parametrize(
    ("x", "w", "recorded_us"),
    [
        # Kernels of tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz.
        ((32, 128, 28, 28), (128, 128, 3, 3), 62 + 5 + 170 + 69),
        ((32, 64, 56, 56), (64, 64, 3, 3), 4 + 349),
        ((32, 256, 56, 56), (64, 256, 1, 1), 2 + 275),
        ((32, 3, 224, 224), (64, 3, 7, 7), 2 + 605),
    ],
)
def test_convolutions_take_what_they_took_on_a_v100(
    x: tuple[int, ...], w: tuple[int, ...], recorded_us: float
) -> None:
    side, stride = w[2], 2 if w[2] == 7 else 1
    found = op(
        aten.convolution.default, meta(*x), meta(*w), None, [stride] * 2,
        [side // 2] * 2, [1, 1], False, [0, 0], 1,
    )  # fmt: skip
    said = sum(kernel_us(launch, V100) for launch in launches_of(found, V100))
    assert said == pytest.approx(recorded_us, rel=0.35)


def test_a_convolution_whose_image_keeps_its_form_has_it_turned_both_ways() -> None:
    x, w = meta(32, 128, 28, 28), meta(128, 128, 3, 3)
    found = op(
        aten.convolution.default, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1
    )
    # cuDNN's Winograd on a V100, as in the trace above: image, weights, result.
    names = [launch.name.split()[-1] for launch in launches_of(found, V100)]
    assert names == ["layout", "layout", "aten::convolution", "layout"]


def test_causal_attention_leaves_out_tiles_above_the_diagonal() -> None:
    q = meta(2, 8, 512, 64, **HALF)
    f = aten._scaled_dot_product_flash_attention.default
    (whole,) = launches_of(op(f, q, q, q), H100)
    (half,) = launches_of(op(f, q, q, q, 0.0, True), H100)
    assert half.flops == whole.flops * 10 / 16  # of 4 x 4 tiles of 128
    assert half.nbytes == whole.nbytes


def test_elementwise_bytes_and_grid() -> None:
    (launch,) = launches_of(op(aten.add.Tensor, X, X), H100)
    assert launch.nbytes == 3 * 64 * 256 * 4
    assert launch.blocks == 32  # 512 elements each
    (launch,) = launches_of(op(aten.fill_.Scalar, X, 0), H100)
    assert launch.nbytes == 64 * 256 * 4
    (launch,) = launches_of(op(aten.add_.Scalar, X, 1), H100)
    assert launch.nbytes == 2 * 64 * 256 * 4


def test_what_32_bits_do_not_reach_is_cut() -> None:
    # Halves until none has 2^31 bytes: 3 * 2^30 floats are 12 GiB, 8 parts.
    large = meta(3, 2**30)
    assert len(launches_of(op(aten.mul.Scalar, large, 2), H100)) == 8
    assert len(launches_of(op(aten.mul.Scalar, meta(2**28), 2), H100)) == 1


def test_long_unaligned_rows_are_read_three_times() -> None:
    def moved(row: int) -> float:
        x = meta(64, row, **HALF)
        (launch,) = launches_of(op(aten._softmax.default, x, -1, False), H100)
        return launch.nbytes / plain(x).nbytes

    assert moved(1000) == moved(1001) == moved(4096) == 2
    assert moved(4097) == 4


def test_lists_fill_kernels_up() -> None:
    # As ATen/native/cuda/MultiTensorApply.cuh: by tensors, by blocks, and both.
    assert list(filled([10] * 111, 110)) == [(110, 1100), (1, 10)]
    assert list(filled([0, 5, 0], 110)) == [(1, 5)]
    whole = CHUNK * MOST_BLOCKS
    assert list(filled([whole], 110)) == [(MOST_BLOCKS, whole)]
    assert list(filled([whole + 7, 3], 1)) == [(MOST_BLOCKS, whole), (1, 7), (1, 3)]
    # Of two lists 64 tensors at a time: of the 161 of ResNet-50, traces have 3 kernels.
    lists = [meta(10)] * 161
    found = launches_of(op(aten._foreach_add_.List, lists, lists), H100)
    assert [launch.work for launch in found] == ["lists"] * 3
    assert sum(launch.nbytes for launch in found) == 3 * 4 * 1610


def test_a_fused_optimizer_moves_seven_lists() -> None:
    lists = [[meta(1000), meta(70_000)] for _ in range(4)]
    counters = [meta() for _ in range(2)]
    names = dict(
        lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False,
        maximize=False,
    )  # fmt: skip
    args = tuple(plain(x) for x in (*lists, [], counters))
    found = Op("aten::_fused_adamw_", "", args, names, (), 0, "optimizer", None, "")
    (launch,) = launches_of(found, H100)
    assert launch.blocks == 3
    assert launch.nbytes == 7 * 4 * 71_000


def test_unlike_lists_are_taken_one_by_one() -> None:
    a, b = [meta(4, 8), meta(8, 4).t()], [meta(4, 8), meta(4, 8)]
    found = launches_of(op(aten._foreach_add_.List, a, b), H100)
    assert [launch.work for launch in found] == ["elementwise"] * 2


def test_what_no_rule_knows_is_marked() -> None:
    x = plain(X)
    unknown = Op("mine::twist", "", (x,), {}, (x,), 0, "forward", None, "")
    assert not has_rule(unknown)
    (launch,) = launches_of(unknown, H100)
    assert launch.by_default
    assert launch.work == "elementwise"
    assert has_rule(op(aten.erfinv.default, X))  # By torch's tag alone.


def test_rows_name_operators_and_known_classes() -> None:
    unknown = [name for name in TABLE if not hasattr(aten, name)]
    assert unknown == []


def kernels(launches: tuple[Launch, ...]) -> int:
    assert all(launch.work in CLASSES for launch in launches)
    return sum(launch.is_kernel for launch in launches)


def counts(name: str) -> tuple[dict[str, list[tuple[int, int]]], int]:
    """Return pairs of kernels, said and recorded, by operator; how many are unknown."""
    trace = read(ROOT / "tests" / "data" / f"{name}.json.gz")
    out: dict[str, list[tuple[int, int]]] = {}
    for traced in trace.operators:
        if traced.op.copy is None:
            launches = launches_of(traced.op, trace.gpu)
            assert not any(launch.by_default for launch in launches), traced.op.name
            recorded = sum(map(is_kernel, traced.kernels))
            out.setdefault(traced.op.name, []).append((kernels(launches), recorded))
    return out, trace.unknown


def test_each_operator_of_a_vision_transformer() -> None:
    found, unknown = counts("h100-vit-nsfw-inference")
    assert unknown == 0
    assert sum(recorded for pairs in found.values() for _, recorded in pairs) == 154
    for name, pairs in found.items():
        assert all(said == recorded for said, recorded in pairs), name


def test_each_operator_of_a_training_step() -> None:
    found, unknown = counts("kineto2021-v100-resnet50-workers0-memory")
    assert unknown <= 24
    convolutions = {"aten::convolution", "aten::convolution_backward"}
    for name in found.keys() - convolutions - {"aten::addmm", "aten::mm"}:
        assert all(said == recorded for said, recorded in found[name]), name
    # cuDNN chooses: right as a whole.
    for name in convolutions:
        said, recorded = map(sum, zip(*found[name], strict=True))
        assert said == pytest.approx(recorded, rel=0.16), name
