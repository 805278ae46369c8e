# SPDX-License-Identifier: BSD-3-Clause
"""run.py: how near replays come to recorded traces, with parts of the model left out.

    python -m benchmarks.replay.run [--traces FOLDER] [--rounds N]

Replays every trace with device work as it is and writes benchmarks/results/replay.json
and results/replay_fidelity.md. Builds bench_replay where benchmarks/loader builds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks import DATA, RESULTS, ROOT, TRACES
from benchmarks.loader import environments
from benchmarks.loader.make_inputs import default_folder
from benchmarks.replay import fidelity_page


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
    machine = environments.machine()
    found = sorted(options.traces.glob("*.json.gz"))
    found = found or sorted(DATA.glob("*.json.gz"))
    command = [str(build(default_folder())), str(options.rounds), *map(str, found)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    machine["load_after"] = os.getloadavg()[0]
    results = {"machine": machine, "traces": json.loads(done.stdout)}
    kept = RESULTS / "replay.json"
    kept.write_text(json.dumps(results, indent=1) + "\n")
    text = fidelity_page.page(results)
    (RESULTS / "replay_fidelity.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
