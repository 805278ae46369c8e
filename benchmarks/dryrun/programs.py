# SPDX-License-Identifier: BSD-3-Clause
"""programs.py: the programs of published traces, rebuilt with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.dryrun.models import Step, resnet_foreach, resnet_training


@dataclass(frozen=True)
class Program:
    """A program that was traced.

    Attributes:
        trace: Its file, without ".json.gz".
        steps: Of `make`'s steps that the trace holds.
        fitted: Whether constants of kernel_time.py were fitted on the trace; "partly":
            on some of its kernels; "counts": no time was, but how many kernels a
            convolution has.
    """

    name: str
    trace: str
    gpu: str
    steps: int
    fitted: str
    make: Callable[[str], Step]


def vit(device: str) -> Step:
    """ViT-base, bf16, 4 images."""
    from transformers import ViTConfig, ViTForImageClassification

    model = _half(lambda: ViTForImageClassification(ViTConfig(num_labels=2)), device)
    images = torch.rand(4, 3, 224, 224, device=device, dtype=torch.bfloat16)
    return _inference(lambda: model(images))


def bert(device: str) -> Step:
    """BERT-small as a masked language model, bf16, one sentence of 141 tokens."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
        intermediate_size=2048,
    )  # fmt: skip
    model = _half(lambda: BertForMaskedLM(config), device)
    words = torch.ones(1, 141, dtype=torch.long, device=device)
    seen = torch.ones_like(words)
    return _inference(lambda: model(words, attention_mask=seen))


def qwen(device: str) -> Step:
    """Qwen1.5-0.5B without its head, bf16, 16 prompts of 559 tokens.

    The transformers of the trace copied queries, keys and values before attention, as
    those of today no longer do.
    """
    from transformers import AttentionInterface, Qwen2Config, Qwen2Model

    def as_traced(
        module: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
        mask: torch.Tensor | None, **options: Any,
    ) -> tuple[torch.Tensor, None]:  # fmt: skip
        parts = (t.contiguous() for t in (q, k, v))
        found = functional.scaled_dot_product_attention(*parts, is_causal=True)
        return found.transpose(1, 2).contiguous(), None

    AttentionInterface.register("as_traced", as_traced)
    config = Qwen2Config(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        num_key_value_heads=16, intermediate_size=2816, vocab_size=151936,
        attn_implementation="as_traced",
    )  # fmt: skip
    model = _half(lambda: Qwen2Model(config), device)
    words = torch.ones(16, 559, dtype=torch.long, device=device)
    return _inference(lambda: model(words, use_cache=False))


def owl(device: str) -> Step:
    """OWLv2-large, bf16, one image of 1008 x 1008 and one query of 5 tokens.

    With attention as the transformers of the trace worked it out.
    """
    from transformers import AttentionInterface, Owlv2Config, Owlv2ForObjectDetection

    def as_traced(
        module: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
        mask: torch.Tensor | None, scaling: float, **options: Any,
    ) -> tuple[torch.Tensor, None]:  # fmt: skip
        batch, heads, length, width = q.shape
        flat = batch * heads, length, width
        q, k, v = ((t.contiguous()).view(flat) for t in (q * scaling, k, v))
        weights = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            weights = weights.view(batch, heads, length, length) + mask
            weights = weights.view(-1, length, length)
        found = torch.bmm(functional.softmax(weights, -1), v)
        return found.view(batch, heads, length, width).transpose(1, 2), None

    AttentionInterface.register("in_parts", as_traced)
    config = Owlv2Config(
        text_config=dict(hidden_size=768, intermediate_size=3072,
                         num_attention_heads=12),
        vision_config=dict(hidden_size=1024, intermediate_size=4096,
                           num_hidden_layers=24, num_attention_heads=16,
                           image_size=1008, patch_size=14),
        projection_dim=768, attn_implementation="in_parts",
    )  # fmt: skip
    model = _half(lambda: Owlv2ForObjectDetection(config), device)
    words = torch.ones(1, 5, dtype=torch.long, device=device)
    seen = torch.ones_like(words)
    images = torch.rand(1, 3, 1008, 1008, device=device)
    return _inference(lambda: model(words, images, seen))


def _half(make: Callable[[], nn.Module], device: str) -> nn.Module:
    with torch.device(device):
        return make().eval().to(torch.bfloat16)


def _inference(run: Callable[[], Any]) -> Step:
    def step() -> None:
        with torch.no_grad():
            run()

    return step


PROGRAMS = (
    Program("ViT-base, bf16, 4 images", "h100-vit-nsfw-inference", "H100 SXM", 1,
            "yes", vit),
    Program("BERT-small, bf16, 1 x 141", "h100-bert-small-launch-bound", "H100 SXM", 1,
            "yes", bert),
    Program("Qwen1.5-0.5B, bf16, 16 x 559", "h100-qwen0.5b-chat", "H100 SXM", 1,
            "yes", qwen),
    Program("ResNet-50 training, fp32, 32 images",
            "kineto2021-v100-resnet50-workers0-memory", "V100", 6, "yes",
            resnet_training),
    Program("OWLv2-large, bf16, 1 image", "h100-owlv2-large-55MB", "H100 SXM", 5,
            "partly", owl),
    Program("ResNet-50 training, DDP left out, 32 images",
            "v100-ns-timestamps-rank0of1", "V100", 5, "counts", resnet_foreach),
    Program("ResNet-50 training, DDP left out, 32 images",
            "a100x8-nccl-process-groups-rank0of2", "A100 40GB", 3, "counts",
            resnet_foreach),
)  # fmt: skip
