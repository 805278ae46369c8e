# SPDX-License-Identifier: BSD-3-Clause
"""sync_report.py: which calls blocked the CPU, read out of a report on a GPU run."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace

from torchtraceap import _core
from torchtraceap.checking.launch_verdict import Launches
from torchtraceap.checking.sync_observation import Observation, Stall
from torchtraceap.dryrun.waits.sync_ops import BY_OPERATOR
from torchtraceap.report import Report
from torchtraceap.source_lines import Line, resolve
from torchtraceap.units import us_from_ns

#: How an observation of this kind came about.
MODE = "GPU: calls that blocked the CPU"

#: What a recorded wait is and what to do instead, by the core's kinds of sync_stall.
KINDS = {
    "scalar_read": (
        ".item(), float(t), `if t:`, equal(a, b): the CPU waited for one value",
        "keep the value on the device; read it every N steps, or after the loop",
    ),
    "data_dependent_shape": (
        "the CPU waited for the size of the result",
        "work on full size with a mask: where(mask, x, 0); or nonzero_static",
    ),
    "blocking_copy": (
        ".to(device), .cpu(), .tolist(): the CPU waited for a copy to end",
        "copy with non_blocking=True from and to pinned memory, or after the loop",
    ),
    "event": ("the CPU waited for an event", "let the device: stream.wait_event()"),
    "explicit": (
        "the CPU waited for a stream or for the whole device",
        "take torch.cuda.synchronize() out; streams can wait for one another",
    ),
}

_SCOPE = (
    "Measured on the GPU: each call in which the CPU was blocked by it, whatever the "
    "GPU did\nmeanwhile. A blocked CPU cannot launch work ahead."
)
_NO_WORK = (
    "To check code for the CPU as if it had one, hide it: "
    "CUDA_VISIBLE_DEVICES= pytest ..."
)


def from_report(
    report: Report, line_of: Callable[[int, str], Line | None], end_ns: int
) -> Observation:
    """Reads out of a report on a GPU run which calls blocked the CPU before `end_ns`.

    `line_of` tells the line that was running an operator at a time, or None to have
    it from the trace. Times are on the trace's clock.
    """
    notes = report.quality.warnings
    launched = any(note.kind == "no_device_work" for note in notes)
    if not report.trace.working_devices and not launched:
        problem = "Nothing was checked: the code ran nothing on the GPU."
        return Observation((), _NO_WORK, problem, MODE)
    if report.quality.verdict != "ok":
        # What is missing from the recording may be the very waits.
        reasons = " ".join(note.detail for note in report.quality.reasons)
        problem = f"The recording cannot be judged: {reasons}"
        return Observation((), "", problem, MODE)
    begins = sorted(step.begin_ns for step in report._core.steps)
    stalls = []
    for wait in report._core.blocking_calls:
        if wait.begin_ns >= end_ns:
            break
        operator = wait.operator_name or report._trace.name(wait.row)
        line = line_of(wait.begin_ns, operator) or _where_it_begins(wait.location)
        what, advice = KINDS[wait.subtype]
        known = BY_OPERATOR.get(operator)
        stalls.append(
            Stall(
                line=line,
                operator=operator,
                count=1,
                wasted_us=us_from_ns(wait.end_ns - wait.begin_ns),
                what=what,
                advice=advice,
                names=(wait.subtype, *(known.names if known else ())),
                step=max(0, bisect_right(begins, wait.begin_ns) - 1),
            )
        )
    launches = _launches(report)
    steps = len(launches.steps)
    if steps > 1 and not launches.steps[-1] and all(s.step < steps - 1 for s in stalls):
        steps -= 1  # Nothing followed the last call of step().
        launches = replace(launches, steps=launches.steps[:-1])
    return Observation(
        tuple(stalls), _SCOPE, mode=MODE, steps=max(1, steps), launches=launches
    )


def _launches(report: Report) -> Launches:
    counts = report.kernel_counts.steps
    if counts is None:
        return Launches(problem="the recording has no steps of which it has kernels")
    return Launches(counts.each, problem="")


def _where_it_begins(place: _core.Frame | None) -> Line | None:
    if place is None:
        return None
    return Line(resolve(place.file), place.line, place.function, exact=False)
