# SPDX-License-Identifier: BSD-3-Clause
"""hidden.py: delays one rank of a training somewhere; does the report find it?

    python -m benchmarks.stragglers.hidden [--runs 50] [--even 10]

Each run is a real training of two to four gloo processes on this machine, recorded by
torch.profiler, in which one rank is delayed in one of its functions; rank, place,
delay and the shape of the training are drawn. In another `--even` runs no rank is
delayed, and none may be blamed. Writes benchmarks/results/hidden_ranks.json and .md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks.lab import pages
from benchmarks.stragglers.hidden_program import PLACES, Case, next_batch, run_rank

#: What a report should name: a loader's process is not recorded, but who waits for it.
NAMED = {**PLACES, "loader process": next_batch}
LONGEST_S = 120


def draw(seed: int, delayed: int, even: int) -> Iterator[Case]:
    """Draw cases: each place as often as the others, in any order."""
    chance = random.Random(seed)
    places: list[str | None] = [[*NAMED][n % len(NAMED)] for n in range(delayed)]
    chance.shuffle(places)
    for number, place in enumerate([*places, *[None] * even]):
        ranks = chance.choice([2, 3, 4])
        yield Case(
            seed=seed * 1000 + number,
            ranks=ranks,
            slow_rank=chance.randrange(ranks),
            place=place,
            delay_ms=round(chance.uniform(3, 15), 2),
            width=chance.choice([64, 128, 256]),
            depth=chance.choice([3, 5, 8]),
            bucket_mb=chance.choice([0.05, 0.25, 25.0]),
            accumulation=chance.choice([1, 1, 2]),
            broadcast_buffers=chance.choice([True, False]),
        )


def record(case: Case, folder: Path) -> bool:
    """Run a training; its traces are in the folder afterwards. A run that crashes is
    made again, once; returns whether none did."""
    if _recorded(case, folder):
        return True
    shutil.rmtree(folder)
    if not _recorded(case, folder):
        raise RuntimeError(f"a rank crashed twice: {case}")
    return False


def _recorded(case: Case, folder: Path) -> bool:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hidden_program"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir(parents=True)
    ranks = [
        context.Process(target=run_rank, args=(case, rank, folder, port))
        for rank in range(case.ranks)
    ]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(LONGEST_S)
        if process.exitcode != 0:
            for other in ranks:
                other.kill()
            return False
    return True


def score(case: Case, folder: Path) -> dict[str, Any]:
    """Analyze a run, and compare the report with the drawn case."""
    job = torchtraceap.analyze(str(folder))
    facts = job.facts
    told = [
        {
            "rank": late.rank,
            "function": late.location.function if late.location else None,
            "line": late.location.line if late.location else None,
            "begins": late.location.begins if late.location else None,
            "what": late.what,
            "name": late.name,
            "waited_us": late.waited_us,
            "gain_us": late.gain_us,
        }
        for late in job.late[:5]
    ]
    by_gain = [c for c in job.culprits if c.what == "rank"]
    caused = max(job.ranks, key=lambda row: row.caused_us)
    out: dict[str, Any] = {
        "case": asdict(case),
        "told": told,
        "culprit": facts.culprit,
        "slowdown": facts.slowdown,
        "replay_error": facts.replay_error,
        "step_us": facts.step_us,
        "waited_us": facts.waited_us,
        "culprits": [c.to_dict() for c in job.culprits[:4]],
        "joined": facts.joined_collectives,
        "apart": facts.unmatched + facts.contradicted,
    }
    if case.place is None:
        return out
    code = NAMED[case.place].__code__
    right = [
        place
        for place, one in enumerate(told, 1)
        if one["rank"] == case.slow_rank
        and one["function"] == code.co_name
        and code.co_firstlineno in (one["begins"], one["line"], None)
    ]
    return out | {
        "found_at": right[0] if right else None,
        "rank_by_waiting": caused.rank == case.slow_rank,
        "rank_by_gain": bool(by_gain) and by_gain[0].name == str(case.slow_rank),
    }


def counted(results: dict[str, Any]) -> dict[str, Any]:
    """Return the page's figures for the runs: counts by place, and misses."""
    rows = results["runs"]
    delayed = [row for row in rows if row["case"]["place"] is not None]
    even = [row for row in rows if row["case"]["place"] is None]

    def counts(of: list[dict[str, Any]]) -> list[int]:
        found = [row["found_at"] for row in of]
        ranks = (
            [row["rank_by_waiting"] for row in of],
            [row["rank_by_gain"] for row in of],
        )
        named = sum(row["culprit"] == row["case"]["slow_rank"] for row in of)
        first_two = sum(at in (1, 2) for at in found)
        return [len(of), found.count(1), first_two, *map(sum, ranks), named]

    places = {
        place: [r for r in delayed if r["case"]["place"] == place] for place in NAMED
    }
    blamed = (row["culprit"] not in (None, row["case"]["slow_rank"]) for row in delayed)
    return {
        "places": {p: counts(of) for p, of in places.items() if of}
        | {"all": counts(delayed)},
        "missed": [row for row in delayed if row["found_at"] not in (1, 2)],
        "even": even,
        "wrong": sum(blamed),
    }


def main() -> None:
    """Run, score, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--even", type=int, default=10, help="runs without a delay")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, help="keep traces in this folder, and score those in it"
    )
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    machine = pages.machine() | {"torch": torch.__version__, "crashed": 0}
    rows: list[dict[str, Any]] = []
    try:
        for number, case in enumerate(draw(options.seed, options.runs, options.even)):
            own = folder / f"run{number:03}"
            if not own.is_dir():
                machine["crashed"] += not record(case, own)
            rows.append(score(case, own))
            row = rows[-1]
            print(
                f"{number:3} {case.ranks} ranks, {case.slow_rank} {case.place}"
                f" {case.delay_ms} ms: {row.get('found_at')}"
                f" {row.get('rank_by_waiting')} {row.get('rank_by_gain')}"
                f" slowdown {row['slowdown']:.3f} of {row['step_us'] / 1e3:.1f} ms",
                flush=True,
            )
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    if options.keep:  # of when they were recorded
        kept = folder / "machine.json"
        if kept.is_file():
            machine = json.loads(kept.read_text()) | {"commit": machine["commit"]}
        kept.write_text(json.dumps(machine))
    results = {"machine": machine, "seed": options.seed, "runs": rows}
    print(pages.write("hidden_ranks", results))


if __name__ == "__main__":
    main()
