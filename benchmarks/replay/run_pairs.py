# SPDX-License-Identifier: BSD-3-Clause
"""run_pairs.py: gains of fixes predicted by replays, against the fixed programs.

    python -m benchmarks.replay.run_pairs [--pairs NAME,...] [--rounds N]
        [--traces FOLDER] [--patience SECONDS] [--no-page] [--render]

Records each slow program and its fixed twin with torch.profiler, in turn, on one
thread; predicts the step of the fixed one from the slow trace. Writes
benchmarks/results/replay_pairs.json and benchmarks/results/replay_pairs.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import TRACES
from benchmarks.lab import pages
from benchmarks.lab.corpus.measure import Protocol
from benchmarks.lab.interference import observed, wait_for_quiet
from benchmarks.lab.pages import number

# The corpus first: its measure.py imports a package of its own.
from benchmarks.replay.pair_table import PAIRS, TimedPair
from benchmarks.replay.predicting import (
    compared,
    predict,
    run_round,
    step_less_events,
    step_ms,
)

RESNET = "ResNet-50, loader 0 -> 4 workers (traces of others)"
QUIET = 0.1  # Rounds in which others used less are taken for undisturbed.


def gained_nothing(rows: list[dict[str, Any]]) -> int:
    """Count the rounds whose fixed program took no less than the slow one."""
    return sum(row["measured"] >= row["slow"] for row in rows)


def gained_more(rows: list[dict[str, Any]]) -> int:
    """Count the rounds whose fix gained more than predicted."""
    return sum(row["measured"] < row["predicted"] for row in rows)


def not_found(rows: list[dict[str, Any]]) -> str:
    """Say what was measured in the rounds that the table leaves out."""
    out = [row for row in rows if not row["found"]]
    if not out:
        return ""
    times = ", ".join(f"{r['slow']:.1f} -> {r['measured']:.1f}" for r in out)
    return (
        f" In {len(out)} of {len(rows)} rounds nothing was found; measured there: "
        f"{times} ms."
    )


HEAD = (
    "pair", "slow", "predicted", "measured", "naive", "error, step %",
    "error, gain %", "gained more", "unprofiled / predicted %", "left", "others",
)  # fmt: skip


def middle(rows: list[dict[str, Any]], key: str) -> float | None:
    """Return the median of the rounds that have a value."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def spread(rows: list[dict[str, Any]], key: str) -> str:
    """Write the median of shares with the least and most."""
    values = [100 * row[key] for row in rows if row[key] is not None]
    if not values:
        return "-"
    text = f"{statistics.median(values):+.0f}"
    return text + (f" ({min(values):+.0f} to {max(values):+.0f})" if rows[1:] else "")


def error_of_gain(rows: list[dict[str, Any]]) -> str:
    """Write the error of the gain, and how many rounds gained nothing."""
    nothing = gained_nothing(rows)
    left_out = f"; {nothing} of {len(rows)} gained nothing" if nothing else ""
    return spread(rows, "error_of_gain") + left_out


def predicted(found: list[dict[str, Any]], rounds: int) -> str:
    """Write a prediction, and in how many rounds there was one."""
    if not found:
        return "nothing found"
    rare = f"; found in {len(found)} of {rounds}" if len(found) < rounds else ""
    return f"{middle(found, 'predicted'):.1f}{rare}"


def unprofiled(rows: list[dict[str, Any]]) -> str:
    """Write the shares of the step that go, without the profiler and predicted."""
    if not rows or "plain_slow" not in rows[0]:
        return "-"
    real = statistics.median(1 - r["plain_fixed"] / r["plain_slow"] for r in rows)
    said = statistics.median(1 - r["predicted"] / r["slow"] for r in rows)
    return f"{100 * real:.0f} / {100 * said:.0f}"


def row_of(name: str, every: list[dict[str, Any]]) -> list[str]:
    """Return a line of the table, of the rounds with findings if there are any."""
    found = [row for row in every if row["found"]]
    rows = found or every
    return [
        name,
        f"{middle(rows, 'slow'):.1f}",
        predicted(found, len(every)),
        f"{middle(rows, 'measured'):.1f}",
        f"{middle(rows, 'naive'):.1f}" if found else "-",
        spread(found, "error_of_step"),
        error_of_gain(found),
        f"{gained_more(found)} of {len(found)}" if found else "-",
        unprofiled(found),
        number(middle(rows, "left_in_fixed"), ".1f"),
        number(middle(rows, "others"), ".0%"),
    ]


def rows_of(results: dict[str, Any]) -> dict[str, Any]:
    """Return what the page says besides the figures."""
    measured = results["pairs"]
    lines = [row_of(f"`{name}`", rows) for name, rows in measured.items()]
    if results["recorded"]:
        lines.append(row_of(RESNET, [results["recorded"]]))
    every = [row for rows in measured.values() for row in rows]
    return {
        "every": every,
        "found": [row for row in every if row["found"]],
        "loud": sum(row["others"] >= QUIET for row in every),
        "gained_nothing": gained_nothing,
        "gained_more": gained_more,
        "not_found": not_found,
        "known": {pair.name: pair for pair in PAIRS},
        "head": HEAD,
        "lines": lines,
    }


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
    """Run a pair until it has `rounds` rounds that others disturbed little.

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
