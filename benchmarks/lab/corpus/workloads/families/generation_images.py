# SPDX-License-Identifier: BSD-3-Clause
"""families/generation_images.py: models that make images of a batch's noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.families.family import Batch, Config, Family
from benchmarks.lab.corpus.workloads.families.layers import ConvNorm, resized
from benchmarks.lab.corpus.workloads.families.samples import (
    images,
    sources,
    square_losses,
)


class Generator(nn.Module):
    """Makes an image of a vector by transposed convolutions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages = config["width"], config["stages"]
        self.rows = config["side"] >> stages
        self.wide = width << stages
        self.begin = nn.Linear(config["latent"], self.wide * self.rows**2)
        layers: list[nn.Module] = []
        for i in reversed(range(stages)):
            layers += [
                nn.ConvTranspose2d(
                    width << (i + 1), width << i, 4, 2, padding=1, bias=False
                ),
                nn.GroupNorm(4, width << i),
                nn.ReLU(),
            ]
        self.grow = nn.Sequential(*layers)
        self.paint = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, latent: Tensor) -> Tensor:
        x = self.begin(latent).view(-1, self.wide, self.rows, self.rows)
        return 0.5 * torch.tanh(self.paint(self.grow(x)))


def _shrinking(config: Config, outside: int) -> nn.Sequential:
    """Build what turns an image into ``outside`` numbers."""
    width, stages = config["width"], config["stages"]
    layers: list[nn.Module] = [ConvNorm(3, width)]
    layers += [ConvNorm(width << i, width << (i + 1), stride=2) for i in range(stages)]
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(4 * (width << stages), outside))


class Dcgan(nn.Module):
    """A generator and its critic, trained against each other in one pass.

    Returns the critic's scores of the real and of the made images: (batch, 2).
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.generator = Generator(config)
        self.critic = _shrinking(config, 1)

    def forward(self, images: Tensor, noise: Tensor) -> Tensor:
        made = self.generator(noise)
        # As it is, but its gradient changes sign: what helps the critic is bad for
        # the generator.
        made = 2 * made.detach() - made
        return torch.cat([self.critic(images), self.critic(made)], dim=1)


class Vae(nn.Module):
    """An encoder and the generator; returns the image and the code, flat."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.encoder = _shrinking(config, 2 * config["latent"])
        self.decoder = Generator(config)

    def forward(self, images: Tensor, noise: Tensor) -> Tensor:
        mean, log_deviation = self.encoder(images).chunk(2, dim=1)
        code = mean + noise * torch.exp(log_deviation.clamp(-4, 4))
        return torch.cat([self.decoder(code).flatten(1), mean, log_deviation], dim=1)


class TimedBlock(nn.Module):
    """Two convolutions with a word about the time between."""

    def __init__(self, inside: int, outside: int, hidden: int) -> None:
        super().__init__()
        self.first = ConvNorm(inside, outside)
        self.time = nn.Linear(hidden, outside)
        self.second = ConvNorm(outside, outside, active=False)
        self.skip = nn.Conv2d(inside, outside, 1, bias=False)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.first(x) + self.time(time)[:, :, None, None]
        return F.silu(self.second(y)) + self.skip(x)


class Diffusion(nn.Module):
    """A U-Net that tells the noise from the image, given how much there is."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width, stages, hidden = config["width"], config["stages"], config["latent"]
        self.time = nn.Sequential(
            nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, hidden)
        )
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(
            TimedBlock(width << max(i - 1, 0), width << i, hidden)
            for i in range(stages)
        )
        self.up = nn.ModuleList(
            TimedBlock((width << i) + (width << (i + 1)), width << i, hidden)
            for i in reversed(range(stages - 1))
        )
        self.paint = nn.Conv2d(width, 3, 3, padding=1)
        rates = torch.exp(-torch.arange(hidden // 2) / hidden * 8)
        self.register_buffer("rates", rates)

    def denoise(self, x: Tensor, share: Tensor) -> Tensor:
        """Return the noise in ``x``, of which ``share`` (batch, 1) is noise."""
        angles = 1000 * share * self.rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], dim=1))
        x, levels = self.stem(x), []
        for i, block in enumerate(self.down):
            x = block(F.avg_pool2d(x, 2) if i else x, time)
            levels.append(x)
        levels.pop()
        for block in self.up:
            level = levels.pop()
            x = block(torch.cat([level, resized(x, level)], dim=1), time)
        return self.paint(x)

    def forward(self, images: Tensor, noise: Tensor, share: Tensor) -> Tensor:
        mixed = share[:, :, None, None]
        x = (1 - mixed).sqrt() * images + mixed.sqrt() * noise
        return self.denoise(x, share)


class Sampling(Diffusion):
    """Takes the noise off in several steps, each through the whole model."""

    steps = 4

    def forward(self, images: Tensor, noise: Tensor, share: Tensor) -> Tensor:
        x = noise
        for i in range(self.steps):
            left = share * (1 - i / self.steps)
            x = x - self.denoise(x, left) / self.steps
        return x


def _with_codes(config: Config, rng: torch.Generator) -> Batch:
    pixels = images(config, rng)
    noise = torch.randn(config["batch"], config["latent"], generator=rng)
    return pixels, noise, sources(config, rng), pixels.flatten(1)


def _with_noise(config: Config, rng: torch.Generator) -> Batch:
    pixels = images(config, rng)
    noise = torch.randn(pixels.shape, generator=rng)
    share = 0.05 + 0.9 * torch.rand(config["batch"], 1, generator=rng)
    return pixels, noise, share, sources(config, rng), noise


def _critic_losses(outputs: Tensor, target: Tensor) -> Tensor:
    real, made = outputs.unbind(1)
    return F.softplus(-real) + F.softplus(made)


def _code_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Score the image and, by the divergence from a normal one, the code."""
    latent = (outputs.shape[1] - target.shape[1]) // 2
    image, mean, log_deviation = outputs.split([target.shape[1], latent, latent], dim=1)
    variance = torch.exp(2 * log_deviation.clamp(-4, 4))
    divergence = 0.5 * (mean.square() + variance - 1 - 2 * log_deviation).mean(1)
    return square_losses(image, target) + 1e-2 * divergence


# fmt: off
_CODES = {
    "cuda": dict(batch=128, side=64, width=32, stages=3, latent=128),
    "small": dict(batch=8, side=32, width=16, stages=2, latent=32),
    "cpu": dict(batch=3, side=16, width=8, stages=2, latent=8),
}
_NOISE = {
    "cuda": dict(batch=32, side=64, width=64, stages=4, latent=128),
    "small": dict(batch=4, side=32, width=16, stages=3, latent=32),
    "cpu": dict(batch=3, side=16, width=8, stages=2, latent=8),
}
# fmt: on

FAMILIES: tuple[Family, ...] = (
    Family("dcgan", _CODES, Dcgan, _with_codes, _critic_losses),
    Family("vae", _CODES, Vae, _with_codes, _code_losses),
    Family("diffusion", _NOISE, Diffusion, _with_noise, square_losses),
    Family("sampling", _NOISE, Sampling, _with_noise, square_losses, trains=False),
)
