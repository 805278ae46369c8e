# SPDX-License-Identifier: BSD-3-Clause
"""bench_every.py: does `profile(every=N, overhead=...)` keep its budget, and what does
a step between cycles cost?

    python benchmarks/overhead/bench_every.py [--pairs 60] [--steps 4000] [--no-page]

Whether `prof.overhead` is true is told by short runs of a few cycles without a limit,
each back to back with the same training without a profile, in alternating order: what
lasts a second is hardly disturbed by what else the machine does. Whether the budget is
kept is then told by one long run. Writes benchmarks/results/every.json and every.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "loader"))

import environments  # noqa: E402
import torch  # noqa: E402
from render import table  # noqa: E402

import torchtraceap  # noqa: E402

RESULTS = environments.ROOT / "benchmarks" / "results"
EVERY = 50
BUDGET = 0.01
SHORT = 2 * EVERY + 10  # Steps; three cycles begin in them.
IDLE_CALLS = 200_000
SURE = 0.95


def training() -> Callable[[], None]:
    """Return one step of training a small transformer."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = torch.randn(4, 16, 256)

    def step() -> None:
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def train(
    step: Callable[[], None], steps: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Train for so many steps; returns the seconds, and what the profile says."""
    gc.collect()
    profile = torchtraceap.profile(quiet=True, **options) if options else None
    began = time.perf_counter()
    with profile or nullcontext():
        for _ in range(steps):
            step()
            if profile:
                profile.step()
    out: dict[str, Any] = {"seconds": time.perf_counter() - began}
    if profile:
        said = profile.overhead
        out |= {"share": said.share, "every": said.every}
        out["cycles"] = [asdict(cycle) for cycle in said.cycles]
    return out


def idle_ns() -> float:
    """Return what a step between cycles takes, the least of seven times many."""
    with torchtraceap.profile(quiet=True, every=10**9) as prof:
        for _ in range(30):  # past the first cycle
            torch.ones(3).sum()
            prof.step()

        def once() -> float:
            begin = time.perf_counter_ns()
            for _ in range(IDLE_CALLS):
                prof.step()
            return (time.perf_counter_ns() - begin) / IDLE_CALLS

        return min(once() for _ in range(7))


def interval(values: list[float]) -> tuple[float, float, float]:
    """Return the median, and the narrowest pair of ordered values round it that has
    the true one between it as surely as SURE; all of them if they are too few."""
    ordered, count = sorted(values), len(values)
    outside, cut = 0.0, 0
    while True:
        outside += 2 * math.comb(count, cut) / 2**count
        if outside > 1 - SURE:
            break
        cut += 1
    cut = max(0, cut - 1)
    return statistics.median(ordered), ordered[cut], ordered[count - 1 - cut]


def percent(values: list[float]) -> str:
    """Write shares with their interval."""
    middle, low, high = (f"{100 * value:+.2f}" for value in interval(values))
    return f"{middle} % ({low} to {high})"


def machine_text(machine: dict[str, Any]) -> str:
    """Write what the figures depend on."""
    return (
        f"{machine['date']}, commit {machine['commit']}. {machine['processor']}, "
        f"{machine['cores']} cores; load average {machine['load_before']:.1f} before "
        f"and {machine['load_after']:.1f} after. torch {machine['torch']}, one thread."
    )


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    pairs, long = results["pairs"], results["long"]
    profiled = [one["profiled"] for one in pairs]
    slower = [one["profiled"]["seconds"] / one["plain"]["seconds"] - 1 for one in pairs]
    # Of the plain run's time, as the other one is.
    said = [one["share"] / (1 - one["share"]) for one in profiled]
    shares = [
        ("measured", percent(slower)),
        ("as `prof.overhead` says", percent(said)),
    ]
    seconds = statistics.median(one["plain"]["seconds"] for one in pairs)
    cycles = [cycle for one in profiled for cycle in one["cycles"]]
    parts = [
        (part, f"{1e3 * statistics.median(cycle[part] for cycle in cycles):.0f}")
        for part in ("recording", "collecting", "analyzing")
    ]
    return f"""# What a cycle every N steps costs

Written by `python benchmarks/overhead/bench_every.py`; not edited by hand. How it is
used is said in [live.md](../../docs/live.md#a-run-of-days).

{machine_text(results["machine"])}

## Is `prof.overhead` true?

A transformer of two layers is trained for {SHORT} steps, {seconds:.2f} s without a
profile, and with `profile(every={EVERY}, overhead=1)`, which is no limit: {len(pairs)}
pairs, back to back, in alternating order. Both are beyond the run without a profile;
medians, with the narrowest interval of ordered pairs that holds the median with
{SURE:.0%}.

{table(("", "slower"), shares)}
{table(("of a cycle", "ms"), parts)}
## Is the budget kept?

The same for {results["steps"]} steps, with `every={EVERY}, overhead={BUDGET}`, once:
{long["seconds"]:.1f} s, of which cycles cost {100 * long["share"]:.2f} %
({100 * BUDGET:g} % are allowed); they began with steps
{", ".join(f"{cycle['step']:,}" for cycle in long["cycles"])}. At the end there is one
every {long["every"]:,} steps.

## Between cycles

`prof.step()` takes {results["idle_ns"]:.0f} ns.
"""


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--steps", type=int, default=4000, help="of the long run")
    parser.add_argument("--no-page", action="store_true", help="only print")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine = environments.machine() | {"torch": torch.__version__}
    step = training()
    arms = {"plain": {}, "profiled": {"every": EVERY, "overhead": 1}}
    for options in arms.values():  # what is loaded once
        train(step, SHORT, options)
    pairs = []
    for number in range(arguments.pairs):
        order = [*arms][:: 1 if number % 2 else -1]
        pairs.append({arm: train(step, SHORT, arms[arm]) for arm in order})
    results = {
        "machine": machine,
        "steps": arguments.steps,
        "idle_ns": idle_ns(),
        "long": train(step, arguments.steps, {"every": EVERY, "overhead": BUDGET}),
        "pairs": pairs,
    }
    machine["load_after"] = os.getloadavg()[0]
    if not arguments.no_page:
        (RESULTS / "every.json").write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "every.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
