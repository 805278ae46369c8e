# SPDX-License-Identifier: BSD-3-Clause
"""trace_ops.py: the operators of a recorded trace as a dry run would write them down.

Of the operators around a launch, the outermost that the dispatcher does not take apart
is the one a dry run sees.
"""

from __future__ import annotations

import bisect
import dataclasses
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.dryrun.rebuilding import is_seen, rebuilt
from torchtraceap_dryrun.estimate.gpus import GPUS, Gpu
from torchtraceap_dryrun.record import Copy, Op

_DEEPEST = 60  # Operators before a launch among which those around it are.
# By a part of the device's name.
DEVICES = {
    "H100 80GB": GPUS["H100 SXM"],
    "V100": GPUS["V100"],
    "A100-PG509": GPUS["A100 40GB"],
}


@dataclasses.dataclass
class Traced:
    """An operator of a trace, and what it ran on the device."""

    op: Op
    kernels: list[dict[str, Any]]  #: Kernels and copies, without memsets.

    @property
    def us(self) -> float:
        """What they took, in µs."""
        return float(sum(k["dur"] for k in self.kernels))


@dataclasses.dataclass
class TracedProgram:
    """A trace."""

    gpu: Gpu
    operators: list[Traced]
    #: Kernels and copies whose launch is in the trace, each with the names of the
    #: operators around it as "owners".
    launched: list[dict[str, Any]]

    @property
    def unknown(self) -> int:
        """How many kernels are of operators that could not be rebuilt."""
        known = sum(is_kernel(e) for traced in self.operators for e in traced.kernels)
        return sum(map(is_kernel, self.launched)) - known

    @property
    def uses_tf32(self) -> bool:
        """Whether products of float32 ran on tensor cores, by their kernels' names."""
        return any("s1688" in e["name"] for e in self.launched)


def is_kernel(event: dict[str, Any]) -> bool:
    """Return whether an event of the device is a kernel."""
    return str(event["cat"]).lower() == "kernel"


def read(path: Path) -> TracedProgram:
    """Read the operators of a trace that ran anything on the device."""
    data = json.loads(gzip.decompress(path.read_bytes()))
    events = [e for e in data["traceEvents"] if e.get("ph") == "X"]
    device = data["deviceProperties"][0]["name"]
    gpu = next(g for part, g in DEVICES.items() if part in device)
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for e in events:
        by_kind[str(e.get("cat")).lower()].append(e)
    calls = {
        e["args"].get("correlation"): e
        for kind in ("cuda_runtime", "cuda_driver", "runtime")
        for e in by_kind[kind]
    }
    threads: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for e in by_kind["cpu_op"] + by_kind["operator"]:
        threads[str(e["tid"])].append(e)
    for found in threads.values():
        found.sort(key=lambda e: (e["ts"], -e["dur"]))
    parts: dict[int, list[dict[str, Any]]] = defaultdict(list)
    owners: dict[int, tuple[list[dict[str, Any]], int]] = {}
    launched = []
    work = [e for kind in ("kernel", "gpu_memcpy", "memcpy") for e in by_kind[kind]]
    for e in sorted(work, key=lambda e: e["ts"]):
        call = calls.get(e["args"].get("correlation"))
        if call is None:  # Launched before the trace.
            continue
        launched.append(e)
        thread = threads.get(str(call["tid"]), [])
        around = _around(thread, call["ts"])
        e["owners"] = [thread[i]["name"] for i in around]
        place = next((i for i in reversed(around) if is_seen(thread[i]["name"])), None)
        if place is not None:
            owners[id(thread[place])] = thread, place
            parts[id(thread[place])].append(e)
    operators = []
    for key, (thread, place) in owners.items():
        op = rebuilt(thread, place)
        if op is not None:
            op.copy = _border(parts[key])
            operators.append(Traced(op, parts[key]))
    return TracedProgram(gpu, operators, launched)


def _border(kernels: list[dict[str, Any]]) -> Copy | None:
    """Return the copy over the device's border that is among what an operator ran."""
    for e in kernels:
        for mark, direction in (("HtoD", "h2d"), ("DtoH", "d2h")):
            if mark in e["name"]:
                size = int(e["args"].get("bytes", 0))
                return Copy(direction, size, "Pinned" in e["name"], True)
    return None


def _around(thread: list[dict[str, Any]], moment: float) -> list[int]:
    """Return the places of the operators around a moment, innermost first."""
    place = bisect.bisect_right(thread, moment, key=lambda e: e["ts"]) - 1
    return [
        i
        for i in range(place, max(place - _DEEPEST, -1), -1)
        if thread[i]["ts"] + thread[i]["dur"] >= moment
    ]
