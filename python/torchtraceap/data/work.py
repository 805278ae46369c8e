# SPDX-License-Identifier: BSD-3-Clause
"""work.py: what ran: kernels, copies, operators, threads.

Work overlaps: streams run beside each other, and so do launches of one kernel. So the
device's rows have a ``total_us``, the sum of the durations as recorded, and a
``union_us``, in which each moment of a device counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torchtraceap import _core
from torchtraceap.base.units import us_from_ns
from torchtraceap.data.facts import identity, process


@dataclass(frozen=True)
class Kernel:
    """All launches of one kernel, on all devices together."""

    name: str
    communication: bool  #: Of NCCL, RCCL and their like.
    count: int
    total_us: float  #: Sum of the durations: may exceed the time there was.
    union_us: float  #: Time in which at least one was running, of each device.
    mean_us: float
    min_us: float
    max_us: float
    busy_share: float  #: `union_us` of the busy time of all devices, 0 to 1.
    blocks: int | None  #: Of the grid: the most frequent launch. None: not recorded.
    block_threads: int | None  #: Threads of a block, of the same launch.
    occupancy: float | None  #: Estimated, in percent, weighted by duration.


@dataclass(frozen=True)
class Copy:
    """All copies of one direction and kind of host memory, or all memsets."""

    direction: str  #: "HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "": unknown.
    memory: str  #: Of the host: "pageable", "pinned"; "": not recorded, or none.
    count: int
    total_us: float  #: As of `Kernel`.
    union_us: float
    mean_us: float
    min_us: float
    max_us: float
    bytes: int | None  #: Of those that tell it. None: none does.
    median_bytes: int | None
    bandwidth: float | None  #: Bytes over their `total_us`, in GB/s.


@dataclass(frozen=True)
class Operator:
    """All calls of one operator, on all threads."""

    name: str
    count: int
    total_us: float  #: Host time; a call inside one of the same operator is not added.
    self_us: float  #: Outside of the operators it called.
    min_us: float
    max_us: float
    device_us: float  #: Sum of the device work launched inside it.
    self_device_us: float  #: Of that, what no operator inside it launched.
    work: int  #: Kernels, copies and memsets in `device_us`.


@dataclass(frozen=True)
class Counts:
    """How many kernels each of several parts of a trace has."""

    min: int
    median: float
    max: int
    each: tuple[int, ...]


@dataclass(frozen=True)
class KernelCounts:
    """Numbers of kernels; None where there is nothing to count."""

    steps: Counts | None  #: Launched in each of `Report.steps`.
    windows: Counts | None  #: Started in each of `Report.windows`.


@dataclass(frozen=True)
class Overlap:
    """One device's time by what ran; what runs at once counts for both."""

    device: int
    pid: int | str | None  #: The process that feeds it; None: unknown.
    compute_us: float  #: Kernels but those of communication.
    communication_us: float
    copy_us: float
    communication_hidden_us: float  #: With a computing kernel beside.
    copy_hidden_us: float


def read_kernels(core: list[_core.KernelRow], busy_ns: int) -> tuple[Kernel, ...]:
    """Convert the core's kernels, those that keep the devices busy longest first."""
    return tuple(
        Kernel(
            name=row.name,
            communication=row.communication,
            **_times(row.times),
            busy_share=row.times.union_ns / busy_ns if busy_ns else 0.0,
            blocks=row.blocks,
            block_threads=row.block_threads,
            occupancy=row.occupancy,
        )
        for row in core
    )


def read_copies(core: list[_core.CopyRow]) -> tuple[Copy, ...]:
    """Convert the core's copies, most time first."""
    return tuple(
        Copy(
            direction=row.direction,
            memory=row.memory,
            **_times(row.times),
            bytes=row.bytes if row.with_bytes else None,
            median_bytes=row.median_bytes if row.with_bytes else None,
            bandwidth=row.bandwidth,
        )
        for row in core
    )


def read_operators(core: list[_core.OperatorRow]) -> tuple[Operator, ...]:
    """Convert the core's operators, most time of their own first."""
    return tuple(
        Operator(
            name=row.name,
            count=row.count,
            total_us=us_from_ns(row.total_ns),
            self_us=us_from_ns(row.self_ns),
            min_us=us_from_ns(row.min_ns),
            max_us=us_from_ns(row.max_ns),
            device_us=us_from_ns(row.device_ns),
            self_device_us=us_from_ns(row.self_device_ns),
            work=row.work,
        )
        for row in core
    )


def read_kernel_counts(core: _core.KernelCounts) -> KernelCounts:
    """Convert the core's counts."""
    return KernelCounts(_counts(core.steps), _counts(core.windows))


def read_overlap(
    core: list[_core.OverlapFacts], trace: _core.Trace
) -> tuple[Overlap, ...]:
    """Convert one row for each device."""
    return tuple(
        Overlap(
            device=row.device,
            pid=process(trace, row.pid),
            compute_us=us_from_ns(row.compute_ns),
            communication_us=us_from_ns(row.comm_ns),
            copy_us=us_from_ns(row.copy_ns),
            communication_hidden_us=us_from_ns(row.comm_hidden_ns),
            copy_hidden_us=us_from_ns(row.copy_hidden_ns),
        )
        for row in core
    )


def _times(times: _core.WorkTimes) -> dict[str, Any]:
    return {
        "count": times.count,
        "total_us": us_from_ns(times.sum_ns),
        "union_us": us_from_ns(times.union_ns),
        "mean_us": us_from_ns(times.sum_ns) / times.count,
        "min_us": us_from_ns(times.min_ns),
        "max_us": us_from_ns(times.max_ns),
    }


def _counts(core: _core.Counts) -> Counts | None:
    each = tuple(core.each)
    return Counts(core.min, core.median, core.max, each) if each else None


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
