# SPDX-License-Identifier: BSD-3-Clause
"""speed.py [TRACE...]: how fast the network scores a trace, and learns from one.

Prints a table: windows and events a second on each number of threads, of scoring and of
a training step with all losses. The weights are random: speed does not depend on them.
Each figure is the best of some rounds, for other programs only make one slower.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import torchtraceap
from torchtraceap.torch_module import load_torch_module

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
# Windows of a training step, each of two twins.
STEP_WINDOWS = 32


def best(call: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest round, after one that is not counted."""
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def step_of(
    module: Any, arrays: Any, network: Any, threads: int
) -> tuple[Callable[[], Any], int]:
    """Return a training step on part of a trace, as if it were twins, and how many
    windows each twin has."""
    windows = min(len(arrays), STEP_WINDOWS)
    random = np.random.default_rng(1)
    examples = [
        module.Example(
            arrays,
            0,
            windows,
            any=(random.random((windows, 2)) < 0.2).astype(np.int8),
            recoverable=random.random(windows).astype(np.float32),
            bad=bad,
            pair=0,
        )
        for bad in (True, False)
    ]
    weights = module.LossWeights(bags=1, pairs=1, masked=1)
    training = module.Training(steps=1_000_000, weights=weights, threads=threads)
    return (lambda: network.train_step(examples, training)), windows


def rows(trace: Path, options: argparse.Namespace) -> list[str]:
    """Measure one trace; a line of the table for each number of threads."""
    module = load_torch_module()
    features = torchtraceap.analyze(trace).features()
    arrays = module.Arrays(features.windows, features.tokens, features.token_begin)
    network = module.Network(device=options.device)
    network.fit_columns([arrays])
    begin = features.token_begin
    out = []
    for threads in options.threads:
        read = {"batch_tokens": options.batch_tokens, "threads": threads}
        score = best(partial(network.score, arrays, **read), options.rounds)
        step, windows = step_of(module, arrays, network, threads)
        learn = best(step, options.rounds)
        windows, events = 2 * windows, 2 * int(begin[windows])
        out.append(
            f"{trace.name.removesuffix('.json.gz')[:44]:<44} {threads:>7}"
            f" {len(arrays):>8,} {int(begin[-1]):>8,} {score:>8.3f}"
            f" {len(arrays) / score:>10,.0f} {begin[-1] / score:>9,.0f}"
            f" {windows / learn:>10,.0f} {events / learn:>9,.0f}"
        )
    return out


def main() -> None:
    """Print what was measured on what."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("traces", nargs="*", type=Path, default=[TRACE])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu", help="as torch names it")
    parser.add_argument("--batch-tokens", type=int, default=2048)
    options = parser.parse_args()
    import torch

    network = load_torch_module().Network()
    print(f"{network.parameters:,} weights; torch {torch.__version__},", end=" ")
    print(f"{options.device}; {platform.processor() or platform.machine()}")
    print(f"{'':<44} {'':>7} {'':>8} {'':>8} {'scoring':>29} {'training':>20}")
    print(
        f"{'trace':<44} {'threads':>7} {'windows':>8} {'events':>8} {'seconds':>8}"
        f" {'windows/s':>10} {'events/s':>9} {'windows/s':>10} {'events/s':>9}"
    )
    for trace in options.traces:
        print("\n".join(rows(trace, options)), flush=True)


if __name__ == "__main__":
    main()
