# SPDX-License-Identifier: BSD-3-Clause
"""distances.py: how far simulated traces are from real ones, quantity by quantity.

The distance is that of Kolmogorov and Smirnov, between heaps in which traces count
equally: of each as many quantiles are taken. Simulated programs keep their device busy
more often than those whose traces people publish, and by design: half of the runs are
to be good. So that like is compared with like, simulated traces count as much as it
takes for each stratum of the busy fraction to weigh what it weighs among the real
ones; the distance with all of them counting equally is reported beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.lab.corpus import origins
from benchmarks.lab.corpus.simulation.observed import Observed, observe
from benchmarks.lab.corpus.simulation.ranges import FEWEST_KERNELS, NOT_WHOLE, is_nvidia

#: Goals of the protocol, by the name of the samples.
GOALS = {"gap": 0.15, "kernel": 0.15, "delay": 0.15}
_SHOWN = (
    "call launch", "latency", "queued gap", "between plain", "between frames",
    "between backward", "own light", "own outer", "own elementwise",
)  # fmt: skip
_QUANTILES = 400  #: Of a trace that counts once.
_FEWEST_SAMPLES = 20
#: Borders of the strata of the busy fraction.
STRATA = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Distance:
    """Of one quantity, in µs."""

    name: str
    ks: float  #: Strata as among the real traces.
    unmatched: float  #: All simulated traces count equally.
    goal: float | None
    traces: int  #: Real ones that have enough of it.
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


def observed_in(paths: Iterable[Path]) -> list[Observed]:
    """Read traces; those with next to no kernels are left out."""
    found = (observe(path) for path in paths)
    return [one for one in found if one.kernels >= FEWEST_KERNELS]


def matched(real: Sequence[float], made: Sequence[float]) -> np.ndarray:
    """Return how much each of ``made`` counts, 1 on average over all that can.

    Args:
        real: Busy fractions, 0 to 1.
        made: The same of what is to be like them.

    A stratum with nothing made in it is matched by nothing, and left out of the sum.
    """
    at, of = (np.searchsorted(STRATA, busy) for busy in (real, made))
    many = len(STRATA) + 1
    wanted = np.bincount(at, minlength=many) / len(at)
    there = np.bincount(of, minlength=many)
    wanted = np.where(there > 0, wanted, 0.0)
    counts = (wanted / wanted.sum() * len(of) / np.maximum(there, 1))[of]
    return np.asarray(counts)


def distances(real: list[Observed], simulated: list[Observed]) -> list[Distance]:
    """Compare every quantity that both have."""
    out = []
    for name in (*GOALS, *_SHOWN):
        sides = [
            [one for one in side if len(one.samples.get(name, ())) >= _FEWEST_SAMPLES]
            for side in (real, simulated)
        ]
        if not all(sides):
            continue
        counts = matched(*([one.busy for one in side] for side in sides))
        theirs = _heap(sides[0], name, np.ones(len(sides[0])))
        ours = _heap(sides[1], name, counts)
        equal = _heap(sides[1], name, np.ones(len(sides[1])))
        told = [
            tuple(np.percentile(heap, (10, 50, 90)).round(2).tolist())
            for heap in (theirs, ours)
        ]
        out.append(
            Distance(
                name,
                _distance(theirs, ours),
                _distance(theirs, equal),
                GOALS.get(name),
                len(sides[0]),
                *told,
            )
        )
    return out


def _heap(side: list[Observed], name: str, counts: np.ndarray) -> np.ndarray:
    parts = []
    for one, count in zip(side, counts, strict=True):
        many = round(float(count) * _QUANTILES)
        if many:
            levels = (np.arange(many) + 0.5) / many
            parts.append(np.quantile(one.samples[name], levels))
    return np.concatenate(parts)


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    return round(float(ks_2samp(a, b, method="asymp").statistic), 3)
