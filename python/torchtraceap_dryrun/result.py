# SPDX-License-Identifier: BSD-3-Clause
"""result.py: what a dry run found: where the host waits, and what a step launches.

Loads no torch. No time in it was measured: `device_us` is an estimate for the GPU that
the run stood for (kernel_time.py).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from torchtraceap.base.source_lines import Line
from torchtraceap.waits.wait import Wait
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.totals import Totals, Work, work_of
from torchtraceap_dryrun.record import Op, Record, Sync
from torchtraceap_dryrun.wait_places import waits_of

if TYPE_CHECKING:
    from torchtraceap.report import Report

#: What no dry run can tell, whatever it found.
CANNOT_KNOW = (
    "times of the host: Python, the dispatcher, data loading, other processes",
    "where a guessed value would have led otherwise: loops, branches, sizes",
    "waits of the driver (cudaMalloc, module loading) and of NCCL",
    "which algorithms cuDNN and cuBLAS choose, clocks, fragmentation of memory",
)

#: What is said of a run that Ctrl-C ended.
INTERRUPTED = "The run was interrupted: this is what was found until then."

_Key = TypeVar("_Key", bound=Hashable)


class Result:
    """Reads a record; what it gives is worked out when asked for, in one pass.

    Not to be read by several threads at once.
    """

    def __init__(self, record: Record, gpu: Gpu) -> None:
        self.record = record
        self.gpu = gpu
        self._worked: list[Work] = []

    @property
    def ops(self) -> list[Op]:
        """The operators that a GPU would have run."""
        return [entry for entry in self.record.entries if isinstance(entry, Op)]

    @property
    def syncs(self) -> list[Sync]:
        """The moments at which the host would have waited for it."""
        return self.record.syncs

    def totals(
        self, key: Callable[[Op | Sync], _Key], step: int | None = None
    ) -> dict[_Key, Totals]:
        """Return totals by what ``key`` says of each operator and wait, of one step or
        of all: in order of their first."""
        found: dict[_Key, Totals] = {}
        for entry, totals in self._counted():
            if step is None or entry.step == step:
                at = key(entry)
                found[at] = found.get(at, Totals()) + totals
        return found

    @property
    def steps(self) -> tuple[Totals, ...]:
        """Totals of each step that ended. The first has what came before it, too."""
        found = self.totals(lambda entry: entry.step)
        return tuple(found.get(n, Totals()) for n in range(self.record.steps))

    @property
    def usual_step(self) -> Totals:
        """Totals of the last step that ended; of all there is, if none did."""
        whole = self.totals(lambda _: None, self.record.last_step)
        return whole.get(None, Totals())

    def by_module(self, step: int | None = None) -> dict[str, Totals]:
        """Return totals by module, of one step or of all; "" is outside of modules."""
        return self.totals(lambda entry: entry.module, step)

    def by_line(self, step: int | None = None) -> dict[Line | None, Totals]:
        """Return totals by line of the user's code, of one step or of all. Those of the
        backward pass are at the line of the forward operator they belong to."""
        return self.totals(lambda entry: entry.line, step)

    def _counted(self) -> Iterator[tuple[Op | Sync, Totals]]:
        for work in self._works():
            yield work.op, work.totals
        wait = Totals(waits=1)
        for sync in self.syncs:
            yield sync, wait

    @property
    def waits(self) -> tuple[Wait, ...]:
        """The places at which the host waits: those that do so in most steps first."""
        return waits_of(self.record)

    @property
    def launch_bound_us(self) -> float | None:
        """How long the host may take for a launch before a usual step is bound by it:
        the device's estimated time a launch. None: nothing is launched."""
        usual = self.usual_step
        launched = usual.launches + usual.copies
        return usual.device_us / launched if launched else None

    @property
    def peak_bytes(self) -> int:
        """Most memory that tensors took at once: an estimate of what the allocator
        hands out, without workspaces of libraries and what it keeps in reserve."""
        return self.record.peak_bytes

    @property
    def unknown_ops(self) -> Counter[str]:
        """Operators of which it is not known what they launch: each counts as one."""
        return Counter(work.op.name for work in self._works() if work.by_default)

    def _works(self) -> list[Work]:
        """Return what each operator gives the device to do: worked out once for each,
        though the record may have grown, or lost its end, since it was last asked."""
        ops = [op for op in self.ops if not op.is_view]
        known = self._worked
        # Records grow, and lose their end: what is in its former place is a beginning.
        same = sum(1 for work, op in zip(known, ops, strict=False) if work.op is op)
        del known[same:]
        known.extend(work_of(op, self.gpu) for op in ops[same:])
        return known

    def summary(self) -> str:
        """Return the result as text."""
        from torchtraceap_dryrun.result_text import result_text

        return result_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON."""
        from torchtraceap_dryrun.result_form import result_form

        return result_form(self)

    def trace(self, *, host_us: float = 10.0) -> bytes:
        """Return a timeline of the run as a trace, Kineto's JSON, marked as simulated.

        Args:
            host_us: What the host is taken to need for an operator, in µs: a guess that
                the timeline is only as good as.

        Raises:
            ValueError: ``host_us`` is no length.
        """
        from torchtraceap_dryrun.timeline.program import simulate

        return simulate(self.record, self.gpu, host_us)

    def to_trace(self, path: str | os.PathLike[str], *, host_us: float = 10.0) -> None:
        """Write that trace, which Perfetto opens and ``analyze`` reads.

        Raises:
            ValueError: ``path`` cannot be written, or what `trace` raises.
        """
        from torchtraceap.base.files import write_whole

        write_whole(path, self.trace(host_us=host_us))

    def report(self, *, host_us: float = 10.0, **options: Any) -> Report:
        """Return the report of the simulated timeline: its findings have the origin
        "dry-run", and none of its times was measured.

        Args:
            host_us: As of `trace`.
            **options: Of ``torchtraceap.analyze``.
        """
        from torchtraceap.analysis import analyze

        return analyze(self.trace(host_us=host_us), **options)
