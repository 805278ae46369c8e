# SPDX-License-Identifier: BSD-3-Clause
"""workloads/strength.py: divides the places of a twin into slow ones and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from benchmarks.lab.corpus.workloads.training import Lab

Place = TypeVar("Place")


def split(lab: Lab, places: Sequence[Place]) -> tuple[list[Place], list[Place]]:
    """Return the places at which a slow twin is slow, and the others, each in order."""
    out: tuple[list[Place], list[Place]] = [], []
    for i, place in enumerate(places):
        out[0 if lab.takes(i) else 1].append(place)
    return out
