# SPDX-License-Identifier: BSD-3-Clause
"""families.py: families of programs, by the shapes that their models work on.

`scale` is a batch: it lengthens kernels and keeps the host's work. So the host of each
family can be ahead of its device, or behind it, by a drawn ratio.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.lab.blame import pieces as p
from benchmarks.lab.blame.gpus import Gpu
from benchmarks.lab.blame.pieces import Piece

Model = Callable[[Gpu, float], list[Piece]]


@dataclass(frozen=True)
class Family:
    """A kind of program."""

    name: str
    model: Model
    trains: bool
    distributed: bool = False
    sharded: bool = False  #: As FSDP does it; else as DDP.
    module: str = "Model"


def _mlp(gpu: Gpu, scale: float) -> list[Piece]:
    rows, wide = 256 * scale, 1024
    layers: list[Piece] = []
    for _ in range(12):
        layers += [p.linear(gpu, rows, wide, wide), p.activation("relu", rows * wide)]
    return layers


def _transformer(gpu: Gpu, scale: float) -> list[Piece]:
    rows, wide = 512 * scale, 768
    layers = [p.gather(rows * wide, 2_000_000)]
    for _ in range(6):
        layers += [
            p.layer_norm(rows * wide, wide),
            p.linear(gpu, rows, wide, 3 * wide),
            p.attention(rows * wide, 512),
            p.linear(gpu, rows, wide, wide),
            p.add(rows * wide),
            p.layer_norm(rows * wide, wide),
            p.linear(gpu, rows, wide, 4 * wide),
            p.activation("gelu", rows * 4 * wide),
            p.linear(gpu, rows, 4 * wide, wide),
            p.add(rows * wide),
        ]
    return layers


def _resnet(gpu: Gpu, scale: float) -> list[Piece]:
    layers: list[Piece] = []
    for stage in range(4):
        pixels, channels = 4 * scale * (56 >> stage) ** 2, 64 << stage
        for _ in range(3):
            layers += [
                p.conv(gpu, pixels, channels),
                p.batch_norm(gpu, pixels * channels, channels),
                p.activation("relu", pixels * channels),
            ]
    return [*layers, p.linear(gpu, 8 * scale, 512, 1000)]


def _decoding(gpu: Gpu, scale: float) -> list[Piece]:
    rows, wide = 16 * scale, 2048
    rms = "void vllm::rms_norm_kernel<c10::BFloat16, 8>"
    layers: list[Piece] = []
    for _ in range(12):
        layers += [
            p.named("_C::fused_add_rms_norm", rms, rows * wide, "RMSNorm"),
            p.linear(gpu, rows, wide, 3 * wide),
            p.named(
                "_C::rotary_embedding", "vllm::rotary_embedding_kernel", rows * wide
            ),
            p.attention(rows * wide, 1024),
            p.linear(gpu, rows, wide, wide),
            p.named("_C::fused_add_rms_norm", rms, rows * wide, "RMSNorm"),
            p.linear(gpu, rows, wide, 4 * wide),
            p.named("_C::silu_and_mul", "vllm::act_and_mul_kernel", rows * 4 * wide),
            p.linear(gpu, rows, 2 * wide, wide),
        ]
    return layers


def _lstm(gpu: Gpu, scale: float) -> list[Piece]:
    rows, wide = 64 * scale, 512
    cell = "void at::native::(anonymous namespace)::kernel::lstm_cell_forward<bf16>"
    layers: list[Piece] = [p.gather(rows * wide, 500_000)]
    for _ in range(16):
        layers += [
            p.linear(gpu, rows, wide, 4 * wide),
            p.linear(gpu, rows, wide, 4 * wide),
            p.named("aten::_thnn_fused_lstm_cell", cell, rows * 4 * wide),
        ]
    return layers


def _graph(gpu: Gpu, scale: float) -> list[Piece]:
    nodes, wide = 4096 * scale, 128
    layers: list[Piece] = []
    for _ in range(5):
        layers += [
            p.gather(8 * nodes * wide),
            p.linear(gpu, nodes, wide, wide),
            p.scatter(8 * nodes * wide),
            p.activation("relu", nodes * wide),
        ]
    return layers


def _recommender(gpu: Gpu, scale: float) -> list[Piece]:
    rows, wide = 512 * scale, 128
    layers = [p.gather(20 * rows * wide, 400_000) for _ in range(16)]
    for _ in range(5):
        layers += [p.linear(gpu, rows, 512, 512), p.activation("relu", rows * 512)]
    return layers


def _diffusion(gpu: Gpu, scale: float) -> list[Piece]:
    layers: list[Piece] = []
    group = "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<bf16>"
    for block in range(8):
        pixels, channels = 256 * scale, 320
        layers += [
            p.named("aten::group_norm", group, pixels * channels, "GroupNorm"),
            p.conv(gpu, pixels, channels),
            p.activation("silu", pixels * channels),
            p.conv(gpu, pixels, channels),
            p.add(pixels * channels),
        ]
        if block % 2:
            layers += [
                p.linear(gpu, pixels, channels, 3 * channels),
                p.attention(pixels * channels, 1024),
                p.linear(gpu, pixels, channels, channels),
            ]
    return layers


def _detection(gpu: Gpu, scale: float) -> list[Piece]:
    head = "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>"
    boxes = 20_000 * scale
    return [
        *_resnet(gpu, scale)[:-1],
        p.conv(gpu, 2000 * scale, 256),
        p.named("aten::topk", head, boxes, "RegionProposal"),
        p.gather(boxes * 4),
        p.linear(gpu, 200 * scale, 1024, 1024),
    ]


FAMILIES = (
    Family("resnet", _resnet, True, module="ResNet"),
    Family("transformer_ddp", _transformer, True, True, module="GPT"),
    Family("transformer_fsdp", _transformer, True, True, True, "GPT"),
    Family("transformer", _transformer, True, module="BertModel"),
    Family("mlp", _mlp, True, module="MLP"),
    Family("lstm", _lstm, True, module="Tagger"),
    Family("gnn", _graph, True, module="GraphNet"),
    Family("dlrm", _recommender, True, True, module="DLRM"),
    Family("resnet_ddp", _resnet, True, True, module="ResNet"),
    Family("decoding", _decoding, False, module="LlamaForCausalLM"),
    Family("diffusion", _diffusion, False, module="UNet"),
    Family("detection", _detection, False, module="Detector"),
)


@dataclass(frozen=True)
class Case:
    """A program to be."""

    family: Family
    gpu: Gpu
    seed: int
    steps: int
    scale: float  #: Of the batch.
    stack: bool
    compiled: bool = False
    loader: bool = False
    varying: bool = False  #: Batches differ in size, so no two steps are alike.
    #: Time of a step's kernels without faults, and of its host: what faults scale with.
    device_us: float = 0.0
    host_us: float = 0.0
    first: int = 3  #: The number of the first step.

    @property
    def step_us(self) -> float:
        """About how long a step takes."""
        return max(self.device_us, self.host_us)
