# SPDX-License-Identifier: BSD-3-Clause
"""workloads/strength.py: in how many of its places a slow twin takes its slow way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from workloads.training import Lab

Place = TypeVar("Place")


def slow_count(lab: Lab, places: int) -> int:
    """Return how many of so many places are slow: the strength's share, at least 1."""
    return min(places, max(1, round(lab.strength * places)))


def split(lab: Lab, places: Sequence[Place]) -> tuple[list[Place], list[Place]]:
    """Return the slow places and the others, each in order.

    Spread evenly, as places that follow each other tend to be of one size.
    """
    slow = slow_count(lab, len(places))
    chosen = {i * len(places) // slow for i in range(slow)}
    return (
        [place for i, place in enumerate(places) if i in chosen],
        [place for i, place in enumerate(places) if i not in chosen],
    )
