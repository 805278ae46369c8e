# SPDX-License-Identifier: BSD-3-Clause
"""yields.py: what the causes of simulated runs cost: nulls, bands, base rates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab.corpus import runs

#: Shares of the run's time that causes cost: harmless, grey, and the bands of strength.
BANDS = (("< 2", 0.02), ("2-5", 0.05), ("5-10", 0.10), ("10-20", 0.20), ("20-50", 0.50),
         ("> 50", 9.0))  # fmt: skip
COST = 0.05
_WINDOWS = 100  # About as many as a trace has.


def summary(out: Path, found: Sequence[runs.Run]) -> dict[str, Any]:
    """Count roles, costs of causes by kind, and windows that have a pattern."""
    kinds: dict[str, list[float]] = defaultdict(list)
    rates: dict[str, float] = defaultdict(float)
    hit = with_hit = 0.0
    goods = [run for run in found if run.role != "slow"]
    for run in found:
        for cause in run.causes:
            kind = "null" if cause.null else "natural" if cause.natural else "put in"
            kinds[kind].append(cause.saved)
        truth = runs.read_truth(out, run.name)
        some = np.zeros(_WINDOWS, bool)
        for (pattern, _), moments in truth.items():
            if pattern == runs.ALL:
                continue
            edges = np.linspace(moments[0, 0], moments[0, -1], _WINDOWS + 1)
            costs = runs.saved_share(moments, edges[:-1], edges[1:]) >= COST
            rates[pattern] += costs.mean() / len(found)
            if pattern != "launch_bound":
                some |= costs
        hit += some.mean() / len(found)
        with_hit += (run.role != "slow") * some.any() / max(len(goods), 1)
    return {
        "roles": dict(Counter(run.role for run in found)),
        "gpus": dict(Counter(run.gpu for run in found)),
        "programs": len({run.group for run in found}),
        "costs": {kind: _bands(values) for kind, values in kinds.items()},
        "window_rate": {name: round(rate, 4) for name, rate in sorted(rates.items())},
        "window_rate_but_launch_bound": round(hit, 4),
        "good_runs_with_windows": round(with_hit, 4),
    }


def _bands(values: Sequence[float]) -> dict[str, int]:
    counts = Counter(
        next(name for name, most in BANDS if value < most) for value in values
    )
    return {name: counts[name] for name, _ in BANDS}
