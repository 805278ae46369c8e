# SPDX-License-Identifier: BSD-3-Clause
"""training_programs.py: training steps as people write them, for any device.

Each takes a device and returns what it worked out. Its random numbers are the host's,
so every device gets the same. Lines at which the host waits for a GPU end in `# waits`.
"""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def diffusion_step(device: str) -> Any:
    """A U-Net with skip connections predicts the noise, channels last."""

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
            self.norm = nn.GroupNorm(2, outputs)
            self.time = nn.Linear(8, outputs)

        def forward(self, x: Tensor, time: Tensor) -> Tensor:
            return F.silu(self.norm(self.conv(x)) + self.time(time)[:, :, None, None])

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down1, self.down2 = Block(3, 8), Block(8, 16)
            self.middle = Block(16, 16)
            self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
            self.up1 = Block(16, 8)
            self.out = nn.Conv2d(8, 3, 1)

        def forward(self, x: Tensor, steps: Tensor) -> Tensor:
            rate = torch.exp(torch.arange(4, device=x.device) * (-math.log(1e4) / 4))
            angle = steps[:, None] * rate
            time = torch.cat([angle.sin(), angle.cos()], dim=1)
            one = self.down1(x, time)
            two = self.down2(F.avg_pool2d(one, 2), time)
            low = self.middle(two, time)
            return self.out(self.up1(torch.cat([self.up(low), one], 1), time))

    net = UNet().to(device, memory_format=torch.channels_last)  # waits
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kept = torch.linspace(0.99, 0.01, 100, device=device)
    losses = []
    for _ in range(2):
        images = torch.randn(2, 3, 8, 8).to(device)  # waits
        images = images.contiguous(memory_format=torch.channels_last)
        noise = torch.randn(2, 3, 8, 8).to(device)  # waits
        steps = torch.randint(0, 100, (2,)).to(device)  # waits
        share = kept[steps][:, None, None, None]
        noisy = share.sqrt() * images + (1 - share).sqrt() * noise
        loss = F.mse_loss(net(noisy, steps), noise)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist(), net.out.weight  # waits


def gradient_penalty(device: str) -> Any:
    """A gradient of a gradient, and clipping."""
    critic = nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 1))
    critic.to(device)  # waits
    x = torch.randn(4, 6).to(device).requires_grad_()  # waits
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
    penalty.backward()
    norm = nn.utils.clip_grad_norm_(critic.parameters(), 0.1)
    return penalty, norm, critic[0].weight.grad


def averaged_and_accumulated(device: str) -> Any:
    """Gradients of several small batches, a schedule, a mean of weights over time."""
    net = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    net.to(device)  # waits
    mean = copy.deepcopy(net).requires_grad_(False)
    swa = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=4)
    seen = torch.zeros((), device=device)
    for number in range(4):
        x, y = torch.randn(4, 6), torch.randint(0, 2, (4,))
        x, y = x.to(device), y.to(device)  # waits
        loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
        (loss / 2).backward()
        seen += loss.detach()
        if number % 2:
            nn.utils.clip_grad_value_(net.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for slow, fast in zip(mean.parameters(), net.parameters(), strict=True):
                    slow.lerp_(fast, 0.1)
                for slow, fast in zip(mean.buffers(), net.buffers(), strict=True):
                    slow.copy_(fast)
            swa.update_parameters(net)  # waits
            schedule.step()
    total = seen.item()  # waits
    return (
        total,
        mean.state_dict(),
        swa.module[0].weight,
        schedule.get_last_lr(),
    )


def mixed_precision(device: str) -> Any:
    """autocast and GradScaler, with clipping between the two."""
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    net.to(device)  # waits
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device, init_scale=64.0)
    losses = []
    for _ in range(2):
        x, y = torch.randn(6, 8), torch.randint(0, 4, (6,))
        x, y = x.to(device), y.to(device)  # waits
        with torch.autocast(device, dtype=torch.bfloat16):
            out = net(x)
            assert out.dtype == torch.bfloat16
        loss = F.cross_entropy(out.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)  # waits
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return torch.stack(losses), scaler.get_scale()  # waits


def saved_and_resumed(device: str) -> Any:
    """A checkpoint is written after two steps and read into a new model."""

    def new() -> tuple[nn.Module, torch.optim.Optimizer]:
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to(device)  # waits
        return net, torch.optim.AdamW(net.parameters(), lr=0.01)

    def step(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor) -> Tensor:
        loss = net(x).square().sum() + net(x)[:, 0].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.randn(6, 4).to(device)  # waits
    net, optimizer = new()
    for _ in range(2):
        step(net, optimizer, x)
    file = io.BytesIO()
    kept = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(kept, file)  # waits
    file.seek(0)
    state = torch.load(file, map_location="cpu")
    resumed, its_optimizer = new()
    resumed.load_state_dict(state["net"])  # waits
    its_optimizer.load_state_dict(state["optimizer"])  # waits
    return (
        step(net, optimizer, x),
        step(resumed, its_optimizer, x),
        resumed.state_dict(),
    )


def own_operator(device: str) -> Any:
    """An operator with its own backward, hooks, anomalies looked for by hand."""

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, step: float) -> Tensor:
            ctx.save_for_backward(x)
            return torch.round(x / step) * step

        @staticmethod
        def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
            (x,) = ctx.saved_tensors
            return grads[0] * (x.abs() < 1), None

    norms: list[Tensor] = []
    weights = torch.randn(5, 5).to(device).requires_grad_()  # waits
    weights.register_hook(lambda grad: norms.append(grad.norm()))
    x = torch.randn(3, 5, device="cpu").to(device)  # waits
    loss = (x @ Rounded.apply(weights, 0.25)).logsumexp(1).sum()
    loss.backward()
    if not torch.isfinite(loss):  # waits
        raise ValueError("the loss is not a number")
    return loss, norms[0], weights.grad


TRAINING_PROGRAMS: tuple[Callable[[str], Any], ...] = (
    diffusion_step,
    gradient_penalty,
    averaged_and_accumulated,
    mixed_precision,
    saved_and_resumed,
    own_operator,
)
