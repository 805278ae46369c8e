# SPDX-License-Identifier: BSD-3-Clause
"""folds.py: the training and test windows of one evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fold:
    """What is trained on and tested at once.

    Attributes:
        split: Key of SPLITS.
        item: What is held out.
        trained: bool [N]: windows that training may look at, labeled or not.
        train: int8 [2, N]: labels to train on, by head; UNSCORED is not to be used.
        test: int8 [2, N]: labels to test with; UNSCORED is not scored.
    """

    split: str
    item: str
    trained: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @property
    def name(self) -> str:
        """Return what identifies the fold."""
        return f"{self.split}-{self.item}".replace(">", "").replace("/", "_")


@dataclass(frozen=True)
class Skipped:
    """A split, or an item of one, that the corpus cannot serve."""

    split: str
    item: str
    reason: str
