# SPDX-License-Identifier: BSD-3-Clause
"""run.py: the accuracy of replays of recorded traces, with parts of the model left out.

    python -m benchmarks.replay.run [--traces FOLDER] [--rounds N]

Replays every trace with device work as it is and writes benchmarks/results/replay.json
and results/replay_fidelity.md. Builds bench_replay where benchmarks/loader builds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import DATA, ROOT, TRACES
from benchmarks.lab import pages
from benchmarks.loader.make_inputs import default_folder

LARGE = 100  # pieces of device work: fewer make a replay easy


def build(folder: Path) -> Path:
    """Build bench_replay as a release; return it."""
    where = folder / "build-replay"
    for command in (
        [
            *("cmake", "-S", str(ROOT), "-B", str(where), "-G", "Ninja"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DTTA_BUILD_PYTHON=OFF"),
            f"-DCMAKE_PROJECT_torchtraceap_INCLUDE={Path(__file__).with_name('bench_replay.cmake')}",
        ],
        ["cmake", "--build", str(where), "--target", "bench_replay"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return where / "bench_replay"


def main() -> None:
    """Build, replay, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    machine = pages.machine()
    found = sorted(options.traces.glob("*.json.gz"))
    found = found or sorted(DATA.glob("*.json.gz"))
    command = [str(build(default_folder())), str(options.rounds), *map(str, found)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    traces = json.loads(done.stdout)
    print(pages.write("replay_fidelity", {"machine": machine, "traces": traces}))


def shares(row: dict[str, Any]) -> str:
    """Write what the critical path is made of."""
    path = row["path_sources_ms"]
    whole = sum(path.values()) or 1.0
    parts = (path[source] for source in ("copied", "recomputed", "anchored"))
    return " / ".join(f"{100 * part / whole:.0f}" for part in parts)


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """Return what the replayable ones come to: errors in percent, and without what."""
    large = [row for row in results["traces"] if row["tasks"] >= LARGE]
    good = [row for row in large if row["replayable"]]

    def percent(row: dict[str, Any], of: str, which: str) -> float:
        return 100 * abs(row[of][which])

    spans = {
        name: [percent(row, "span_error", name) for row in good]
        for name in ("model", "constants", "strict", "null")
    }
    without = {}
    for kind in good[0]["span_error_without"]:
        errors = [percent(row, "span_error_without", kind) for row in good]
        worse = sum(a > b + 0.5 for a, b in zip(errors, spans["model"], strict=True))
        without[kind] = errors, worse
    names = {"large": large, "good": good, "at_least": LARGE, "shares": shares}
    return names | {"spans": spans, "without": without, "median": statistics.median}


if __name__ == "__main__":
    main()
