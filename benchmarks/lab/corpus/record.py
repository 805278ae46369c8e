#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""record.py: source R: pairs recorded on the CPU by torch.profiler.

    python -m benchmarks.lab.corpus.record --out DIR --seed 1 --count 40
    python -m benchmarks.lab.corpus.record --list

Each draw is a pair of programs on a family of models: both twins are checked to compute
the same, then recorded in turn with the same flags, which a draw decides as well.
Existing runs of the same start are kept. Draws that cannot run here are skipped
with the reason. On a busy machine steps are uneven, so that draws are left out; a test
takes them with --any. Exit codes: 0 all recorded, 2 bad usage, 4 some draws were left
out.
"""

from __future__ import annotations

import argparse
import math
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile, schedule

import torchtraceap
from benchmarks.lab.corpus import runs
from benchmarks.lab.corpus.command import ended, folder, seed
from benchmarks.lab.corpus.hook_times import (
    Steps,
    doubt,
    factors,
    moments,
    operators_of,
    placed,
    watch,
)
from benchmarks.lab.corpus.measure import TwinsDiffer, twins_agree
from benchmarks.lab.corpus.recording import anonymous
from benchmarks.lab.corpus.workloads.device_twins.compiling import Compiles
from benchmarks.lab.corpus.workloads.families import FAMILIES, Family
from benchmarks.lab.corpus.workloads.pairs import PAIRS, Pair
from benchmarks.lab.corpus.workloads.training import Lab, Training

CHECKED = 2  # Steps after which twins are compared.
LEAD_IN = 2
# Recordings of each twin; the last one is kept, all of them are timed. More than the
# first number only while it is unknown whether the rest of the steps differs.
ROUNDS, MOST_ROUNDS = 3, 8
#: Share of a step that may stay unexplained. A positive begins at this share.
MOST_DOUBT = 0.05
LEAST_STEPS, MOST_STEPS = 3, 5
MOST_SECONDS = 180  # For a draw; a program may compile, or wait for another rank.
LEFT_OUT = 4

#: A compilation that is recorded with stacks writes 640,000 events.
COMPILED_MEANWHILE = "recompile_or_lazy_load"
#: What compiles before it is recorded. Without code generation: inductor takes 20 times
#: as long, and a graph that is cut costs its guards and calls either way.
BACKEND = "aot_eager"


class UnevenError(Exception):
    """Steps differ so much from each other that twins cannot be compared."""


@dataclass(frozen=True)
class Draw:
    """One pair on one family, with all that was drawn for both twins."""

    pair: Pair
    family: Family
    strength: float
    seed: int
    flags: dict[str, Any]

    @property
    def name(self) -> str:
        return f"R.{self.pair.name}.{self.family.name}.{self.seed}"


def draws(seed: int, count: int, names: set[str]) -> Iterator[Draw]:
    """Yield draws: each pair in turn, in a new order each time round."""
    rng = random.Random(seed)
    here = [
        pair
        for pair in PAIRS
        if pair.needs in ("", "cpu", "compiler") and pair.pattern != COMPILED_MEANWHILE
    ]
    pairs = [pair for pair in here if not names or pair.name in names]
    made = 0
    while pairs and made < count:
        for pair in rng.sample(pairs, len(pairs)):
            if made == count:
                return
            family = rng.choice([f for f in FAMILIES.values() if pair.runs_on(f)])
            flags = {
                "with_stack": rng.random() < 0.5,
                "record_shapes": rng.random() < 0.5,
                "profile_memory": rng.random() < 0.2,
                "steps": rng.random() < 0.8,
                "active": rng.randint(LEAST_STEPS, MOST_STEPS),
            }
            strength = rng.choice(pair.strengths)
            yield Draw(pair, family, strength, seed * 100_000 + made, flags)
            made += 1


def record_pair(out: Path, draw: Draw, most_doubt: float = MOST_DOUBT) -> str:
    """Record both twins of a draw; returns a message about it.

    Args:
        out: Folder of the corpus.
        draw: What to record.
        most_doubt: Share of a step that may differ without anybody finding it.

    Raises:
        TwinsDiffer: They do not compute the same.
        UnevenError: Their steps are too uneven to tell what they save.
    """
    scale = "small" if "small" in draw.family.configs else "cpu"
    lab = Lab(torch.device("cpu"), draw.family, scale, draw.seed % 1000, draw.strength)
    with closing(draw.pair.slow(lab)) as slow, closing(draw.pair.fixed(lab)) as fixed:
        twins_agree(slow, fixed, CHECKED, draw.pair.tolerance)
        kept = {}
        times = {"slow": watch(slow), "fixed": watch(fixed)}
        seen: dict[str, list[int]] = {"slow": [], "fixed": []}
        for number in range(1, MOST_ROUNDS + 1):
            for role, run in (("slow", slow), ("fixed", fixed)):
                kept[role] = recorded(run, times[role], draw.flags)
                seen[role] += kept[role][2]
            if number < ROUNDS:
                continue
            both = [times[role].only(seen[role]) for role in ("slow", "fixed")]
            changed = factors(*both)
            if (left := doubt(*both, changed)) <= most_doubt:
                break
        else:
            raise UnevenError(
                f"what else it saves is known to {left:.0%} only: is the machine idle?"
            )
    twins = [
        (times[role], operators_of(trace, base), shown)
        for role, (trace, base, shown) in kept.items()
    ]
    saved = 0.0
    for role, (trace, base, shown) in kept.items():
        if role == "slow":
            pieces = placed(*twins, changed)
            truth = moments(times[role], changed, shown, base, pieces)
        else:
            truth = moments(times[role], {}, shown, base)
        if role == "slow":
            span = truth[:, -1] - truth[:, 0]
            saved = float(1 - span[1] / span[0])
        keep(out, draw, role, trace, truth, saved)
    return f"saves {saved:.1%} ({', '.join(changed) or 'nothing differs'})"


def recorded(
    run: Training, steps: Steps, flags: dict[str, Any]
) -> tuple[bytes, int, list[int]]:
    """Record some steps: the trace, its clock's zero, and which steps it shows."""
    for _ in range(LEAD_IN):
        run.step()
    active = flags["active"]
    with tempfile.TemporaryDirectory() as folder, run.settings():
        path = Path(folder, "trace.json")
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=1, active=active, repeat=1)
            if flags["steps"]
            else None,
            on_trace_ready=lambda ready: ready.export_chrome_trace(str(path)),
            record_shapes=flags["record_shapes"],
            with_stack=flags["with_stack"],
            profile_memory=flags["profile_memory"],
        ) as profiler:
            if flags["steps"]:
                run.step()
                profiler.step()
            first = len(steps.spans)
            for _ in range(active):
                run.step()
                if flags["steps"]:
                    profiler.step()
        trace = anonymous(path.read_bytes())
    zero = torchtraceap.load(trace).metadata["baseTimeNanoseconds"]
    return trace, int(zero), list(range(first, first + active))


