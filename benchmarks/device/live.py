# SPDX-License-Identifier: BSD-3-Clause
"""live.py: (d) live sessions around a small training loop, and the waits found in it.

Waits: the same step checked by `SyncCheck` on the device and in a dry run. Reports:
sessions with a busy device, checked. Overhead: runs with and without a profiler in turn
and compared with each other, for torch's profiler alone, `torchtraceap.profile` and
torch's profiler with `torchtraceap.analyze` as its handler, with and without stacks.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

import torchtraceap
from benchmarks import ROOT
from benchmarks.device import small_training
from benchmarks.device.findings import Findings, parse, synchronize
from benchmarks.device.pair_cost import Case, added, ratio
from benchmarks.device.small_training import SmallTraining, check, lines_that_wait

STEPS = 60
SCHEDULE = {"wait": 6, "warmup": 2, "active": 10, "repeat": 1}
RECORDED = range(8, 18)
SINCE = 24  # Steps from here on are outside of the cycle.
KEPT: dict[str, Any] = {}  # The last report of each case.


def session(stack: bool) -> Any:
    options: dict[str, Any] = {"with_stack": stack, "quiet": True}
    options["detector"] = "off"  # As in `handled`.
    return torchtraceap.profile(**SCHEDULE, **options)


def torchs(stack: bool, handler: Callable[[Any], object] | None = None) -> Any:
    return torch.profiler.profile(
        schedule=torch.profiler.schedule(**SCHEDULE),
        on_trace_ready=handler,
        with_stack=stack,
        record_shapes=True,
    )


def handled(name: str, stack: bool) -> Any:
    """Return torch's profiler with our handler, whose report is kept."""

    def handler(prof: Any) -> None:
        KEPT[name] = torchtraceap.analyze(prof, quiet=True, detector="off")

    return torchs(stack, handler)


def run(
    name: str, device: str, profiled: Callable[[], Any], has_it: bool
) -> dict[str, float]:
    """Train with or without a profiler; returns milliseconds a step: in the recorded
    steps but the last, in that one, at whose end the report is made, and in those long
    after. The device is waited for at the borders of these alone."""
    training = SmallTraining(device)
    last = RECORDED[-1]
    borders = {RECORDED.start, last, RECORDED.stop, SINCE, STEPS}
    marks: dict[int, float] = {}
    with profiled() if has_it else nullcontext() as prof:
        for number in range(STEPS + 1):
            if number in borders:
                synchronize(device)
                marks[number] = time.perf_counter()
            training.step(waits=True)
            if prof is not None:
                prof.step()
    if getattr(prof, "report", None) is not None:
        KEPT[name] = prof.report
    return {
        "recorded": 1e3 * (marks[last] - marks[RECORDED.start]) / (len(RECORDED) - 1),
        "report": 1e3 * (marks[RECORDED.stop] - marks[last]),
        "after": 1e3 * (marks[STEPS] - marks[SINCE]) / (STEPS - SINCE),
    }


def cases(device: str) -> list[Case]:
    """Return the ways to profile that are compared with none."""
    rows = []
    for stack in (True, False):
        of = "with stacks" if stack else "without stacks"
        for what, profiled in (
            ("torch.profiler alone", partial(torchs, stack)),
            ("torchtraceap.profile", partial(session, stack)),
            ("analyze as handler", partial(handled, f"analyze as handler {of}", stack)),
        ):
            name = f"{what} {of}"
            rows.append(Case(name, partial(run, name, device, profiled)))
    return rows


def overheads(device: str, until: float) -> dict[str, dict[str, list[Any]]]:
    """Take pairs of all cases in turn until the time is up, one of each at least.

    CUPTI stays attached after the first profiler: both runs of a pair have it.
    """
    found: dict[str, dict[str, list[Any]]] = {}
    every = cases(device)
    every[0].run(True)  # One-time costs of a process.
    for number in itertools.count():
        for case in every:
            if number and time.monotonic() > until:
                return found
            order = (False, True) if number % 2 else (True, False)
            times = {has_it: case.run(has_it) for has_it in order}
            for phase, with_it in times[True].items():
                pairs = found.setdefault(case.name, {}).setdefault(phase, [])
                pairs.append((times[False][phase], with_it))
    raise AssertionError("it counts without end")


def show_overheads(found: Findings, pairs: Any, before: list[float]) -> None:
    """Add the lines of the overheads; `before`: steps before anything was profiled."""
    for name, phases in pairs.items():
        recorded, after = ratio(phases["recorded"]), ratio(phases["after"])
        found.lines.append(
            f"{name}: x{recorded.median:.2f} ({recorded.low:.2f}-{recorded.high:.2f}), "
            f"report {added(phases['report']).median:.0f} ms, "
            f"after x{after.median:.2f} ({after.low:.2f}-{after.high:.2f})"
        )
    attached = [plain for phases in pairs.values() for plain, _ in phases["after"]]
    usual, now = statistics.median(before), statistics.median(attached)
    found.data["step_ms"] = {"before": before, "attached": now}
    found.lines.append(
        f"times an unprofiled step of {now:.2f} ms, in {len(phases['after'])} pairs; "
        f"before the first profiler it took {usual:.2f} ms (x{now / usual:.2f})"
    )


