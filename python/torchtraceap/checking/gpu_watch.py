# SPDX-License-Identifier: BSD-3-Clause
"""gpu_watch.py: with a GPU, records a run and times what blocked the CPU.

A saved trace names functions only by the line where they begin. The profiler's own
tree, which exists until the next cycle, also knows the line each call was made from,
if it recorded stacks. It does not know the line of code without a call (`if t:`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from torch.profiler import record_function

from torchtraceap.base.source_lines import Line, is_user_file, resolve
from torchtraceap.base.units import us_from_ns
from torchtraceap.checking.device import NAME, Watch
from torchtraceap.checking.recording import Recording
from torchtraceap.profiling.kept_trace import inner_profile
from torchtraceap.report import Report
from torchtraceap.waits.table import cause_of
from torchtraceap.waits.verdict import Launches, Observation
from torchtraceap.waits.wait import Wait

#: How an observation of this kind came about.
MODE = "GPU: calls that blocked the CPU"

_SCOPE = (
    "Measured on the GPU: each call in which the CPU was blocked by it, whatever the "
    "GPU did\nmeanwhile. A blocked CPU cannot launch work ahead."
)
_NO_WORK = (
    'To check code for the CPU as if all its tensors were on a GPU: device="cpu".'
)
# Marks the end of the code under test: the profiler waits for the GPU as it stops.
_END = "torchtraceap: end of no_sync_stalls"


class GpuWatch(Watch):
    """Records from `start` to `stop`."""

    def __init__(self) -> None:
        self._recording = Recording(NAME)

    def start(self) -> None:
        self._recording.start()

    def step(self) -> None:
        self._recording.step()

    def abandon(self) -> None:
        self._recording.abandon()

    def stop(self) -> Observation:
        with record_function(_END):
            pass
        try:
            report = self._recording.stop()
        except RuntimeError as error:
            if not self._recording.is_lost:
                raise
            return Observation((), "", str(error), MODE)
        trace = report.loaded
        base = int(trace.metadata.get("baseTimeNanoseconds", 0))
        inner = inner_profile(self._recording.profiler)
        roots = inner.kineto_results.experimental_event_tree()

        def line_of(time_ns: int, operator: str) -> Line | None:
            return line_at(roots, base + time_ns, operator)

        columns = trace.columns
        ends = columns["ts"][columns["name"] == trace.strings.index(_END)]
        return from_report(report, line_of, int(ends.min()))


def from_report(
    report: Report, line_of: Callable[[int, str], Line | None], end_ns: int
) -> Observation:
    """Read out of a report on a GPU run which calls blocked the CPU before `end_ns`.

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
    begins = sorted(step.start_ns for step in report.steps)
    waits = []
    for wait in report.core.blocking_calls:
        if wait.begin_ns >= end_ns:
            break
        operator = wait.operator_name or report.loaded.name(wait.row)
        line = line_of(wait.begin_ns, operator)
        if line is None and (place := wait.location):
            line = Line(
                resolve(place.file),
                place.recorded_line or 0,
                place.function,
                exact=False,
            )
        waits.append(
            Wait(
                line=line,
                api=operator,
                cause=cause_of(operator, wait.subtype),
                in_steps={max(0, bisect_right(begins, wait.begin_ns) - 1): 1},
                us=us_from_ns(wait.end_ns - wait.begin_ns),
            )
        )
    counts = report.kernel_counts.steps
    launches = Launches(problem="the recording has no steps of which it has kernels")
    if counts is not None:
        launches = Launches(counts.each, problem="")
    steps = len(launches.steps)
    if (
        steps > 1
        and not launches.steps[-1]
        and all(max(wait.in_steps) < steps - 1 for wait in waits)
    ):
        steps -= 1  # Nothing followed the last call of step().
        launches = replace(launches, steps=launches.steps[:-1])
    return Observation(
        tuple(waits), _SCOPE, mode=MODE, steps=max(1, steps), launches=launches
    )


def line_at(roots: Iterable[Any], time_ns: int, operator: str) -> Line | None:
    """Return the user's line that was running an operator at a moment.

    `roots` is ``kineto_results.experimental_event_tree()``, `time_ns` on its clock.
    Where several threads were at work, the one that ran `operator` counts.
    """
    best: list[Any] = []
    for root in roots:
        chain = _chain_at(root, time_ns)
        if chain and (not best or any(_name(node) == operator for node in chain)):
            best = chain
    return _user_line(best)


def _chain_at(root: Any, time_ns: int) -> list[Any]:
    chain, nodes = [], [root]
    while inside := [n for n in nodes if n.start_time_ns <= time_ns <= n.end_time_ns]:
        # Where one ends as the next begins, the later one is meant.
        chain.append(inside[-1])
        nodes = inside[-1].children
    return chain


def _name(node: Any) -> str:
    try:
        return str(node.name)
    except UnicodeDecodeError:
        return ""


def _user_line(chain: list[Any]) -> Line | None:
    for node in reversed(chain):
        fields = node.extra_fields
        if not hasattr(fields, "caller"):
            continue  # an operator, not a Python frame
        try:
            # A Python function (as opposed to one in C) is itself running some line
            # that is not known; the line it was called from is.
            begin = getattr(fields, "callsite", None)
            for at, exact in ((begin, False), (fields.caller, True)):
                if at is not None and is_user_file(at.file_name):
                    file = resolve(at.file_name)
                    return Line(file, at.line_number, at.function_name, exact)
        except UnicodeDecodeError:
            continue  # frames of imports hold damaged names
    return None
