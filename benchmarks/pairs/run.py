# SPDX-License-Identifier: BSD-3-Clause
"""run.py: gains that ranges predict, against gains that fixes were measured to have.

    python -m benchmarks.pairs.run [--pairs NAME,...] [--minutes M] [--steps N]
        [--traces FOLDER] [--keep FOLDER | --from FOLDER]

Runs each slow program and its fixed twin in turn, in one process on one thread: three
rounds, and more in its share of `--minutes`; predicts the gain from the slow trace of
the first round. --keep keeps that round's traces, from which --from predicts again,
beside the gains measured before. Writes benchmarks/results/pairs.json, pairs.md and
pairs.svg after each pair; pairs that are not named stay as they were. Exit codes: 0, or
1 if a pair broke.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import traceback
import warnings
from contextlib import closing
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import RESULTS, TRACES
from benchmarks.lab import pages
from benchmarks.lab.corpus.measure import Protocol, time_block
from benchmarks.lab.corpus.recording import record
from benchmarks.lab.corpus.workloads.pairs import Pair
from benchmarks.lab.corpus.workloads.training import Training
from benchmarks.lab.interference import observed
from benchmarks.pairs.chosen import NATURAL, Natural, chosen, lab_of
from benchmarks.pairs.page import QUIET, drawing
from benchmarks.pairs.predicting import predict, step_ms

SIDES = ("slow", "fixed")
ROUNDS_LEAST, ROUNDS_MOST = 3, 9


Row = dict[str, Any]


def protocol(steps: int, lead_in: int = 3) -> Protocol:
    """Return how many steps are timed at once, and recorded."""
    return Protocol(check=0, lead_in=lead_in, blocks=1, block=steps, active=steps)


def run_round(
    twins: dict[str, Training], steps: int, stacks: bool = True
) -> tuple[Row, dict[str, bytes]]:
    """Run both twins one after the other, without the profiler and with it. Returns
    milliseconds a step, and the traces."""
    row: Row = {}
    with observed() as others:
        for side, run in twins.items():
            gc.collect()
            row[f"plain_{side}"] = statistics.median(time_block(run, protocol(steps)))
        recordings = {}
        for side, run in twins.items():
            gc.collect()
            recordings[side] = record(run, protocol(steps), True, stacks)
            row[side] = recordings[side].facts["profiled_step_ms"]
    row["others"] = others.share
    return row, {side: recording.data for side, recording in recordings.items()}


def measured(pair: Pair, seconds: float, steps: int) -> tuple[Row, dict[str, bytes]]:
    """Run a pair; returns its part of the results, and the first round's traces."""
    end = time.monotonic() + seconds
    lab = lab_of(pair)
    stacks = pair.pattern != "recompile_or_lazy_load"  # Each has a million frames.
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        twins = dict(zip(SIDES, (slow, fixed), strict=True))
        rounds, traces = [], {}
        while len(rounds) < ROUNDS_LEAST or (
            time.monotonic() < end and len(rounds) < ROUNDS_MOST
        ):
            row, data = run_round(twins, steps, stacks)
            rounds.append(row)
            traces = traces or data
    return summary(rounds), traces


def summary(every: list[Row]) -> Row:
    """Draw rounds together: those that others disturbed little, if two and more are.

    `noise` is half of what the middle half of their gains spans, `same` by how much the
    slow program differs from itself in the next round.
    """
    quiet = [row for row in every if row["others"] < QUIET]
    rows = quiet if len(quiet) > 1 else every

    def middle(key: str) -> float:
        return statistics.median(row[key] for row in rows)

    gains = [1 - row["fixed"] / row["slow"] for row in rows]
    first, gain, third = (gains * 3)[:3]
    if rows[1:]:
        first, gain, third = statistics.quantiles(gains, n=4, method="inclusive")
    same = [abs(1 - b["slow"] / a["slow"]) for a, b in pairwise(rows)]
    plain = statistics.median(1 - r["plain_fixed"] / r["plain_slow"] for r in rows)
    return {
        "slow_ms": middle("slow"),
        "fixed_ms": middle("fixed"),
        "measured": gain,
        "noise": (third - first) / 2,
        "same": statistics.median(same) if same else 0.0,
        "plain": plain,
        "others": middle("others"),
        "rounds": len(rows),
    }


def predicted(trace: Path | bytes, pattern: str, by_step: bool = True) -> Row:
    """Return a prediction as kept."""
    report = torchtraceap.analyze(trace, quiet=True, detector="off")
    return {"pattern": pattern, **asdict(predict(report, pattern, by_step))}


def natural(pair: Natural, folder: Path) -> Row:
    """Compare two traces of others."""
    paths = {side: folder / f"{getattr(pair, side)}.json.gz" for side in SIDES}
    reports = {
        side: torchtraceap.analyze(path, quiet=True, detector="off")
        for side, path in paths.items()
    }
    slow, fixed = (
        step_ms(r) if pair.by_step else (r.trace.end_us - r.trace.start_us) / 1e3
        for r in reports.values()
    )
    return predicted(paths["slow"], pair.pattern, pair.by_step) | {
        "slow_ms": slow,
        "fixed_ms": fixed,
        "measured": 1 - fixed / slow,
        "noise": 0.0,
    }


def keep(folder: Path, name: str, traces: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for side, data in traces.items():
        (folder / f"{name}.{side}.json.gz").write_bytes(data)


def write(results: Row) -> str:
    """Write all results; returns the page."""
    text = pages.write("pairs", results)
    (RESULTS / "pairs.svg").write_text(drawing(results), "utf-8")
    return text


def main() -> int:
    """Record, predict, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", default="")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--from", type=Path, dest="kept")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")  # More workers than processors; forks.
    torch.set_num_threads(1)
    path = RESULTS / "pairs.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    about = {"torch": torch.__version__, "steps": options.steps}
    machine = before["machine"] if options.kept else pages.machine() | about
    rows: dict[str, Row] = {}
    results: Row = {"machine": machine, "natural": {}, "pairs": rows}
    known = chosen()
    names = options.pairs.split(",") if options.pairs else list(known)
    if options.pairs or options.kept:
        kept_rows = before.get("pairs", {})
        rows |= {name: kept_rows[name] for name in known if name in kept_rows}
    for pair in NATURAL:
        if (options.traces / f"{pair.slow}.json.gz").exists():
            results["natural"][pair.slow] = natural(pair, options.traces)
    broken = 0
    end = time.monotonic() + 60 * options.minutes
    for i, name in enumerate(names):
        pattern = known[name].pattern
        try:
            if options.kept:
                slow = options.kept / f"{name}.slow.json.gz"
                if name in rows and slow.exists():
                    rows[name] |= predicted(slow, pattern)
            else:
                seconds = (end - time.monotonic()) / (len(names) - i)
                row, traces = measured(known[name], seconds, options.steps)
                if options.keep:
                    keep(options.keep, name, traces)
                rows[name] = predicted(traces["slow"], pattern) | row
                print(name, rows[name], flush=True)
        except Exception:  # The others are worth having.
            traceback.print_exc()
            broken += 1
        text = write(results)
    print(text)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
