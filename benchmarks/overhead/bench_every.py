# SPDX-License-Identifier: BSD-3-Clause
"""bench_every.py: does `profile(every=N, overhead=...)` keep its budget, and what does
a step between cycles cost?

    python benchmarks/overhead/bench_every.py [--rounds 6] [--steps 2000] [--no-page]

Trains the same model for as many steps without a profile, with a budget and without a
limit, back to back, in an order that turns from round to round. Writes
benchmarks/results/every.json and benchmarks/results/every.md.
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
ARMS: dict[str, dict[str, Any]] = {
    "no profile": {},
    "budget of 1 %": {"every": EVERY, "overhead": 0.01},
    "no limit": {"every": EVERY, "overhead": 1},
}
PLAIN, *PROFILED = ARMS
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


def run_arm(step: Callable[[], None], steps: int, options: dict[str, Any]) -> Any:
    """Train for so many steps; returns the seconds, and what the profile says."""
    gc.collect()
    began, began_cpu = time.perf_counter(), time.process_time()
    profile = torchtraceap.profile(quiet=True, **options) if options else None
    with profile or nullcontext():
        for _ in range(steps):
            step()
            if profile:
                profile.step()
    out: dict[str, Any] = {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - began_cpu,
    }
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


def beyond_plain(rounds: list[dict[str, Any]], arm: str, key: str) -> list[float]:
    """Return of each round by what share an arm takes more than the plain one."""
    return [one[arm][key] / one[PLAIN][key] - 1 for one in rounds]


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
    machine, rounds = results["machine"], results["rounds"]
    seconds = statistics.median(one[PLAIN]["seconds"] for one in rounds)
    rows = []
    for arm in PROFILED:
        here = [one[arm] for one in rounds]
        cycles = [cycle for one in here for cycle in one["cycles"]]
        parts = (
            f"{1e3 * statistics.median(cycle[part] for cycle in cycles):.0f}"
            for part in ("recording", "collecting", "analyzing")
        )
        rows.append(
            (
                arm,
                percent(beyond_plain(rounds, arm, "seconds")),
                percent(beyond_plain(rounds, arm, "cpu_seconds")),
                percent([one["share"] for one in here]),
                f"{statistics.median(len(one['cycles']) for one in here):.0f}",
                f"{statistics.median(one['every'] for one in here):.0f}",
                " + ".join(parts),
            )
        )
    head = (
        f"`every={EVERY}`",
        "slower",
        "more CPU time",
        "share, as `prof.overhead` says",
        "cycles",
        "every",
        "recording + collecting + analyzing a cycle, ms",
    )
    return f"""# What a cycle every N steps costs

Written by `python benchmarks/overhead/bench_every.py`; not edited by hand. How it is
used is said in [live.md](../../docs/live.md#a-run-of-days).

{machine_text(machine)}

A transformer of two layers is trained for {results["steps"]} steps, {seconds:.1f} s
without a profile, in each of three ways, back to back, in an order that turns from
round to round, {len(rounds)} rounds. *Slower* is the whole run, with its first cycle,
beyond the same round's run without a profile; *CPU time* is that of the process, which
depends less on what else the machine does. Cells are medians, with the narrowest
interval of ordered rounds that holds the median with {SURE:.0%}. *Every* is how many
steps lie between cycles at the end.

{table(head, rows)}
A step between cycles takes {results["idle_ns"]:.0f} ns of `prof.step()`.
"""


def main() -> None:
    """Measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--no-page", action="store_true", help="only print")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    machine = environments.machine() | {"torch": torch.__version__}
    step = training()
    for options in ARMS.values():  # what is loaded once
        run_arm(step, 20, options)
    rounds: list[dict[str, Any]] = []
    results = {
        "machine": machine,
        "steps": arguments.steps,
        "idle_ns": idle_ns(),
        "rounds": rounds,
    }
    for number in range(arguments.rounds):
        turned = [*ARMS][number % 3 :] + [*ARMS][: number % 3]
        order = turned if number % 2 else turned[::-1]
        rounds.append({arm: run_arm(step, arguments.steps, ARMS[arm]) for arm in order})
        print({arm: round(rounds[-1][arm]["seconds"], 3) for arm in ARMS}, flush=True)
        machine["load_after"] = os.getloadavg()[0]
        if not arguments.no_page:  # After each: who stops it keeps what there is.
            (RESULTS / "every.json").write_text(json.dumps(results, indent=1) + "\n")
            (RESULTS / "every.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
