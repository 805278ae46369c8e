# SPDX-License-Identifier: BSD-3-Clause
"""recording.py: records one twin under torch.profiler."""

from __future__ import annotations

import gzip
import json
import re
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, schedule

from benchmarks.lab.corpus.measure import Protocol
from benchmarks.lab.corpus.workloads.training import Training


class BadTrace(Exception):
    """The profiler wrote a trace that lacks what it was asked to record."""


@dataclass(frozen=True)
class Recording:
    """A trace as ``.json.gz`` bytes, and what the manifest says about it."""

    data: bytes
    facts: dict[str, Any]


def record(
    run: Training, protocol: Protocol, collector: bool = False, stacks: bool = True
) -> Recording:
    """Warm ``run`` up, then profile ``protocol.active`` of its steps.

    The warm-up comes before the profiler because a first torch.compile under stack
    recording writes some 750,000 Python events. Stacks and shapes are recorded the
    same way for both twins: flags must not tell them apart. With `collector` the runs
    of Python's garbage collector are recorded too. Without `stacks` a recompilation in
    a recorded step is not 640,000 events.

    Raises:
        BadTrace: Steps, or on CUDA kernels, are missing from the trace.
    """
    cuda = run.device.type == "cuda"
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * cuda
    with tempfile.TemporaryDirectory() as folder, run.settings():
        path = Path(folder, "trace.json")
        for _ in range(protocol.lead_in):
            run.step()
        with profile(
            activities=activities,
            schedule=schedule(wait=1, warmup=1, active=protocol.active, repeat=1),
            on_trace_ready=lambda ready: ready.export_chrome_trace(str(path)),
            record_shapes=True,
            with_stack=stacks,
            experimental_config=_ExperimentalConfig(record_python_gc_info=collector),
        ) as profiler:
            for _ in range(2 + protocol.active):
                run.step()
                profiler.step()
        raw = anonymous(path.read_bytes())
    facts = facts_of(raw)
    if facts["profiled_steps"] != protocol.active:
        raise BadTrace(f"{facts['profiled_steps']} ProfilerStep of {protocol.active}")
    if cuda and not facts["kernels"]:
        raise BadTrace("no kernel in the trace: the profiler did not see the device")
    data = gzip.compress(raw, 9, mtime=0)  # The same trace gives the same bytes.
    return Recording(data, facts | {"json_bytes": len(raw), "bytes": len(data)})


def anonymous(raw: bytes) -> bytes:
    """Blank the machine's name and the temporary path; no other byte changes."""
    return re.sub(rb'("(?:host_name|traceName)": )"[^"]*"', rb'\1""', raw)


def facts_of(raw: bytes) -> dict[str, Any]:
    """Count what a reader of the manifest asks first; reads the whole trace."""
    events = json.loads(raw)["traceEvents"]
    categories = [event.get("cat", "") for event in events]
    steps = [
        event["dur"]
        for event, category in zip(events, categories, strict=True)
        # The device's own copy of the marker is a "gpu_user_annotation".
        if category == "user_annotation" and event["name"].startswith("ProfilerStep#")
    ]
    return {
        "events": len(events),
        "python_frames": categories.count("python_function"),
        "kernels": categories.count("kernel"),
        "compiled_regions": sum(
            event.get("name", "").startswith("Torch-Compiled Region")
            for event in events
        ),
        "profiled_steps": len(steps),
        "profiled_step_ms": round(statistics.median(steps) / 1e3, 5) if steps else None,
    }
