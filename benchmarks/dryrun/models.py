# SPDX-License-Identifier: BSD-3-Clause
"""models.py: the programs of published traces, built again with weights by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Step = Callable[[], Any]


@dataclass(frozen=True)
class Program:
    """A program that was traced.

    Attributes:
        trace: Its file.
        steps: Of `make`'s steps that the trace holds.
        fitted: Whether constants of kernel_time.py were fitted on it.
    """

    name: str
    trace: str
    gpu: str
    steps: int
    fitted: bool
    make: Callable[[str], Step]


def vit(device: str) -> Step:
    """ViT-base, bf16, 4 images."""
    from transformers import ViTConfig, ViTForImageClassification

    model = _half(ViTForImageClassification(ViTConfig(num_labels=2)), device)
    images = torch.rand(4, 3, 224, 224, device=device, dtype=torch.bfloat16)
    return _inference(lambda: model(images))


def bert(device: str) -> Step:
    """BERT-small as a masked language model, bf16, one sentence of 141 tokens."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
        intermediate_size=2048,
    )  # fmt: skip
    model = _half(BertForMaskedLM(config), device)
    words = torch.ones(1, 141, dtype=torch.long, device=device)
    return _inference(lambda: model(words, attention_mask=torch.ones_like(words)))


def qwen(device: str) -> Step:
    """Qwen1.5-0.5B without its head, bf16, 16 prompts of 559 tokens."""
    from transformers import Qwen2Config, Qwen2Model

    config = Qwen2Config(
        hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
        num_key_value_heads=16, intermediate_size=2816, vocab_size=151936,
    )  # fmt: skip
    model = _half(Qwen2Model(config), device)
    words = torch.ones(16, 559, dtype=torch.long, device=device)
    return _inference(lambda: model(words, use_cache=False))


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.shortcut: nn.Module | None = None
        if stride != 1 or inputs != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                nn.BatchNorm2d(4 * width),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the block."""
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = functional.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return functional.relu(y, inplace=True)


def resnet50() -> nn.Sequential:
    """Return ResNet-50 for a thousand classes."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
        nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    inputs = 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(depth):
            stride = 2 if width > 64 and block == 0 else 1
            layers.append(Bottleneck(inputs, width, stride))
            inputs = 4 * width
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)
    )


def resnet_training(device: str, *, foreach: bool = False) -> Step:
    """A training step of ResNet-50, float32, 32 images, SGD as torch 1.9 ran it.

    That is one parameter after the other, gradients set to zero and not to None.
    """
    model = resnet50().to(device).train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.001, momentum=0.9, foreach=foreach
    )
    images = torch.rand(32, 3, 224, 224).pin_memory()
    labels = torch.zeros(32, dtype=torch.long).pin_memory()

    def step() -> None:
        loss = functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()

    return step


def _half(model: nn.Module, device: str) -> nn.Module:
    return model.eval().to(device=device, dtype=torch.bfloat16)


def _inference(run: Callable[[], Any]) -> Step:
    def step() -> None:
        with torch.no_grad():
            run()

    return step


@contextmanager
def few_values() -> Iterator[None]:
    """Skip the first values of weights, of which only the shapes matter here."""
    with torch.device("meta"):
        yield


PROGRAMS = (
    Program("ViT-base, bf16, 4 images", "h100-vit-nsfw-inference", "H100 SXM", 1,
            True, vit),
    Program("BERT-small, bf16, 1 x 141", "h100-bert-small-launch-bound", "H100 SXM", 1,
            True, bert),
    Program("Qwen1.5-0.5B, bf16, 16 x 559", "h100-qwen0.5b-chat", "H100 SXM", 1,
            True, qwen),
    Program("ResNet-50 training, fp32, 32 images",
            "kineto2021-v100-resnet50-workers0-memory", "V100", 6, True,
            resnet_training),
)  # fmt: skip
