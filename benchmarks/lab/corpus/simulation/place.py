# SPDX-License-Identifier: BSD-3-Clause
"""place.py: what a mechanism is told of the program it is put into."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """What a mechanism is told beside its strength.

    Attributes:
        step_us: What a step takes without any cause, in µs.
        tag: Part of the keys of what it puts in, so that two never share one.
        null: To touch the path at no cost meant.
        rng: The same whenever the mechanism is applied again.
        fixed: To write it as its fix does; most are left out instead.
        natural: As programs do that nobody put anything into.
    """

    step_us: float
    tag: str
    null: bool
    rng: random.Random
    fixed: bool = False
    natural: bool = False
