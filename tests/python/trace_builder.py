# SPDX-License-Identifier: BSD-3-Clause
"""trace_builder.py: traces made by hand, event by event.

    trace_of(profiler_step(3, 0, 900), *launched(1, 10, 20, 500))

Times are microseconds, as in a trace. Other keyword arguments go into the
event's args (``**{"External id": 7}`` if it is not a Python name); `pid` and `tid`
replace the event's thread, and ``event(...) | {"ph": "i"}`` anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import torchtraceap

Event = dict[str, Any]
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
STEP_US = 10_000


def event(
    category: str,
    name: str,
    ts: float,
    dur: float,
    *,
    pid: Any = 1,
    tid: Any = 1,
    **args: Any,
) -> Event:
    """An event with a start and a length, on the host's only thread."""
    where = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
    return {**where, "ts": ts, "dur": dur} | ({"args": args} if args else {})


def op(name: str, ts: float, dur: float, **more: Any) -> Event:
    """An operator."""
    return event("cpu_op", name, ts, dur, **more)


def annotation(name: str, ts: float, dur: float, **more: Any) -> Event:
    """A range that the program or torch named."""
    return event("user_annotation", name, ts, dur, **more)


def profiler_step(number: int, ts: float, dur: float, **more: Any) -> Event:
    """A step of the profiler."""
    return annotation(f"ProfilerStep#{number}", ts, dur, **more)


def frame(place: str, ts: float, dur: float, python_id: int = 1, **more: Any) -> Event:
    """A Python frame, of a place like "train.py(12): load"."""
    ids = {"Python id": python_id}
    return event("python_function", place, ts, dur, **ids, **more)


def call(name: str, ts: float, dur: float, correlation: int, **more: Any) -> Event:
    """A call of the CUDA runtime."""
    return event("cuda_runtime", name, ts, dur, correlation=correlation, **more)


def launch(ts: float, correlation: int, dur: float = 5, **more: Any) -> Event:
    """The call that launches the kernel with this correlation."""
    return call("cudaLaunchKernel", ts, dur, correlation, **more)


def kernel(
    ts: float,
    dur: float,
    name: str = "k",
    *,
    device: int = 0,
    stream: int = 7,
    category: str = "kernel",
    **more: Any,
) -> Event:
    """A kernel, or with another category a copy, a memset or a wait of a stream."""
    where = {"pid": device, "tid": stream, "device": device, "stream": stream}
    return event(category, name, ts, dur, **{**where, **more})


def launched(
    number: int, called: float, begin: float, dur: float, name: str = "k", **more: Any
) -> list[Event]:
    """A launch of 5 us and its kernel."""
    return [
        launch(called, number),
        kernel(begin, dur, name, correlation=number, **more),
    ]


def named(kind: str, name: str, pid: Any = 1, tid: Any = 1) -> Event:
    """What names a process or a thread: kind is "process_name" or "thread_name"."""
    where = {"ph": "M", "name": kind, "pid": pid, "tid": tid}
    return {**where, "args": {"name": name}}


def trace_of(*events: Event, **top: Any) -> bytes:
    """The text of a trace; `top` are members beside its events."""
    return json.dumps({"schemaVersion": 1, **top, "traceEvents": events}).encode()


def report_of(*events: Event, **top: Any) -> torchtraceap.Report:
    """The report on such a trace."""
    return torchtraceap.analyze(trace_of(*events, **top))


def loader_trace(
    file: str = "train.py",
    line: int = 12,
    function: str = "load",
    waits_us: Sequence[float] = (9_000,),
    steps: bool = True,
    step_us: float = STEP_US,
) -> bytes:
    """A CPU trace whose steps of 10 ms wait so long for a data loader, in a line of a
    file."""
    events = []
    for number, wait in enumerate(waits_us):
        start = number * step_us
        events += [
            frame(f"{file}({line}): {function}", start, step_us, number + 1),
            annotation(LOADER, start, wait),
            op("aten::mm", start + wait, step_us - wait - 50),
        ]
        events += [profiler_step(number, start, step_us)] if steps else []
    return trace_of(*events)


def starved_events(
    steps: int, host_name: str = "", kernel_name: str = "k"
) -> Iterator[Event]:
    """Steps of 10 ms, in each of which a device waits 9 ms for the loader; `host_name`
    is added to the names of what the host does."""
    for number in range(steps):
        start = number * STEP_US
        yield annotation(LOADER + host_name, start, 9_000)
        yield op("aten::mm" + host_name, start + 9_100, 200)
        yield from launched(number + 1, start + 9_150, start + 9_300, 300, kernel_name)


def deep_trace(threads: int, frames: int = 31) -> bytes:
    """Waits for a device below frames so deep, on one of many threads, that a page puts
    them into its last row, across frames that reach beyond them."""
    events = [
        frame(
            f"train.py({depth + 1}): f{depth}",
            depth,
            100_000 - 2 * depth,
            40 * thread + depth,
            tid=1000 + thread,
        )
        for thread in range(threads)
        for depth in range(frames)
    ]
    for number in range(1, 21):
        at = 4_000 * number - 2_000
        events += [
            launch(at, number, tid=1000),
            kernel(at + 10, 500, correlation=number),
            op("aten::item", at + 20, 3_000, tid=1000),
            call("cudaStreamSynchronize", at + 30, 2_900, 99 + number, tid=1000),
        ]
    return trace_of(*events)