def keep(
    out: Path, draw: Draw, role: str, trace: bytes, truth: np.ndarray, saved: float
) -> None:
    """Write one of two twins."""
    # Nothing here is meant to cost nothing, whatever the result. One pattern was
    # removed: the cost of patterns that both twins keep is unknown.
    cause = runs.Cause(
        draw.pair.pattern,
        draw.pair.mechanism or draw.pair.name,
        draw.strength,
        saved=saved,
        also=draw.pair.also,
    )
    slow = role == "slow"
    run = runs.Run(
        name=f"{draw.name}.{role}",
        source="R",
        group=f"{draw.pair.name}.{draw.family.name}",
        role="slow" if slow else "fixed",
        task=draw.family.task,
        family=draw.family.name,
        trains=draw.family.trains,
        seed=draw.seed,
        twin=f"{draw.name}.{'fixed' if slow else 'slow'}",
        unknown=draw.pair.leaves_on(draw.family),
        recording=draw.flags,
        causes=(cause,) if slow else (),
    )
    patterns = (draw.pair.pattern, runs.ALL)
    runs.write(out, run, trace, {(p, runs.HOST): truth for p in patterns})


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Let nothing take longer.

    Raises:
        TimeoutError: It did.
    """

    def stop(signum: int, frame: Any) -> None:
        raise TimeoutError(f"it took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record what is missing."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--out", type=folder, metavar="DIR")
    options.add_argument("--seed", type=seed, default=1)
    options.add_argument("--count", type=int, default=40, help="pairs to draw")
    options.add_argument("--pairs", default="", metavar="NAME,...", help="draw these")
    options.add_argument("--list", action="store_true", help="list the draws and end")
    options.add_argument(
        "--any",
        action="store_true",
        help="take draws however uneven: for tests and trials, labels may be wrong",
    )
    options.add_argument(
        "--seconds",
        type=int,
        default=MOST_SECONDS,
        help="a draw that takes longer is left out",
    )
    given = options.parse_args(arguments)
    torch.set_num_threads(1)
    Compiles.backend = BACKEND
    names = set(filter(None, given.pairs.split(",")))
    if unknown := names - {pair.name for pair in PAIRS}:
        options.error(f"no such pair: {', '.join(sorted(unknown))}")
    if not given.list and given.out is None:
        options.error("--out DIR says where to")
    if given.seconds < 1:
        options.error("--seconds is 1 or more")
    most_doubt = math.inf if given.any else MOST_DOUBT
    failed = 0
    chosen = list(draws(given.seed, given.count, names))
    for number, draw in enumerate(chosen, 1):
        if given.list:
            print(draw.name, draw.pair.pattern, draw.strength)
            continue
        if runs.exists(given.out, f"{draw.name}.fixed"):
            continue
        begin = time.perf_counter()
        try:
            with within(given.seconds):
                said = record_pair(given.out, draw, most_doubt)
        except (TwinsDiffer, UnevenError, TimeoutError) as error:
            said, failed = f"left out: {error}", failed + 1
        except Exception:  # One failing program must not lose the others.
            said, failed = f"left out: {traceback.format_exc(limit=-1)}", failed + 1
        took = time.perf_counter() - begin
        print(f"{number}/{len(chosen)} {draw.name}: {said}, {took:.1f} s", flush=True)
    return LEFT_OUT if failed else 0


if __name__ == "__main__":
    sys.exit(ended(main))
