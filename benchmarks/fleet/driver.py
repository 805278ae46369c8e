# SPDX-License-Identifier: BSD-3-Clause
"""driver.py: one run of a fleet in a process of its own, which may be killed.

    python -m benchmarks.fleet.driver SOURCE OUT \\
        [--ray ADDRESS] [--workers N] [--memory BYTES]

A trace with "poison" in its name crashes natively when it is analyzed. Prints what the
run did as JSON; errors go to standard error, with the exit code 2.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torchtraceap
from torchtraceap.base.children import serve
from torchtraceap.fleets import local_pool, ray_pool, tasks
from torchtraceap.fleets.items import Item
from torchtraceap.fleets.tasks import Done, FleetPlan


def run_task(item: Item, plan: FleetPlan) -> Done:
    """Analyze an item; a poisoned one reads where there is no memory."""
    if "poison" in os.path.basename(item.url):
        ctypes.string_at(0)
    return tasks.run_task(item, plan)


def main(parent: int) -> None:
    """Be a child of the local pool."""

    def set_up(plan: FleetPlan) -> Callable[[Item], Done]:
        return lambda item: run_task(item, plan)

    serve(parent, set_up)


def peak_kb() -> int:
    """Return the most memory of this process; `getrusage` counts its parent's, too."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def drive() -> int:
    """Run the fleet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("source")
    parser.add_argument("out")
    parser.add_argument("--ray")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--memory", type=int)
    options = parser.parse_args()
    local_pool.__name__ = "benchmarks.fleet.driver"
    from benchmarks.fleet import driver  # By its name, as other processes import it.

    ray_pool.run_task = driver.run_task  # type: ignore[attr-defined]
    try:
        ran = torchtraceap.fleet(
            options.source,
            options.out,
            ray=options.ray,
            workers=options.workers,
            memory=options.memory,
            threads=1,
        )
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    figures = {"done": ran.done, "known": ran.known, "seconds": ran.seconds}
    figures |= {"failed": len(ran.failures), "driver_mb": peak_kb() / 1024}
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(drive())
