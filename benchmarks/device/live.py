# SPDX-License-Identifier: BSD-3-Clause
"""live.py: (d) live sessions round a small training loop, and waits found in it.

Overhead: runs with and without a profiler in turn, each compared with the run before or
after it, for torch's profiler alone, `torchtraceap.profile` and torch's profiler with
`torchtraceap.analyze` as its handler, with and without stacks. Waits: the same step
checked by `SyncCheck` on the device and in a dry run.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from findings import ROOT, Findings, parse

import small_training
from small_training import SmallTraining, check, lines_that_wait

sys.path.append(str(ROOT / "benchmarks" / "integrations"))

from pair_cost import Case, added, ratio

import torchtraceap

STEPS = 60
SCHEDULE = {"wait": 6, "warmup": 2, "active": 10, "repeat": 1}
RECORDED = range(8, 18)
SINCE = 24  # Steps from here on are outside of the cycle.
KEPT: dict[str, Any] = {}  # The last report of each case.


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def session(stack: bool) -> Any:
    options = {"with_stack": stack, "quiet": True, "reserve": False}
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
    """Return what is compared."""
    rows = []
    for stack in (True, False):
        of = "with stacks" if stack else "without stacks"
        for what, profiled in (
            ("torch.profiler alone", partial(torchs, stack)),
            ("torchtraceap.profile", partial(session, stack)),
            ("analyze as handler", partial(handled, f"analyze as handler {of}", stack)),
        ):
            name = f"{what} {of}"
            rows.append(Case(name, "", "", partial(run, name, device, profiled)))
    return rows


def overheads(device: str, until: float) -> dict[str, dict[str, list[Any]]]:
    """Take pairs of all cases in turn until the time is up, one of each at least."""
    found: dict[str, dict[str, list[Any]]] = {}
    every = cases(device)
    every[0].run(True)  # What a process does once, such as attaching CUPTI.
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


def see_report(found: Findings, name: str, report: Any, device: str) -> None:
    """Check what a report says of the recorded steps."""

    def say(what: str, holds: bool, detail: object = "") -> None:
        found.check(f"{name}: {what}", holds, detail)

    numbers = [step.number for step in report.steps]
    say("its steps are the recorded ones", numbers == list(RECORDED), numbers)
    lines = set(lines_that_wait())
    file = Path(small_training.__file__).name
    located = [f for f in report.rule_findings if f.location is not None]
    if "without" in name:
        say("no stack, no line", not located, [f.location for f in located])
    if device != "cuda":
        return
    say("a device worked", bool(report.trace.working_devices))
    say("the trace is sound", report.quality.verdict == "ok", report.quality.verdict)
    per_step = sum(kernel.count for kernel in report.kernels) / len(RECORDED)
    say("each step has kernels", per_step > small_training.LAYERS, per_step)
    directions = {(copy.direction, copy.memory) for copy in report.copies}
    pinned = ("HtoD", "pinned") in directions
    say("batches came from pinned memory", pinned, sorted(directions))
    for row in report.balance:
        whole = report.trace.device_time_us / len(report.trace.working_devices)
        say("busy time is within the span", 0 < row.busy_us <= whole, row.busy_us)
    stalls = [f for f in report.rule_findings if f.pattern == "sync_stall"]
    kinds = sorted({f.pattern for f in report.rule_findings})
    say("the waits are a finding", bool(stalls), kinds)
    if "without" not in name:
        places = {
            (Path(f.location.file).name, f.location.line)
            for f in stalls
            if f.location is not None
        }
        right = {(file, line) for line in lines}
        say("its line is right", bool(places) and places <= right, sorted(places))


def waits(found: Findings, device: str) -> dict[str, Any]:
    """Check the step on the device and dry, with and without its waits."""
    out: dict[str, Any] = {device: [check(device, has) for has in (False, True)]}
    done = subprocess.run(
        [sys.executable, small_training.__file__, "dry"],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    print(done.stderr, file=sys.stderr)
    found.check("the dry run ended well", done.returncode == 0, done.stderr[-200:])
    if done.returncode == 0:
        out["dry"] = json.loads(done.stdout)
    expected = lines_that_wait()
    for where, (clean, waiting) in out.items():
        told = clean["told"] and waiting["told"]
        found.check(f"{where}: it can be judged", told, clean["problem"])
        at_lines = [row[0] for row in waiting["waits"] if row[0]]
        found.check(
            f"{where}: waits are at their lines",
            sorted(set(at_lines)) == expected,
            waiting["waits"],
        )
        rest = [row for row in clean["waits"] if row[0]]
        found.check(f"{where}: without them nothing waits", not rest, clean["waits"])
    if "dry" in out:
        real, dry = (
            sorted((line, kind) for line, kind, _ in out[where][1]["waits"] if line)
            for where in (device, "dry")
        )
        found.check("the device and the dry run agree", real == dry, (real, dry))
        found.lines.append(
            f"waits by line: {device} {real}, dry {'the same' if real == dry else dry}"
        )
    return out


def main() -> int:
    """Compare, check, write."""
    given = parse(__doc__)
    found = Findings("live", given.out)
    found.data["waits"] = waits(found, given.device)
    found.write()
    until = given.until - 0.25 * given.seconds
    found.data["overhead_pairs_ms"] = pairs = overheads(given.device, until)
    for name, phases in pairs.items():
        recorded, after = ratio(phases["recorded"]), ratio(phases["after"])
        found.lines.append(
            f"{name}: x{recorded.median:.2f} ({recorded.low:.2f}-{recorded.high:.2f}), "
            f"report {added(phases['report']).median:.0f} ms, "
            f"after x{after.median:.2f} ({after.low:.2f}-{after.high:.2f})"
        )
    steps = sorted(plain for plain, _ in pairs[name]["after"])
    found.lines.append(f"times a step of {steps[len(steps) // 2]:.2f} ms, unprofiled")
    for name, report in KEPT.items():
        see_report(found, name, report, given.device)
    expected = {name for name in pairs if "alone" not in name}
    found.check("every session made a report", set(KEPT) == expected, sorted(KEPT))
    found.write()
    return found.code


if __name__ == "__main__":
    sys.exit(main())
