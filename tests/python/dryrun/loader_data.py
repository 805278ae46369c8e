# SPDX-License-Identifier: BSD-3-Clause
"""loader_data.py: data that workers of any kind of process can load."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset


class Numbers(Dataset[dict[str, Any]]):
    """Eight samples of nested tensors, numbers and text."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, Any]:
        image = torch.full((3,), float(index))
        return {"image": image, "pair": (image * 2, index), "name": str(index)}


class Batch:
    """A batch of a type of its own, which knows how to be pinned."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self.images: Tensor = torch.stack([one["image"] for one in samples])

    def pin_memory(self) -> Batch:
        """Pin it, as DataLoader asks."""
        self.images = self.images.pin_memory()
        return self