def recorded_report(device: str, stack: bool) -> Any:
    """Record a session of steps in which the device is the limit."""
    training = SmallTraining(device, "cuda large" if device == "cuda" else "")
    with session(stack) as prof:
        for _ in range(RECORDED.stop + 1):
            training.step(waits=True)
            prof.step()
    return prof.report


def check_of(
    found: Findings, name: str, what: str, holds: bool, detail: object = ""
) -> None:
    """Note whether something holds for a session."""
    found.check(f"{name}: {what}", holds, detail)


def see_report(found: Findings, name: str, report: Any) -> None:
    """Check what every report of these steps says."""
    say = partial(check_of, found, name)
    numbers = [step.number for step in report.steps]
    say("its steps are the recorded ones", numbers == list(RECORDED), numbers)
    if "without" in name:
        located = [f.location for f in report.rule_findings if f.location is not None]
        say("no stack, no line", not located, located)


def see_device(found: Findings, name: str, report: Any) -> None:
    """Check a report's statements about the device."""
    say = partial(check_of, found, name)
    working = report.trace.working_devices
    say("a device worked", bool(working), report.quality.verdict)
    if not working:
        return
    say("the trace is sound", report.quality.verdict == "ok", report.quality)
    per_step = sum(kernel.count for kernel in report.kernels) / len(RECORDED)
    say("each step has kernels", per_step > small_training.LAYERS, per_step)
    directions = sorted({(copy.direction, copy.memory) for copy in report.copies})
    say("batches came from pinned memory", ("HtoD", "pinned") in directions, directions)
    whole = report.trace.device_time_us / len(working)
    for row in report.balance:
        say("busy time is within the span", 0 < row.busy_us <= whole, row.busy_us)
    stalls = [f for f in report.rule_findings if f.pattern == "sync_stall"]
    kinds = sorted({f.pattern for f in report.rule_findings})
    say("the waits are a finding", bool(stalls), kinds)
    if "without" not in name:
        places = [f.location for f in stalls if f.location is not None]
        found_at = sorted({(Path(place.file).name, place.line) for place in places})
        file = Path(small_training.__file__).name
        right = {(file, line) for line in lines_that_wait()}
        say("its line is right", bool(places) and set(found_at) <= right, found_at)


def waits(found: Findings, device: str) -> None:
    """Check the step on the device and dry, with and without its waits."""
    out: dict[str, Any] = {}
    found.data["waits"] = out
    with found.part(f"waits are found on {device}"):
        out[device] = [check(device, has) for has in (False, True)]
    with found.part("waits are found dry"):
        # A dry run begins only where torch sees no GPU.
        done = subprocess.run(
            [sys.executable, "-m", small_training.__name__, "dry"],
            cwd=ROOT,
            env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
            capture_output=True,
            text=True,
            timeout=40,
        )
        print(done.stderr, file=sys.stderr)
        found.check("the dry run ended well", done.returncode == 0, done.stderr[-200:])
        out["dry"] = json.loads(done.stdout)
    expected = lines_that_wait()
    for where, (clean, waiting) in out.items():
        judged = clean["judged"] and waiting["judged"]
        why = clean["problem"] or waiting["problem"]
        found.check(f"{where}: the step can be judged", judged, why)
        at_lines = {row[0] for row in waiting["waits"] if row[0]}
        found.check(
            f"{where}: waits are at their lines",
            sorted(at_lines) == expected,
            waiting["waits"],
        )
        rest = [row for row in clean["waits"] if row[0]]
        found.check(f"{where}: without them nothing waits", not rest, clean["waits"])
    if len(out) == 2:
        real, dry = (
            sorted(f"{line} {kind}" for line, kind, _ in rows[1]["waits"] if line)
            for rows in out.values()
        )
        found.check("the device and the dry run agree", real == dry, (real, dry))
        found.lines.append(
            f"waits by line of small_training.py: {device} {', '.join(real)}; dry "
            + ("the same" if real == dry else ", ".join(dry))
        )
    found.write()


def main() -> int:
    """Compare, check, write."""
    given = parse(__doc__)
    found = Findings("live", given.out)
    # First of all: from the first profiler on CUPTI stays attached.
    nothing: Callable[[], Any] = nullcontext
    before = [run("", given.device, nothing, False)["after"] for _ in range(6)][1:]
    waits(found, given.device)
    for stack in (True, False):
        name = f"a busy device {'with' if stack else 'without'} stacks"
        with found.part(name):
            report = recorded_report(given.device, stack)
            see_report(found, name, report)
            if given.device == "cuda":
                see_device(found, name, report)
    until = given.until - 0.15 * given.seconds
    with found.part("overheads are measured"):
        found.data["overhead_pairs_ms"] = pairs = overheads(given.device, until)
        show_overheads(found, pairs, before)
        expected = {name for name in pairs if "alone" not in name}
        found.check("every session made a report", set(KEPT) == expected, sorted(KEPT))
    for name, report in KEPT.items():
        with found.part(name):
            see_report(found, name, report)
    if given.device == "cuda":
        with found.part("the detector runs on the GPU"):
            with torchtraceap.profile(**SCHEDULE, quiet=True) as prof:
                training = SmallTraining("cuda")
                for _ in range(RECORDED.stop + 1):
                    training.step(waits=True)
                    prof.step()
            detection = prof.report.detection
            found.check("it judged on the GPU", detection.device == "cuda", detection)
    return found.code


if __name__ == "__main__":
    sys.exit(main())
