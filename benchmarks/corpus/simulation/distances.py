# SPDX-License-Identifier: BSD-3-Clause
"""distances.py: how far simulated traces are from real ones, quantity by quantity.

Traces count equally: of each, as many quantiles as of any other are taken, and the
distance of Kolmogorov and Smirnov is that of the two heaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import origins
from scipy.stats import ks_2samp

from simulation.observed import Samples, observe
from simulation.ranges import FEWEST_KERNELS, NOT_WHOLE, is_nvidia

#: Goals of the protocol, by the name of the samples.
GOALS = {"gap": 0.15, "kernel": 0.15, "delay": 0.15}
_SHOWN = (
    "call launch", "latency", "queued gap", "between plain", "between frames",
    "between backward", "own light", "own outer", "own elementwise", "sync back",
)  # fmt: skip
_QUANTILES = (np.arange(400) + 0.5) / 400


@dataclass(frozen=True)
class Distance:
    """Of one quantity, in µs."""

    name: str
    ks: float
    goal: float | None
    real: tuple[float, ...]  #: 10, 50 and 90 % of real traces.
    simulated: tuple[float, ...]


def real_traces(folder: Path) -> list[Path]:
    """Return the CUDA traces that may be compared with: of origins not held out."""
    return [
        folder / file
        for file, known in origins.read_manifest(folder).items()
        if is_nvidia(file, known["gpu"])
        and not origins.held_out(known["origin"])
        and not any(part in file for part in NOT_WHOLE)
    ]


def samples_of(paths: Iterable[Path]) -> list[Samples]:
    """Read traces; those with next to no kernels are left out."""
    found = (observe(path) for path in paths)
    return [one.samples for one in found if one.kernels >= FEWEST_KERNELS]


def distances(real: list[Samples], simulated: list[Samples]) -> list[Distance]:
    """Compare every quantity that both have."""
    out = []
    for name in (*GOALS, *_SHOWN):
        heaps = [_heap(side, name) for side in (real, simulated)]
        if min(len(heap) for heap in heaps) == 0:
            continue
        told = [tuple(np.percentile(h, (10, 50, 90)).round(2).tolist()) for h in heaps]
        ks = float(ks_2samp(*heaps, method="asymp").statistic)
        out.append(Distance(name, round(ks, 3), GOALS.get(name), *told))
    return out


def _heap(side: list[Samples], name: str) -> np.ndarray:
    parts = [
        np.quantile(one[name], _QUANTILES)
        for one in side
        if len(one.get(name, ())) >= 20
    ]
    return np.concatenate(parts) if parts else np.empty(0)
