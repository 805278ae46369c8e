# SPDX-License-Identifier: BSD-3-Clause
"""ranges.py: measures how long things take in real CUDA traces, for the simulator.

    python -m benchmarks.lab.corpus.simulation.ranges [--traces ../shared/traces]

Of each trace of NVIDIA devices whose origin is not held out (origins.py), the quantiles
of what the host takes: for operators by class (``own CLASS``, for each launch, without
the launch), for those around others (``own outer``, ``own node``), between operators
(``between``), for calls, and of what lies between calls and the device: ``latency``
(launch to start, idle stream; ``latency end``: from the end of the call), ``queued
gap`` (full stream), ``sync back`` (end of the work to return). Written to ranges.json,
beside this file, with where each comes from.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np

from benchmarks import TRACES
from benchmarks.lab.corpus import origins
from benchmarks.lab.corpus.simulation.observed import observe

LEVELS = (0.5, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99.5)
FEWEST = 8  # Samples from which quantiles are taken.
FEWEST_KERNELS = 50
#: Written of these is a sample of their events: what lies between two is not known.
NOT_WHOLE = ("sampled",)
RESULT = Path(__file__).with_name("ranges.json")


def measured(traces: Path) -> dict:
    """Return quantiles by trace and by what they are of."""
    out = {}
    for file, known in origins.read_manifest(traces).items():
        if not is_nvidia(file, known["gpu"]) or origins.held_out(known["origin"]):
            continue
        if any(part in file for part in NOT_WHOLE):
            continue
        found = observe(traces / file)
        if found.kernels < FEWEST_KERNELS:
            continue
        out[file.removesuffix(".json.gz")] = {
            "origin": known["origin"],
            "kernels": found.kernels,
            "quantiles_us": {
                name: [round(float(q), 3) for q in np.percentile(values, LEVELS)]
                for name, values in sorted(found.samples.items())
                if len(values) >= FEWEST
            },
            # How often for each launch.
            "other_calls": {
                name: round(many / max(1, len(found.samples["call launch"])), 4)
                for name, many in sorted(found.others.items())
                if many >= FEWEST
            },
            "samples": {name: len(values) for name, values in found.samples.items()},
        }
    return {"levels": LEVELS, "traces": out}


def is_nvidia(file: str, gpu: str) -> bool:
    """Tell whether a trace shows a device of NVIDIA's; the name helps where the
    manifest does not say."""
    named = re.search("NVIDIA|Tesla|Quadro|GeForce", gpu)
    return bool(named) or file.startswith(("nccl-", "kineto2021-"))


def main() -> int:
    """Measure, write, print medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, default=TRACES)
    result = measured(parser.parse_args().traces)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    middle = LEVELS.index(50)
    for name, one in result["traces"].items():
        print(name, one["kernels"])
        for what, quantiles in one["quantiles_us"].items():
            print(f"  {what:22} {one['samples'][what]:6} {quantiles[middle]:9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
