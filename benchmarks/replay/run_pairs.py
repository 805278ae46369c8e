# SPDX-License-Identifier: BSD-3-Clause
"""run_pairs.py: what replays predict of fixes, against the fixed programs themselves.

    python -m benchmarks.replay.run_pairs [--pairs NAME,...] [--rounds N]
        [--traces FOLDER] [--patience SECONDS] [--no-page] [--render]

Records each slow program and its fixed twin with torch.profiler, in turn, on one
thread; predicts the step of the fixed one from the slow trace. Writes
benchmarks/results/replay_pairs.json and benchmarks/results/replay_pairs.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import TRACES
from benchmarks.lab import pages
from benchmarks.lab.corpus.measure import Protocol
from benchmarks.lab.interference import observed, wait_for_quiet

# The corpus first: its measure.py imports a package of its own.
from benchmarks.replay.pair_table import PAIRS, TimedPair
from benchmarks.replay.pairs_rows import QUIET
from benchmarks.replay.predicting import (
    compared,
    predict,
    run_round,
    step_less_events,
    step_ms,
)

PROTOCOL = Protocol(check=0, lead_in=6, blocks=1, block=15, active=15)
COMPILED_ROUNDS = 3
MOST_OTHERS = QUIET  # Of all processors; of two, a fifth of one.
# Recorded with 0 and with 4 loader workers: the one public pair with an answer.
RECORDED = (
    "kineto2021-v100-resnet50-workers0-memory",
    "kineto2021-v100-resnet50-workers4",
)


def recorded_pair(traces: Path) -> dict[str, Any] | None:
    """Compare the public pair of traces; None where they are not."""
    slow, fixed = (traces / f"{name}.json.gz" for name in RECORDED)
    if not (slow.exists() and fixed.exists()):
        return None
    report = torchtraceap.analyze(slow, detector="off")
    predicted = predict(report, "dataloader_bound")
    return compared(predicted, step_ms(torchtraceap.analyze(fixed, detector="off"))) | {
        "less_events": step_less_events(report, "dataloader_bound")
    }


def rounds_of(pair: TimedPair, rounds: int, patience_s: float) -> list[dict[str, Any]]:
    """Run a pair until it has so many rounds that others disturbed little.

    Once patience has run out, with those that were disturbed least.
    """
    wanted = min(rounds, COMPILED_ROUNDS) if pair.compiles else rounds
    end = time.monotonic() + patience_s
    out: list[dict[str, Any]] = []
    while True:
        wait_for_quiet(MOST_OTHERS, end - time.monotonic())
        with observed() as others:
            row = run_round(pair, PROTOCOL)
        row["others"] = others.share
        out.append(row)
        text = " ".join(f"{k} {v:.2f}" for k, v in row.items() if type(v) is float)
        print(f"{pair.name} {len(out)}: {text}", flush=True)
        quiet = sum(row["others"] < MOST_OTHERS for row in out)
        if quiet >= wanted or (len(out) >= wanted and time.monotonic() > end):
            return sorted(out, key=lambda row: row["others"])[:wanted]


def main() -> None:
    """Record, predict, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--pairs", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--patience", type=float, default=120, help="seconds a pair to wait for quiet"
    )
    options = parser.parse_args()
    names = options.pairs.split(",") if options.pairs else [p.name for p in PAIRS]
    torch.set_num_threads(1)
    machine = pages.machine()
    machine |= {"torch": torch.__version__, "steps": PROTOCOL.active}
    results = {"machine": machine, "recorded": recorded_pair(options.traces)}
    measured: dict[str, Any] = {}
    text = ""
    results["pairs"] = measured
    for pair in PAIRS:
        if pair.name not in names:
            continue
        measured[pair.name] = rounds_of(pair, options.rounds, options.patience)
        # After each, for who stops it keeps what there is.
        text = pages.write("replay_pairs", results)
    print(text)


if __name__ == "__main__":
    main()
