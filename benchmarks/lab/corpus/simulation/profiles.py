# SPDX-License-Identifier: BSD-3-Clause
"""profiles.py: the times of host work, drawn as in one of the real traces.

A run's host is that of one measured trace (ranges.json), somewhat faster or slower as a
whole. Samples that this trace lacks come from all traces together, at its pace.
"""

from __future__ import annotations

import json
import random
import zlib
from functools import cache

import numpy as np

from benchmarks.lab.corpus.simulation.ranges import RESULT

_PLACES = 1024
_MASK = (1 << 16) - 1
#: How often something takes about as long as its name does otherwise: with each time
#: drawn again, lengths of one operator differed more than in real traces.
_STEADY = 0.7
_FARTHEST = 4.0  # Times the time that 9 of 10 stay within; 3 of these: half.
#: Not measured, in µs: medians seen when CUDA calls are traced elsewhere.
_ASSUMED = {
    "call cudaMalloc": (120.0, 260.0, 900.0),
    "call cudaFree": (60.0, 150.0, 500.0),
    "sync back": (4.0, 8.0, 20.0),
    "sync idle": (2.0, 4.0, 8.0),
}
#: What a faster host does not shorten: these stay as measured.
_DEVICE = ("latency", "latency end", "queued gap", "sync back", "sync idle")
_PACE = ("own elementwise", "call launch", "own copy")


class Profile:
    """The times of one run's host.

    Args:
        name: A trace of ranges.json.
        speed: How many times as long all takes that the host computes, the driver's
            calls among it.
        seed: The seed of the noise: the same key and channel give the same time.
    """

    def __init__(self, name: str, speed: float, seed: int) -> None:
        self._name, self._speed = name, speed
        rng = np.random.default_rng(seed)
        self._noise = rng.integers(0, _PLACES, (_MASK + 1,)).tolist()
        self._normal = rng.standard_normal(_MASK + 1).tolist()
        self._tables: dict[str, list[float]] = {}
        self._others: list[tuple[str, float]] | None = None

    def us(self, what: str, key: str | int, of: str = "") -> float:
        """Draw what takes the host or the driver so long; `key` says for whom.

        Args:
            of: A name that mostly takes about as long as another time, such as that of
                an operator; "": each time is drawn again.
        """
        table = self._tables.get(what)
        if table is None:
            table = self._tables[what] = _table(self._name, what, self._speed)
        at = self._noise[_place(what, key)]
        if of and self._noise[_place(what + "!", key)] < _STEADY * _PLACES:
            near = self._noise[_place(what, of)] + (at - _PLACES // 2) // 8
            at = min(max(near, 0), _PLACES - 1)
        return table[at]

    def steady_us(self, what: str, key: str | int) -> float:
        """Draw what hardly differs within a trace: one in ten is drawn as by us()."""
        if self._noise[_place(what + "?", key)] < _PLACES // 10:
            return min(self.us(what, key), 3 * self._median(what) + 2)
        return self._median(what) * self.factor(what, key, 0.08)

    def _median(self, what: str) -> float:
        self.us(what, "")  # Fills the table.
        return self._tables[what][_PLACES // 2]

    def other_calls(self, key: str) -> list[str]:
        """Draw which calls go before a launch, such as cudaFuncGetAttributes."""
        if self._others is None:
            found = measured()["traces"][self._name].get("other_calls", {})
            self._others = [(name, rate * _PLACES) for name, rate in found.items()]
        return [
            name
            for name, rate in self._others
            for k in range(int(rate // _PLACES) + 1)
            if self._noise[_place(name, f"{key}{k}")] < rate - k * _PLACES
        ]

    def zeroes(self, key: str) -> bool:
        """Draw whether a library's kernel has a workspace zeroed before it.

        As often as the trace has memsets, for all launches, taking a quarter of them
        for such kernels.
        """
        found = measured()["traces"][self._name]["samples"]
        rate = 4 * found.get("call memset", 0) / max(found.get("call launch", 0), 1)
        return self._noise[_place("zero", key)] < min(rate, 0.9) * _PLACES

    def factor(self, what: str, key: str | int, sigma: float) -> float:
        """Draw a factor around 1, lognormal."""
        return float(np.exp(sigma * self._normal[_place(what, key)]))


def _place(what: str, key: str | int) -> int:
    return zlib.crc32(f"{what}|{key}".encode()) & _MASK


@cache
def measured() -> dict:
    """Return ranges.json."""
    return json.loads(RESULT.read_text("utf-8"))


def draw_name(rng: random.Random, stacks: bool) -> str:
    """Draw a trace whose host there is: first an origin, then one of its traces.

    Frames of Python take time of their own, so that what lies between operators was
    measured with them or without.
    """
    by_origin: dict[str, list[str]] = {}
    wanted = {"call launch", "between frames" if stacks else "between plain"}
    for name, one in sorted(measured()["traces"].items()):
        if wanted <= one["quantiles_us"].keys():
            by_origin.setdefault(one["origin"], []).append(name)
    return rng.choice(by_origin[rng.choice(sorted(by_origin))])


def resolution_of(name: str) -> int:
    """Return what moments of a trace are multiples of, in ns."""
    quantiles = measured()["traces"][name]["quantiles_us"]["call launch"]
    whole = sum(float(q).is_integer() for q in quantiles)
    return 1000 if whole > 0.6 * len(quantiles) else 1


@cache
def _table(name: str, what: str, speed: float) -> list[float]:
    levels = np.array(measured()["levels"]) / 100
    quantiles = measured()["traces"][name]["quantiles_us"].get(what)
    if quantiles is None:
        quantiles = np.array(_pooled(what)) * _pace(name)
    at = (np.arange(_PLACES) + 0.5) / _PLACES
    quantiles = np.array(quantiles, float)
    # Beyond are moments of another kind, such as a first call, which causes put in.
    middle, high = (quantiles[measured()["levels"].index(q)] for q in (50, 90))
    most = min(_FARTHEST * high + 5, 3 * _FARTHEST * middle + 10)
    values = np.interp(at, levels, np.minimum(quantiles, most))
    # Old traces have whole microseconds; the true value of a 0 or 1 was a fraction.
    values += np.sin(np.arange(_PLACES) * 12.9898) * 0.4
    return np.maximum(values * (1.0 if what in _DEVICE else speed), 0.15).tolist()


@cache
def _pooled(what: str) -> tuple[float, ...]:
    traces = measured()["traces"]
    found = [
        np.array(one["quantiles_us"][what]) / _pace(name)
        for name, one in traces.items()
        if what in one["quantiles_us"]
    ]
    if found:
        return tuple(np.exp(np.mean(np.log(np.maximum(found, 0.2)), axis=0)))
    low, middle, high = _ASSUMED.get(what, (2.0, 5.0, 20.0))
    levels = np.array(measured()["levels"])
    return tuple(np.interp(levels, (5, 50, 95), (low, middle, high)))


@cache
def _pace(name: str) -> float:
    """Return how slow a trace's host is, against the median of all."""
    middle = measured()["levels"].index(50)
    traces = measured()["traces"]
    ratios = []
    for what in _PACE:
        all_of = [
            one["quantiles_us"][what][middle]
            for one in traces.values()
            if what in one["quantiles_us"]
        ]
        mine = traces[name]["quantiles_us"].get(what)
        if mine is not None:
            ratios.append(max(mine[middle], 0.5) / max(float(np.median(all_of)), 0.5))
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
