# SPDX-License-Identifier: BSD-3-Clause
"""case_results.py: the cost of both twins of a pair, and torchtraceap's report on them.

On the CPU everything is measured. A dry run simulates the GPU; it needs none and
measures no time.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import statistics
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks.lab.corpus.measure import Protocol, measure
from benchmarks.lab.corpus.recording import record
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.pairs import Pair
from benchmarks.lab.corpus.workloads.training import Lab

PROTOCOL = Protocol(check=3, lead_in=2, blocks=5, block=5, active=4)
SCALE = "small"
GPU = "H100 SXM"
HOST_US = 10.0  # An operator's host time in a dry run, as its documentation has it.
RECORDINGS = 3  # Of each twin; the shortest is kept, which others disturbed least.
DRY_STEPS = 2  # Simulated steps, after as many that set up.
LINES = 3  # Findings kept of a report.
OPERATORS = 4  # Operators kept of which the slow twin has more.
#: What stands in every trace around what is computed, and says nothing of it.
AROUND = frozenset(
    f"aten::{name}"
    for name in (
        "as_strided", "detach", "empty", "empty_like", "empty_strided", "expand", "to",
        "reshape", "resolve_conj", "resolve_neg", "transpose", "t", "unsqueeze", "view",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A pair on a family, as a case shows it.

    Attributes:
        cpu: Measured on the CPU, at the scale named.
        dry: Simulated in a dry run.
        heavy: Recorded once, one step: each has hundreds of thousands of events.
        without: Why one of these is left out; "" if neither is.
    """

    pair: Pair
    family: str
    scale: str = SCALE
    cpu: bool = True
    dry: bool = True
    heavy: bool = False
    without: str = ""


def results_of(row: Row) -> dict[str, Any]:
    """Measure a pair and simulate it. Takes seconds; minutes where twins compile."""
    patterns = [row.pair.pattern, *row.pair.also]
    out: dict[str, Any] = {"patterns": patterns, "family": row.family}
    if row.cpu:
        out["cpu"] = on_cpu(row)
    if row.dry:
        out["dry"] = {side: dry(row, side) for side in ("slow", "fixed")}
    return out


def on_cpu(row: Row) -> dict[str, Any]:
    """Time both twins in turn, then record each and ask for a report.

    Raises:
        TwinsDiffer: They do not compute the same.
    """
    lab = Lab(torch.device("cpu"), FAMILIES[row.family], row.scale, seed=0)
    out: dict[str, Any] = measure(row.pair, lab, PROTOCOL)
    active, recordings = (1, 1) if row.heavy else (PROTOCOL.active, RECORDINGS)
    protocol = dataclasses.replace(PROTOCOL, active=active)
    counts = {}
    for side in ("slow", "fixed"):
        with closing(getattr(row.pair, side)(lab)) as run:
            made = [record(run, protocol) for _ in range(recordings)]
        data = min(made, key=lambda r: r.facts["profiled_step_ms"]).data
        counts[side] = operators(data, active)
        out[side] |= {"operators": counts[side].total()} | told(data)
    more = (counts["slow"] - counts["fixed"]).most_common()
    out["more_operators"] = [
        [name, counts["slow"][name], counts["fixed"][name]]
        for name, _ in more
        if name not in AROUND
    ][:OPERATORS]
    return out


def operators(data: bytes, steps: int) -> Counter[str]:
    """Count the operators of a step, by name."""
    events = json.loads(gzip.decompress(data))["traceEvents"]
    names = Counter(e["name"] for e in events if e.get("cat") == "cpu_op")
    return Counter({n: round(count / steps) for n, count in names.items()})


def told(data: bytes) -> dict[str, Any]:
    """Return what a report of a trace says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json.gz")
        path.write_bytes(data)
        return findings_of(torchtraceap.analyze(path, detector="off"))


def findings_of(report: torchtraceap.Report) -> dict[str, Any]:
    """Return the first findings as the summary lists them, or its line for none, and
    the share of the time that each pattern wastes."""
    lines = report.summary(findings=LINES).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Findings"))
    last = first + 1 + min(LINES, len(report.findings))
    shown = [line.strip() for line in lines[first + 1 : last]] or [lines[first]]
    shares: Counter[str] = Counter()
    for finding in report.findings:
        shares[finding.pattern] += finding.wasted_us / report.trace.device_time_us
    return {"told": shown, "found": {n: round(s, 4) for n, s in shares.items()}}


def dry(row: Row, side: str) -> dict[str, Any]:
    """Simulate a twin at its size for a GPU: milliseconds a step and its report."""
    torch.manual_seed(0)
    with torchtraceap.dry_run(gpu=GPU, seed=0) as run:
        lab = Lab(torch.device("cuda"), FAMILIES[row.family], "cuda", seed=0)
        with closing(getattr(row.pair, side)(lab)) as twin, twin.settings():
            for _ in range(2 * DRY_STEPS):
                twin.step()
                run.step()
    steps_told = (DRY_STEPS, 2 * DRY_STEPS - 1)
    report = run.report(host_us=HOST_US, steps=steps_told, detector="off")
    usual = run.usual_step
    steps = [step.end_us - step.start_us for step in report.steps[:DRY_STEPS]]
    # The host runs ahead of a slower device, which is then what a step takes.
    return {
        "step_ms": max(statistics.median(steps), usual.device_us) / 1e3,
        "device_ms": usual.device_us / 1e3,
        "launches": usual.launches,
        "copies": usual.copies,
        "waits": usual.waits,
        **findings_of(report),
    }
