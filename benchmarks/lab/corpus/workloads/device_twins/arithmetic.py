# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/arithmetic.py: chains that one kernel could do, and kernels that could
be quicker.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families import FAMILIES, Family
from benchmarks.lab.corpus.workloads.strength import split
from benchmarks.lab.corpus.workloads.training import Lab, Training


@functools.cache
def _norms_of(name: str) -> int:
    family = FAMILIES[name]
    return len(norms(family.model(family.configs["cpu"])))


def has_norms(family: Family) -> bool:
    """Tell whether a family's model has norms to spell out."""
    return family.name in FAMILIES and _norms_of(family.name) > 0


def norms(model: nn.Module) -> list[str]:
    """Return the names of the layer and group norms that have a weight."""
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.LayerNorm | nn.GroupNorm) and module.weight is not None
    ]


class SpelledNorm(nn.Module):
    """A layer or group norm in single operations."""

    def __init__(self, norm: nn.LayerNorm | nn.GroupNorm) -> None:
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps
        self.groups = norm.num_groups if isinstance(norm, nn.GroupNorm) else 0
        self.dims = 0 if self.groups else len(norm.normalized_shape)

    def forward(self, x: Tensor) -> Tensor:
        if self.groups:
            y = x.unflatten(1, (self.groups, -1))
            around = tuple(range(2, y.dim()))
            form = (1, -1) + (1,) * (x.dim() - 2)
        else:
            y, around, form = x, tuple(range(-self.dims, 0)), self.weight.shape
        y = y - y.mean(around, keepdim=True)
        scale = (y * y).mean(around, keepdim=True) + self.eps
        y = (y / scale.sqrt()).reshape(x.shape)  # cause: norm_spelled_out
        y = y * self.weight.view(form)
        return y if self.bias is None else y + self.bias.view(form)


class SpellsOutNorms(Training):
    """Has norms in single operations; its places are the norms."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        for name in split(self.lab, norms(model))[0]:
            parent, _, last = name.rpartition(".")
            setattr(
                model.get_submodule(parent), last,
                SpelledNorm(model.get_submodule(name)),
            )  # fmt: skip
        return model


class Refines(Training):
    """Refines outputs in the slow way for its places, the samples, or for none."""

    slow = False

    def refine(self, outputs: Tensor) -> Tensor:
        alone = self.lab.share(len(outputs)) if self.slow else 0
        if alone in (0, len(outputs)):
            return self.spelled(outputs) if alone else self.whole(outputs)
        first, rest = outputs[:alone], outputs[alone:]
        return torch.cat([self.spelled(first), self.whole(rest)])

    def spelled(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def whole(self, x: Tensor) -> Tensor:
        raise NotImplementedError


class AppliesGelu(Refines):
    """Puts a GELU behind the model, in one kernel."""

    def whole(self, x: Tensor) -> Tensor:
        return F.gelu(x, approximate="tanh")


class SpellsOutGelu(AppliesGelu):
    """Spells its tanh form out."""

    slow = True

    def spelled(self, x: Tensor) -> Tensor:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + torch.tanh(inner))  # cause: gelu_spelled_out


class AppliesSoftmax(Refines):
    """Puts a tempered logarithm of a softmax behind the model."""

    def whole(self, x: Tensor) -> Tensor:
        return F.log_softmax(x, dim=-1)


class SpellsOutSoftmax(AppliesSoftmax):
    """Spells the logarithm of the softmax out."""

    slow = True

    def spelled(self, x: Tensor) -> Tensor:
        y = x - x.amax(-1, keepdim=True)
        return y - y.exp().sum(-1, keepdim=True).log()  # cause: softmax_spelled_out


class ForbidsTf32(Training):
    """Multiplies matrices in full fp32, where the tensor cores are not used."""

    allow_tf32 = False


class ForbidsTf32InConvolutions(Training):
    """Lets matrix products use the tensor cores and convolutions not."""

    @contextlib.contextmanager
    def settings(self) -> Iterator[None]:
        allowed = torch.backends.cudnn.allow_tf32
        with super().settings():
            inside = torch.backends.cudnn.allow_tf32
            torch.backends.cudnn.allow_tf32 = False
            try:
                yield
            finally:
                torch.backends.cudnn.allow_tf32 = inside
        torch.backends.cudnn.allow_tf32 = allowed


class CastsDown(Training):
    """Runs the forward pass in bfloat16 where autocast allows it."""

    def forward(self, inputs: list[Tensor]) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16):
            return super().forward(inputs).float()


class OddWords(CastsDown):
    """Has one word less than a multiple of eight, so products are misaligned."""

    def __init__(self, lab: Lab) -> None:
        config = {**lab.config, "vocabulary": lab.config["vocabulary"] - 1}
        configs = {**lab.family.configs, lab.scale: config}
        family = dataclasses.replace(lab.family, configs=configs)
        super().__init__(dataclasses.replace(lab, family=family))


class PaddedHead(nn.Module):
    """A linear layer whose product has a multiple of eight columns."""

    def __init__(self, head: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = head.weight, head.bias

    def forward(self, x: Tensor) -> Tensor:
        missing = -len(self.weight) % 8
        wide = F.linear(x, F.pad(self.weight, (0, 0, 0, missing)))
        y = wide[..., : len(self.weight)]
        return y if self.bias is None else y + self.bias


class PadsHead(OddWords):
    """Pads the product of its head and drops what was added."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        model.head = PaddedHead(model.head)
        return model
