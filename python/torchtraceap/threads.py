# SPDX-License-Identifier: BSD-3-Clause
"""threads.py: what each thread of the host did with the analysed time."""

from __future__ import annotations

from dataclasses import dataclass

from torchtraceap import _core
from torchtraceap.identity import identity
from torchtraceap.units import us_from_ns


@dataclass(frozen=True)
class Thread:
    """One thread's time: span = busy + waiting + profiler + idle.

    Each moment counts once, by the innermost event that says something.
    """

    pid: int | str  #: As the file has it.
    tid: int | str
    name: str  #: "" if the trace does not name it.
    events: int
    busy_us: float  #: The four that follow.
    operators_us: float  #: Inside operators, with all that they call but waits.
    calls_us: float  #: Inside calls of CUDA, HIP and their like, outside of operators.
    compile_us: float  #: torch.compile or Triton compiling.
    python_us: float  #: In Python, or in a range of the program, in none of the above.
    waiting_us: float  #: The four that follow.
    wait_loader_us: float  #: Inside the data loader's marks, whoever loads.
    wait_comm_us: float  #: For collectives between CPU tensors, or carrying them out.
    wait_device_us: float  #: In calls that wait for a device.
    wait_other_us: float  #: For locks, files, processes, autograd's threads; asleep.
    profiler_us: float  #: The profiler's own work.
    idle_us: float  #: Nothing is recorded, steps aside.
    busy_share: float  #: `busy_us` of the span, 0 to 1.


def read_threads(
    core: list[_core.ThreadRow], trace: _core.Trace, span_us: float
) -> tuple[Thread, ...]:
    """Convert the core's threads, the busiest first."""
    return tuple(_read_thread(row, trace, span_us) for row in core)


def _read_thread(row: _core.ThreadRow, trace: _core.Trace, span_us: float) -> Thread:
    waits = (row.loader_ns, row.wait_comm_ns, row.wait_device_ns, row.wait_other_ns)
    busy_us = us_from_ns(row.busy_ns)
    return Thread(
        pid=identity(trace, row.pid),
        tid=identity(trace, row.tid),
        name=row.name,
        events=row.events,
        busy_us=busy_us,
        operators_us=us_from_ns(row.operators_ns),
        calls_us=us_from_ns(row.calls_ns),
        compile_us=us_from_ns(row.compile_ns),
        python_us=us_from_ns(row.python_ns),
        waiting_us=us_from_ns(sum(waits)),
        wait_loader_us=us_from_ns(row.loader_ns),
        wait_comm_us=us_from_ns(row.wait_comm_ns),
        wait_device_us=us_from_ns(row.wait_device_ns),
        wait_other_us=us_from_ns(row.wait_other_ns),
        profiler_us=us_from_ns(row.profiler_ns),
        idle_us=us_from_ns(row.idle_ns),
        busy_share=busy_us / span_us if span_us else 0.0,
    )
