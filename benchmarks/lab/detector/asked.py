# SPDX-License-Identifier: BSD-3-Clause
"""asked.py: the requested evaluation, and its pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.lab.detector.baselines.table import BASELINES
from benchmarks.lab.detector.baselines.task import Baseline
from benchmarks.lab.detector.folds import Fold


@dataclass(frozen=True)
class Asked:
    """What is to be evaluated.

    Attributes:
        folder: The corpus' folder.
        baselines: Their names; empty: all.
        splits: Keys of splits.SPLITS; empty: all but S7.
        seeds: How many for what another seed changes, see seeds_of.
        quick: Train less.
        jobs: Processes.
        tabicl: A checkpoint, or "".
        gold: S7 may be opened.
    """

    folder: Path
    baselines: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    seeds: int = 5
    quick: bool = False
    jobs: int = 2
    tabicl: str = ""
    gold: bool = False

    def chosen(self) -> tuple[Baseline, ...]:
        """Return the baselines asked for."""
        return tuple(
            b for b in BASELINES if not self.baselines or b.name in self.baselines
        )


class Job(NamedTuple):
    """Baselines to evaluate in one process: they share what they make of a fold."""

    fold: int
    seed: int
    baselines: tuple[str, ...]
    kept: Path


def seeds_of(fold: Fold, folds: Sequence[Fold], seeds: int) -> int:
    """Return how many seeds a fold gets: two where its split has three folds or more.

    Those folds differ by more than a seed, and each is trained again.
    """
    several = sum(other.split == fold.split for other in folds) > 2
    return min(seeds, 2) if several else seeds
