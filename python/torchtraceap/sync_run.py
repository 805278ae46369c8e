# SPDX-License-Identifier: BSD-3-Clause
"""sync_run.py: with a GPU, records a run and measures what its waits cost."""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

from torchtraceap import live
from torchtraceap.analysis import analyze
from torchtraceap.call_lines import line_at
from torchtraceap.events import Event
from torchtraceap.findings import Finding
from torchtraceap.source_lines import Line
from torchtraceap.sync_verdict import Observation, from_report

_SCOPE = (
    "Measured on the GPU: the time it was idle because the CPU waited for it. Waits "
    "during which\nit stayed busy cost nothing and are not counted."
)
_NESTED = (
    "Nothing was checked: the code under test uses torch's profiler itself, and only "
    "one can run at\na time. Take one of the two out."
)


class SyncRun:
    """Profiles from `start` to `stop`. Loads torch.

    `start` raises RuntimeError if a profiler is running already.
    """

    def __init__(self) -> None:
        self._prof = profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=True
        )

    def start(self) -> None:
        if torch.autograd._profiler_enabled():
            raise RuntimeError(
                "a profiler is running already, and only one can run at a time: "
                "use no_sync_stalls outside of it"
            )
        torch.cuda.synchronize()  # what was queued before is not part of the run
        self._prof.start()

    def abandon(self) -> None:
        # Stopping a profiler that another one ended is harmless, exporting is not.
        self._prof.stop()

    def stop(self) -> Observation:
        own = torch.autograd._profiler_enabled()
        self._prof.stop()
        if not own:
            return Observation((), "", problem=_NESTED)
        trace = live.load(self._prof)
        report = analyze(trace)
        if not report.trace.working_devices:
            return Observation(
                (),
                "To check code for the CPU as if it had one, hide it: "
                "CUDA_VISIBLE_DEVICES= pytest ...",
                problem="Nothing was checked: the code ran nothing on the GPU.",
            )
        if report.quality.verdict == "unusable":
            reasons = "; ".join(note.detail for note in report.quality.warnings)
            return Observation(
                (), "", problem=f"The recording cannot be judged: {reasons}"
            )
        base = int(trace.metadata["baseTimeNanoseconds"])
        starts = trace.columns["ts"]
        roots = live.inner_profile(self._prof).kineto_results.experimental_event_tree()

        def line_of(finding: Finding, event: Event) -> Line | None:
            return line_at(roots, base + int(starts[event.index]), finding.operator)

        return Observation(from_report(report, line_of), _SCOPE)
