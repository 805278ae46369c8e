# SPDX-License-Identifier: BSD-3-Clause
"""device_twins/updates.py: work parameter by parameter after the backward pass.

The places of these twins are the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.strength import split
from benchmarks.lab.corpus.workloads.training import Training

RATE = 0.01


class UpdatesTogether(Training):
    """Updates all parameters together: fused on a GPU where there is such a form."""

    make: Callable[..., torch.optim.Optimizer]
    options: dict[str, Any]

    def make_optimizer(self) -> torch.optim.Optimizer:
        return self.make([self.together(list(self.model.parameters()))], **self.options)

    def together(self, parameters: list[Tensor]) -> dict[str, Any]:
        cuda = self.device.type == "cuda"
        return {"params": parameters, "fused": cuda, "foreach": not cuda}


class UpdatesOneByOne(UpdatesTogether):
    """Updates parameter after parameter, a few small kernels for each."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        alone, rest = split(self.lab, list(self.model.parameters()))
        groups: list[dict[str, Any]] = [
            {"params": alone, "fused": False, "foreach": False}
        ]
        if rest:
            groups.append(self.together(rest))
        return self.make(groups, **self.options)


class AdamTogether(UpdatesTogether):
    make, options = torch.optim.AdamW, {}


class AdamOneByOne(UpdatesOneByOne):
    make, options = torch.optim.AdamW, {}


class SgdTogether(UpdatesTogether):
    make, options = torch.optim.SGD, {"lr": RATE, "momentum": 0.9, "nesterov": True}


class SgdOneByOne(UpdatesOneByOne):
    make, options = torch.optim.SGD, {"lr": RATE, "momentum": 0.9, "nesterov": True}

    def update(self) -> None:
        self.optimizer.step()  # cause: single_tensor_sgd


class Momentum(torch.optim.Optimizer):
    """Signed momentum, as a program's own class of optimizer has it."""

    def __init__(self, alone: list[Tensor], rest: list[Tensor]) -> None:
        groups = [{"params": part} for part in (alone, rest) if part]
        super().__init__(groups, {})
        self.alone, self.rest = alone, rest
        for p in alone + rest:
            self.state[p]["mean"] = torch.zeros_like(p)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for p in self.alone:
            mean = self.state[p]["mean"]
            mean.mul_(0.9).add_(p.grad, alpha=0.1)
            p.mul_(1 - RATE * RATE).sub_(mean, alpha=RATE)  # cause: own_optimizer
        if self.rest:
            means = [self.state[p]["mean"] for p in self.rest]
            torch._foreach_lerp_(means, [p.grad for p in self.rest], 0.1)
            torch._foreach_mul_(self.rest, 1 - RATE * RATE)
            torch._foreach_sub_(self.rest, means, alpha=RATE)


class OwnTogether(Training):
    """Has a class of its own that updates all parameters in a few calls."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return Momentum([], list(self.model.parameters()))


class OwnOneByOne(Training):
    """Has a class of its own that loops over the parameters."""

    def make_optimizer(self) -> torch.optim.Optimizer:
        return Momentum(*split(self.lab, list(self.model.parameters())))


class KeepsSomeGradients(Training):
    """Drops gradients but those of its places."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        self.kept, self.dropped = split(self.lab, list(model.parameters()))
        self.module = nn.ParameterList(self.kept)
        return model

    def clear(self) -> None:
        for p in self.dropped:
            p.grad = None
        self.fill()

    def fill(self) -> None:
        raise NotImplementedError


class FillsGradients(KeepsSomeGradients):
    """Has the module write zeros into gradients, and backward add to them."""

    def fill(self) -> None:
        self.module.zero_grad(set_to_none=False)  # cause: zero_grad_fill


class FillsOneByOne(KeepsSomeGradients):
    """Writes the zeros itself."""

    def fill(self) -> None:
        for p in self.kept:
            if p.grad is not None:
                p.grad.zero_()  # cause: zero_grad_by_hand


class MakesZeros(KeepsSomeGradients):
    """Gives every parameter a new gradient of zeros."""

    def fill(self) -> None:
        for p in self.kept:
            p.grad = torch.zeros_like(p)  # cause: zero_grad_anew


class AveragesTogether(Training):
    """Keeps a running average of the parameters, in one call."""

    def make_model(self) -> nn.Module:
        model = super().make_model()
        self.average = [p.detach().clone() for p in model.parameters()]
        return model

    @torch.no_grad()
    def finish(self, losses: Tensor) -> Tensor:
        torch._foreach_lerp_(self.average, list(self.model.parameters()), 0.01)
        return losses.detach()


class AveragesOneByOne(AveragesTogether):
    """Keeps the same average parameter by parameter."""

    @torch.no_grad()
    def finish(self, losses: Tensor) -> Tensor:
        pairs = list(zip(self.average, self.model.parameters(), strict=True))
        alone, rest = split(self.lab, pairs)
        for mean, p in alone:
            mean.mul_(0.99).add_(p, alpha=0.01)  # cause: average_by_parameter
        if rest:
            torch._foreach_lerp_([m for m, _ in rest], [p for _, p in rest], 0.01)
        return losses.detach()


class ClipsTogether(Training):
    """Limits every gradient's norm, with a few calls for all of them."""

    limit = 0.01

    def adjust(self) -> None:
        self.clip([p.grad for p in self.model.parameters()])

    def clip(self, gradients: list[Tensor]) -> None:
        norms = torch._foreach_norm(gradients)
        torch._foreach_add_(norms, 1e-6)
        factors = (self.limit / torch.stack(norms)).clamp(max=1.0)
        torch._foreach_mul_(gradients, list(factors.unbind()))


class ClipsOneByOne(ClipsTogether):
    """Limits them one by one."""

    def clip(self, gradients: list[Tensor]) -> None:
        alone, rest = split(self.lab, gradients)
        for gradient in alone:
            norm = gradient.norm() + 1e-6
            gradient.mul_((self.limit / norm).clamp(max=1.0))  # cause: clip_by_tensor
        if rest:
            super().clip(rest)
