# SPDX-License-Identifier: BSD-3-Clause
"""gates.py: how far the simulated part of a corpus is from real CUDA traces.

    python -m benchmarks.lab.corpus.gates CORPUS [--real ../shared/traces] [--page]

Two gates. Distances: gaps between kernels, lengths of kernels and delays of launches,
by the statistic of Kolmogorov and Smirnov, at most 0.15 each. Probe: boosted trees that
tell good windows of simulated from good windows of real traces by their features, at
most 0.80 AUROC, groups never split; and the features that tell most. Only real traces
of origins that are not held out are looked at, and like is compared with like: see
simulation/distances.py and probe.py. --page writes benchmarks/results/gates.json and
benchmarks/results/corpus_gates.md. Exit codes: 0 both gates passed, 3 not, 2 bad usage.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from benchmarks import TRACES
from benchmarks.lab import pages
from benchmarks.lab.corpus import origins, runs
from benchmarks.lab.corpus.simulation.distances import (
    distances,
    observed_in,
    real_traces,
)
from benchmarks.lab.corpus.simulation.probe import probe, read_windows


def accepted(paths: Sequence[Path]) -> dict[str, Any]:
    """Replay traces; return how many are accepted, and why others are not."""
    refused: Counter[str] = Counter()
    for path in paths:
        replay = torchtraceap.analyze(path).core_replay
        if replay.refusal:
            refused[replay.refusal] += 1
    return {
        "traces": len(paths),
        "accepted": len(paths) - sum(refused.values()),
        "refused": dict(refused),
    }


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


PROBE_GOAL = 0.80


def main() -> int:
    """Measure, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--real", type=Path, default=TRACES)
    parser.add_argument("--most", type=int, default=400, help="simulated traces read")
    parser.add_argument("--page", action="store_true", help="write the page")
    given = parser.parse_args()
    if given.most < 1:
        parser.error("--most is at least 1")
    simulated = [run for run in runs.read(given.corpus) if run.source == "S"]
    if not simulated:
        parser.error(f"{given.corpus} holds no simulated runs")
    if not (given.real / "manifest.tsv").exists():
        parser.error(f"{given.real} has no manifest.tsv")
    machine = pages.machine()
    every = max(1, len(simulated) // given.most)
    read = simulated[::every]
    paths = [runs.trace_path(given.corpus, run.name) for run in read]
    real = real_traces(given.real)
    found = distances(observed_in(real), observed_in(paths))
    origin = origins.read_manifest(given.real)
    good = read_windows(
        [(path, origin[path.name]["origin"]) for path in real],
        [(runs.trace_path(given.corpus, run.name), run.group) for run in read],
    ).good()
    told = probe(good)
    result = {
        "machine": machine,
        "runs": len(simulated),
        "compared": len(read),
        "real": [path.name.removesuffix(".json.gz") for path in real],
        "distances": [asdict(one) for one in found],
        "probe": asdict(told) | {"goal": PROBE_GOAL},
        "replays": accepted(paths[:: max(1, len(paths) // 30)]),
        "yields": summary(given.corpus, simulated),
    }
    if given.page:
        pages.write("corpus_gates", result)
    for one in found:
        print(
            f"{one.name:18} KS {one.ks:.3f}, unmatched {one.unmatched:.3f}"
            + (f" (<= {one.goal})" if one.goal else "")
        )
    print(f"probe AUROC {told.auroc:.3f} (<= {PROBE_GOAL})")
    passed = told.auroc <= PROBE_GOAL and all(
        one.goal is None or one.ks <= one.goal for one in found
    )
    return 0 if passed else 3


if __name__ == "__main__":
    sys.exit(main())
