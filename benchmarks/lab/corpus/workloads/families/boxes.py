# SPDX-License-Identifier: BSD-3-Clause
"""families/boxes.py: anchors, and what detectors are scored by.

A box is its center, width and height, in shares of the image's side. Detectors return
(batch, places, classes + 1 + 8): scores of the classes, of there being an object, the
box, and the anchor that the place represents, so that a loss needs nothing else.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

SIZES = (0.15, 0.3)


def grid(rows: int, sizes: tuple[float, ...] = SIZES[:1]) -> Tensor:
    """Return anchors on a square grid: (rows * rows * sizes, 4)."""
    steps = (torch.arange(rows) + 0.5) / rows
    y, x = torch.meshgrid(steps, steps, indexing="ij")
    places = torch.stack([x, y], dim=-1).view(-1, 1, 2).expand(-1, len(sizes), 2)
    extent = torch.tensor(sizes).view(1, -1, 1).expand(len(places), -1, 2)
    return torch.cat([places, extent], dim=2).reshape(-1, 4)


def with_boxes(found: Tensor, anchors: Tensor) -> Tensor:
    """Turn (batch, places, classes + 5) into what detectors return."""
    logits, moved = found[..., :-4], found[..., -4:]
    center = anchors[..., :2] + 0.1 * moved[..., :2]
    size = anchors[..., 2:] * torch.exp(moved[..., 2:].clamp(-2, 2))
    anchors = anchors.expand(len(found), -1, -1)
    return torch.cat([logits, center, size, anchors], dim=2)


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Return the shared part of (batch, n, 4) and (batch, m, 4): (batch, n, m)."""
    a, b = a.unsqueeze(2), b.unsqueeze(1)
    low = torch.maximum(a[..., :2] - a[..., 2:] / 2, b[..., :2] - b[..., 2:] / 2)
    high = torch.minimum(a[..., :2] + a[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2)
    shared = (high - low).clamp(min=0).prod(-1)
    total = a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - shared
    return shared / total.clamp(min=1e-6)


def _parts(outputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    classes = outputs.shape[2] - 9
    return outputs.split([classes, 1, 4, 4], dim=2)


def _assigned(outputs: Tensor, target: Tensor, nearest: Tensor, hit: Tensor) -> Tensor:
    """Score places of which ``hit`` have the object numbered ``nearest``."""
    scores, objectness, boxes, _ = _parts(outputs)
    count = hit.sum(1).clamp(min=1)
    wanted = target.gather(1, nearest.unsqueeze(2).expand(-1, -1, 5))
    classes = F.cross_entropy(
        scores.transpose(1, 2), wanted[..., 0].long(), reduction="none"
    )
    places = F.smooth_l1_loss(boxes, wanted[..., 1:], reduction="none").sum(2)
    there = F.binary_cross_entropy_with_logits(
        objectness.squeeze(2), hit.float(), reduction="none"
    )
    # Focal: what is known already hardly counts.
    there = there * (1 - torch.exp(-there)).square()
    return ((classes + 5 * places) * hit).sum(1) / count + there.mean(1)


def center_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Give each place the smallest object that its center lies in."""
    anchors = _parts(outputs)[3]
    away = (anchors[:, :, None, :2] - target[:, None, :, 1:3]).abs()
    inside = (away < target[:, None, :, 3:] / 2).all(3)
    area = target[:, None, :, 3:].prod(3).expand(inside.shape)
    smallest, nearest = area.masked_fill(~inside, 2.0).min(2)
    return _assigned(outputs, target, nearest, smallest < 2)


def overlap_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Give each anchor the object that it shares most with, if that is a third."""
    best, nearest = overlap(_parts(outputs)[3], target[..., 1:]).max(2)
    return _assigned(outputs, target, nearest, best > 1 / 3)


def set_losses(outputs: Tensor, target: Tensor) -> Tensor:
    """Give each object the place that costs least; several may share one."""
    scores, objectness, boxes, _ = _parts(outputs)
    wanted = target[..., 0].long().unsqueeze(1).expand(-1, scores.shape[1], -1)
    classes = -scores.log_softmax(2).gather(2, wanted)
    places = torch.cdist(boxes, target[..., 1:].contiguous(), p=1.0)
    there = F.softplus(-objectness)
    cost = (classes + 5 * places + there).amin(1).mean(1)
    return cost + 0.1 * F.softplus(objectness).flatten(1).mean(1)
