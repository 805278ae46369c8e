# SPDX-License-Identifier: BSD-3-Clause
"""pairs.py: (f) slow and fixed programs on the device, gains predicted and measured.

Runs record_cuda.py into OUT/cuda, which goes on with the pairs that are missing there,
for all but the last part of its time. Then the gain predicted from each slow trace is
compared with the gain between the recordings and without a profiler: OUT/pairs.md.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torchtraceap
from benchmarks import ROOT
from benchmarks.device.findings import Findings, parse, write
from benchmarks.lab.corpus.manifest import read_archive
from benchmarks.lab.corpus.workloads.pairs import PAIRS, cases
from benchmarks.pairs.predicting import predict, step_ms

RECORD = "benchmarks.lab.corpus.record_cuda"
MOST_MB = 20  # What the repository keeps; two archives.
#: Of the time, what the table may take; a trace takes well under a second.
TABLE_SHARE, TABLE_MOST_S = 0.25, 25.0
#: A rehearsal's, one of each kind: kept, refused on a CPU, with a loader's workers.
REHEARSED = (
    "item_per_parameter.recommender,norm_spelled_out.cnn,fp32_matmul.recommender,"
    "loader_without_workers.cnn"
)
#: Compiling takes the better part of a minute a pair, cold.
COMPILING_FROM_S = 300
GRACE_S = 8  # Until a recording that passed its time is stopped.
HEAD = ("pair", "pattern", "found", "timed", "recorded", "predicted", "label")


def chosen(device: str, seconds: float) -> str:
    """Return the pairs to record, in the table's order."""
    if device == "cpu":
        return REHEARSED
    names = [
        case.name
        for case in cases(PAIRS)
        if seconds >= COMPILING_FROM_S or case.pair.needs != "compiler"
    ]
    return ",".join(names)


def recorded(device: str, folder: Path, seconds: float) -> tuple[bool, str]:
    """Record for so long; returns whether that went well, and how it ended."""
    command = [sys.executable, "-m", RECORD, "--device", device]
    command += ["--out", str(folder), "--max-mb", str(MOST_MB)]
    command += ["--minutes", str(seconds / 60), "--pairs", chosen(device, seconds)]
    try:
        # Its own limit is soft while it times.
        done = subprocess.run(command, cwd=ROOT, timeout=seconds + GRACE_S)
    except subprocess.TimeoutExpired:
        return True, "was stopped at its limit"
    ends = {0: "is done", 1: "had a case that failed", 3: "had no time for the rest"}
    if done.returncode in ends:
        return True, ends[done.returncode]
    return False, "was refused: see the log; is OUT/cuda of another machine or broken?"


def traces(folder: Path, case: dict[str, Any]) -> dict[str, bytes]:
    """Read both traces of a recorded case."""
    sides = {side: case[side]["trace"] for side in ("slow", "fixed")}
    return {
        side: read_archive(folder / trace["archive"])[trace["member"]]
        for side, trace in sides.items()
    }


def row_of(case: dict[str, Any], pattern: str, files: dict[str, bytes]) -> Any:
    """Compare a case; shares are of the slow step."""
    slow = torchtraceap.analyze(files["slow"], quiet=True, detector="off")
    fixed = torchtraceap.analyze(files["fixed"], quiet=True, detector="off")
    predicted = predict(slow, pattern)
    return {
        "pattern": pattern,
        "found": predicted.found,
        "timed": case["saving"],
        "recorded": 1 - step_ms(fixed) / step_ms(slow),
        "low": predicted.low,
        "middle": predicted.middle,
        "high": predicted.high,
        "label": case["label"],
        "refusal": predicted.refusal,
        "findings": [f.pattern for f in slow.rule_findings[:3]],
        "quality": slow.quality.verdict,
    }


def page(rows: dict[str, Any], about: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    run, of = about["runs"][-1], about["identity"]
    lines = [
        "# Gains predicted and measured, pair by pair",
        "",
        f"Made by `benchmarks/device/run.sh` on {of.get('gpu', of['device'])}, torch "
        f"{of['torch']}; commit {run['commit'] or 'unknown'}, scripts "
        f"{run['source_sha256'][:12]}. Figures are shares of the slow step: *timed* "
        "without a profiler, *recorded* between the medians of the two traces, "
        "*predicted* from the slow trace alone, as a range. A trace has the "
        "profiler's cost in it, so that a prediction is to be compared with "
        "*recorded* first.",
        "",
    ]
    for cells in (HEAD, ["---"] * len(HEAD)):
        lines.append(f"| {' | '.join(cells)} |")
    for name, row in rows.items():
        within = f"{row['low']:.1%} to {row['high']:.1%}"
        cells = [
            *(name, row["pattern"], "yes" if row["found"] else "no"),
            *(f"{row['timed']:.1%}", f"{row['recorded']:.1%}"),
            *("refused" if row["refusal"] else within, row["label"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def compare(found: Findings, given: Any, manifest: dict[str, Any]) -> None:
    """Compare all recorded cases, as far as there is time."""
    rows: dict[str, Any] = {}
    found.data["rows"] = rows
    for name, case in manifest["cases"].items():
        if case["status"] != "recorded":
            continue
        if time.monotonic() > given.until:
            found.check(f"{name} was compared", False, "no time was left")
            return
        pattern = manifest["pairs"][case["pair"]]["pattern"]
        with found.part(f"{name} is compared"):
            files = traces(given.out / "cuda", case)
            rows[name] = row_of(case, pattern, files)
            write(given.out / "pairs.md", page(rows, manifest).encode())
            print(name, rows[name], flush=True)
    real = [row for row in rows.values() if row["label"] == "positive"]
    priced = [row for row in real if row["found"] and not row["refusal"]]
    line = f"of {len(rows)} pairs {len(real)} save 5 % and more; "
    line += f"{len(priced)} of these are found and priced"
    for what in ("recorded", "timed") if priced else ():
        within = sum(row["low"] <= row[what] <= row["high"] for row in priced)
        off = [abs(row["middle"] - row[what]) for row in priced]
        line += f"; {what}: {within} in the range, middle off by "
        line += f"{statistics.median(off):.1%} of a step"
    found.lines.append(line)


def main() -> int:
    """Record, predict, compare, write."""
    given = parse(__doc__)
    found = Findings("pairs", given.out)
    folder = given.out / "cuda"
    table_s = min(TABLE_MOST_S, TABLE_SHARE * given.seconds)
    left = given.until - time.monotonic() - table_s - GRACE_S
    went_well, ended = recorded(given.device, folder, max(1.0, left))
    found.check("pairs were recorded", went_well, ended)
    path = folder / "manifest.json"
    with found.part(f"{path} can be read"):
        manifest = json.loads(path.read_text("utf-8"))
        states = [case["status"] for case in manifest["cases"].values()]
        counts = {state: states.count(state) for state in dict.fromkeys(states)}
        found.data["counts"] = counts
        each = ", ".join(f"{count} {state}" for state, count in counts.items())
        every = len(REHEARSED.split(",") if given.device == "cpu" else [*cases(PAIRS)])
        found.lines.append(f"recording {ended}: {each} of {every}")
        failed = [
            f"{name}: {case.get('reason')}"
            for name, case in manifest["cases"].items()
            if case["status"] == "failed"
        ]
        found.check("no case failed", not failed, "; ".join(failed))
        compare(found, given, manifest)
    return found.code


if __name__ == "__main__":
    sys.exit(main())
