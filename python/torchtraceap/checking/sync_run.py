# SPDX-License-Identifier: BSD-3-Clause
"""sync_run.py: with a GPU, records a run and times what blocked the CPU."""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from torchtraceap.analysis import analyze
from torchtraceap.call_lines import line_at
from torchtraceap.checking.sync_observation import Observation
from torchtraceap.checking.sync_recorder import Recorder
from torchtraceap.checking.sync_report import MODE, from_report
from torchtraceap.profiling import live
from torchtraceap.source_lines import Line

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
