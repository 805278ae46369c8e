# SPDX-License-Identifier: BSD-3-Clause
"""families/samples.py: batches that several families share, and their losses.

All are drawn on the host from a generator, so that equal seeds give equal batches.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.lab.corpus.workloads.families.family import SOURCES, Batch, Config


def sources(config: Config, rng: torch.Generator) -> Tensor:
    """Draw from which of the data sets each sample came."""
    return torch.randint(SOURCES, (config["batch"],), generator=rng)


def images(config: Config, rng: torch.Generator) -> Tensor:
    """Draw images, (batch, 3, side, side), between -0.5 and 0.5.

    Few grey levels, as in a photograph, so that packed images take time to unpack.
    """
    shape = (config["batch"], 3, config["side"], config["side"])
    return torch.randint(64, shape, generator=rng) / 64 - 0.5


def labeled_images(config: Config, rng: torch.Generator) -> Batch:
    pixels = images(config, rng)
    target = torch.randint(config["classes"], (config["batch"],), generator=rng)
    return pixels, sources(config, rng), target


def masked_images(config: Config, rng: torch.Generator) -> Batch:
    """Draw images and a class for each pixel, in squares of 4 x 4."""
    pixels = images(config, rng)
    coarse = (config["batch"], config["side"] // 4, config["side"] // 4)
    squares = torch.randint(config["classes"], coarse, generator=rng)
    target = squares.repeat_interleave(4, 1).repeat_interleave(4, 2)
    return pixels, sources(config, rng), target


def boxed_images(config: Config, rng: torch.Generator) -> Batch:
    """Draw images and objects, (batch, objects, 5): class, center, width and height.

    In shares of the image's side.
    """
    pixels = images(config, rng)
    shape = (config["batch"], config["objects"])
    classes = torch.randint(config["classes"], (*shape, 1), generator=rng)
    center = 0.2 + 0.6 * torch.rand(*shape, 2, generator=rng)
    size = 0.1 + 0.3 * torch.rand(*shape, 2, generator=rng)
    target = torch.cat([classes.float(), center, size], dim=2)
    return pixels, sources(config, rng), target


def deep_images(config: Config, rng: torch.Generator) -> Batch:
    """Draw images and the logarithm of each pixel's depth, smooth over the image."""
    pixels = images(config, rng)
    side = config["side"]
    coarse = torch.rand(config["batch"], 1, 4, 4, generator=rng)
    depth = F.interpolate(coarse, size=(side, side), mode="bilinear")
    return pixels, sources(config, rng), depth.squeeze(1)


def posed_images(config: Config, rng: torch.Generator) -> Batch:
    """Draw images and joints, (batch, joints, 2), in shares of the image's side."""
    pixels = images(config, rng)
    joints = torch.rand(config["batch"], config["joints"], 2, generator=rng)
    return pixels, sources(config, rng), joints


def sentences(config: Config, rng: torch.Generator) -> Batch:
    """Draw tokens, (batch, length); the target of each is the next."""
    shape = (config["batch"], config["length"] + 1)
    text = torch.randint(config["vocabulary"], shape, generator=rng)
    tokens, target = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    return tokens, sources(config, rng), target


def class_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(outputs, target, reduction="none")


def pixel_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Score (batch, classes, side, side) against a class for each pixel."""
    return F.cross_entropy(outputs, target, reduction="none").mean((1, 2))


def token_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Score (batch, length, vocabulary) against the tokens."""
    tokens = F.cross_entropy(outputs.flatten(0, 1), target.flatten(), reduction="none")
    return tokens.view_as(target).mean(1)


def square_losses(outputs: Tensor, target: Tensor) -> Tensor:
    return (outputs - target).square().flatten(1).mean(1)


def depth_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Score log depths, (batch, side, side), whatever their common scale.

    Half the squared mean is taken off the mean square; edges that are not in the
    target count a tenth.
    """
    error = (outputs - target).flatten(1)
    scaled = error.square().mean(1) - 0.5 * error.mean(1).square()
    across = (outputs.diff(dim=2) - target.diff(dim=2)).abs().flatten(1).mean(1)
    down = (outputs.diff(dim=1) - target.diff(dim=1)).abs().flatten(1).mean(1)
    return scaled + 0.1 * (across + down)


def heat_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Score a map for each joint, (batch, joints, side, side), against places.

    A map should be a bell of a twentieth of the side around the joint.
    """
    side = outputs.shape[-1]
    steps = (torch.arange(side, device=outputs.device) + 0.5) / side
    x, y = ((-((steps - target[:, :, i, None]) / 0.1).square()).exp() for i in (0, 1))
    return square_losses(outputs, y[:, :, :, None] * x[:, :, None, :])
