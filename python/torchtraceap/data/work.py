# SPDX-License-Identifier: BSD-3-Clause
"""work.py: what ran: kernels, copies, operators, threads.

Work overlaps: streams run beside each other, and so do launches of one kernel. So the
device's rows have a ``total_us``, the sum of the durations as recorded, and a
``union_us``, in which each moment of a device counts once.
"""

from __future__ import annotations

from dataclasses import dataclass


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
