# SPDX-License-Identifier: BSD-3-Clause
"""sync_run.py: with a GPU, records a run and times what blocked the CPU.

A saved trace names functions only by the line where they begin. The profiler's own
tree, which exists until the next cycle, also knows the line each call was made from,
if it recorded stacks. It does not know the line of what is no call (`if t:`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from torchtraceap import _core
from torchtraceap.analysis import analyze
from torchtraceap.base.source_lines import Line, is_user_file, resolve
from torchtraceap.base.units import us_from_ns
from torchtraceap.checking.sync_recorder import Recorder
from torchtraceap.profiling import live
from torchtraceap.report import Report
from torchtraceap.waits.launches import Launches
from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap.waits.verdict import Observation, Stall


def line_at(roots: Iterable[Any], time_ns: int, operator: str) -> Line | None:
    """Returns the user's line that was running an operator at a moment.

    `roots` is ``kineto_results.experimental_event_tree()``, `time_ns` on its clock.
    Where several threads were at work, the one that ran `operator` counts.
    """
    best: list[Any] = []
    for root in roots:
        chain = _chain_at(root, time_ns)
        if chain and (not best or any(_name(node) == operator for node in chain)):
            best = chain
    return _user_line(best)


def _chain_at(node: Any, time_ns: int) -> list[Any]:
    chain: list[Any] = []
    nodes = [node]
    while nodes:
        inside = [n for n in nodes if n.start_time_ns <= time_ns <= n.end_time_ns]
        if not inside:
            break
        # Where one ends as the next begins, the later one is meant.
        chain.append(inside[-1])
        nodes = inside[-1].children
    return chain


def _user_line(chain: list[Any]) -> Line | None:
    for node in reversed(chain):
        fields = node.extra_fields
        if not hasattr(fields, "caller"):
            continue  # an operator, not a Python frame
        try:
            # A Python function (as opposed to one in C) is itself running some line
            # that is not known; the line it was called from is.
            begin = getattr(fields, "callsite", None)
            if begin is not None and is_user_file(begin.file_name):
                return _line(begin, exact=False)
            if is_user_file(fields.caller.file_name):
                return _line(fields.caller, exact=True)
        except UnicodeDecodeError:
            continue  # frames of imports hold damaged names
    return None


def _line(frame: Any, exact: bool) -> Line:
    return Line(resolve(frame.file_name), frame.line_number, frame.function_name, exact)


def _name(node: Any) -> str:
    try:
        return str(node.name)
    except UnicodeDecodeError:
        return ""


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
    begins = sorted(step.begin_ns for step in report.core.steps)
    stalls = []
    for wait in report.core.waits:
        if wait.begin_ns >= end_ns:
            break
        operator = wait.operator_name or report.loaded.name(wait.row)
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


_NESTED = (
    "Nothing was checked: the code under test uses torch's profiler itself, and only "
    "one can run at\na time. Take one of the two out."
)

# Marks the end of the code under test: the profiler waits for the GPU as it stops.
_END = "torchtraceap: end of no_sync_stalls"


class SyncRun(Recorder):
    """Profiles from `start` to `stop`. Loads torch.

    `start` raises RuntimeError if a profiler is running already.
    """

    def __init__(self) -> None:
        self._prof = profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True
        )
        self._steps = 0
        self._step: record_function | None = None

    def start(self) -> None:
        if torch.autograd._profiler_enabled():
            raise RuntimeError(
                "a profiler is running already, and only one can run at a time: "
                "use no_sync_stalls outside of it"
            )
        torch.cuda.synchronize()  # what was queued before is not part of the run
        self._prof.start()
        self._begin_step()

    def step(self) -> None:
        self._end_step()
        self._steps += 1
        self._begin_step()

    def _begin_step(self) -> None:
        # As the profiler marks its own, which the report counts kernels by.
        self._step = record_function(f"ProfilerStep#{self._steps}")
        self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def abandon(self) -> None:
        if self._step is None:
            return  # never started
        self._end_step()
        # Stopping a profiler that another one ended is harmless, exporting is not.
        self._prof.stop()

    def stop(self) -> Observation:
        own = torch.autograd._profiler_enabled()
        self._end_step()
        with record_function(_END):
            pass
        self._prof.stop()
        if not own:
            return Observation((), "", _NESTED, MODE)
        trace = live.load(self._prof)
        report = analyze(trace)
        base = int(trace.metadata["baseTimeNanoseconds"])
        roots = live.inner_profile(self._prof).kineto_results.experimental_event_tree()

        def line_of(time_ns: int, operator: str) -> Line | None:
            return line_at(roots, base + time_ns, operator)

        columns = trace.columns
        ends = columns["ts"][columns["name"] == trace.strings.index(_END)]
        return from_report(report, line_of, int(ends.min()))
