# SPDX-License-Identifier: BSD-3-Clause
"""pairs.py: (f) slow and fixed programs on the device, gains predicted and measured.

Runs record_cuda.py into OUT/cuda, which goes on with the pairs that are missing there,
for all but the last part of its time. Then the gain predicted from each slow trace is
compared with the gain that was timed without a profiler.
Writes OUT/pairs.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

from findings import ROOT, Findings, parse

CORPUS = ROOT / "benchmarks" / "corpus"
# The corpus first: its modules import a package of its own.
sys.path[:0] = [str(CORPUS), str(ROOT / "benchmarks" / "replay")]

from predicting import predict  # noqa: E402

import torchtraceap  # noqa: E402

MOST_MB = 20  # What the repository keeps; two archives.
#: Of the time, what the table may take; a trace takes well under a second.
TABLE_SHARE, TABLE_MOST_S = 0.25, 25.0
#: A rehearsal's, one of each kind: kept, refused on a CPU, with a loader's workers.
REHEARSED = (
    "item_per_parameter.recommender,norm_spelled_out.cnn,fp32_matmul.recommender,"
    "loader_without_workers.cnn"
)
HEAD = ("pair", "pattern", "found", "timed", "predicted", "range", "recorded", "label")


def recorded(device: str, folder: Path, seconds: float) -> str:
    """Record for so long; returns how that ended."""
    command = [sys.executable, str(CORPUS / "record_cuda.py"), "--device", device]
    command += ["--out", str(folder), "--minutes", str(seconds / 60)]
    command += ["--max-mb", str(MOST_MB)]
    if device == "cpu":
        command += ["--pairs", REHEARSED]
    try:
        # Its own limit is soft while it times.
        done = subprocess.run(command, timeout=1.2 * seconds + 5)
    except subprocess.TimeoutExpired:
        return "was stopped at its limit"
    ends = {0: "is done", 1: "had a case that failed", 3: "had no time for the rest"}
    return ends.get(done.returncode, f"ended with exit code {done.returncode}")


def traces(folder: Path, cases: dict[str, Any]) -> dict[str, dict[str, bytes]]:
    """Read both traces of each recorded case."""
    archives: dict[str, dict[str, bytes]] = {}
    out: dict[str, dict[str, bytes]] = {}
    for name, case in cases.items():
        if case["status"] != "recorded":
            continue
        for side in ("slow", "fixed"):
            trace = case[side]["trace"]
            archive = trace["archive"]
            if archive not in archives:
                with tarfile.open(folder / archive) as tar:
                    files = ((info.name, tar.extractfile(info)) for info in tar)
                    archives[archive] = {n: f.read() for n, f in files if f}
            out.setdefault(name, {})[side] = archives[archive][trace["member"]]
    return out


def row_of(case: dict[str, Any], pattern: str, files: dict[str, bytes]) -> Any:
    """Compare a case; shares are of the slow step."""
    slow = torchtraceap.analyze(files["slow"], quiet=True, detector="off")
    fixed = torchtraceap.analyze(files["fixed"], quiet=True, detector="off")
    said = predict(slow, pattern)
    steps = [[s.end_us - s.start_us for s in r.steps] for r in (slow, fixed)]
    means = [sum(some) / len(some) for some in steps]
    return {
        "pattern": pattern,
        "found": said.found,
        "timed": case["saving"],
        "low": 1 - said.low / said.slow,
        "high": 1 - said.high / said.slow,
        "recorded": 1 - means[1] / means[0],
        "label": case["label"],
        "refusals": list(said.refusals),
        "findings": [f.pattern for f in slow.rule_findings[:3]],
        "quality": slow.quality.verdict,
    }


def page(rows: dict[str, Any], about: dict[str, Any]) -> str:
    """Return the table as Markdown."""
    run = about["runs"][-1]
    of = about["identity"]
    lines = [
        "# Gains predicted and measured, pair by pair",
        "",
        f"Made by `benchmarks/device/run.sh`, commit {run['commit'] or 'unknown'}, on "
        f"{of.get('gpu', of['device'])}, torch {of['torch']}. Figures are shares of "
        "the slow step: *timed* without a profiler, *predicted* from the slow trace "
        "alone (its range beside it), *recorded* between the two traces.",
        "",
    ]
    for cells in (HEAD, ["---"] * len(HEAD)):
        lines.append(f"| {' | '.join(cells)} |")
    for name, row in rows.items():
        refused = bool(row["refusals"])
        cells = [
            name,
            row["pattern"],
            "yes" if row["found"] else "no",
            f"{row['timed']:.1%}",
            "refused" if refused else f"{(row['low'] + row['high']) / 2:.1%}",
            "" if refused else f"{row['low']:.1%} to {row['high']:.1%}",
            f"{row['recorded']:.1%}",
            row["label"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Record, foretell, compare, write."""
    given = parse(__doc__)
    found = Findings("pairs", given.out)
    folder = given.out / "cuda"
    table_s = min(TABLE_MOST_S, TABLE_SHARE * given.seconds)
    ended = recorded(given.device, folder, given.seconds - table_s)
    path = folder / "manifest.json"
    found.check("something was recorded", path.exists(), ended)
    if not path.exists():
        found.write()
        return found.code
    manifest = json.loads(path.read_text("utf-8"))
    cases = manifest["cases"]
    states = [case["status"] for case in cases.values()]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    found.lines.append(
        f"recording {ended}: "
        + ", ".join(f"{n} {state}" for state, n in counts.items())
    )
    failed = {n: c.get("reason") for n, c in cases.items() if c["status"] == "failed"}
    found.check("no case failed", not failed, failed)
    rows: dict[str, Any] = {}
    for name, files in traces(folder, cases).items():
        if time.monotonic() > given.until:
            found.check(f"{name} was compared", False, "no time was left")
            break
        pattern = manifest["pairs"][cases[name]["pair"]]["pattern"]
        rows[name] = row_of(cases[name], pattern, files)
        print(name, rows[name], flush=True)
    found.data = {"counts": counts, "rows": rows}
    (given.out / "pairs.md").write_text(page(rows, manifest), "utf-8")
    real = [row for row in rows.values() if row["label"] == "positive"]
    told = [row for row in real if row["found"] and not row["refusals"]]
    within = [row for row in told if row["low"] <= row["timed"] <= row["high"]]
    off = sorted(abs((row["low"] + row["high"]) / 2 - row["timed"]) for row in told)
    found.lines.append(
        f"of {len(rows)} pairs {len(real)} save 5 % and more: {len(told)} found and "
        f"priced, {len(within)} of these within the range"
        + (f", median error {off[len(off) // 2]:.1%} of a step" if off else "")
    )
    found.write()
    return found.code


if __name__ == "__main__":
    sys.exit(main())
