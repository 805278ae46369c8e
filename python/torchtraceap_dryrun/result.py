# SPDX-License-Identifier: BSD-3-Clause
"""result.py: what a dry run found: where the host waits, and what a step launches.

Loads no torch. No time in it was measured: `device_us` is an estimate for the GPU that
the run stood for (kernel_time.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from operator import add
from typing import TypeVar

from torchtraceap.base.source_lines import Line
from torchtraceap.base.units import counted
from torchtraceap.waits.wait import Wait
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import copy_us, kernel_us
from torchtraceap_dryrun.estimate.launches import launches_of
from torchtraceap_dryrun.record import Op, Record, Sync
from torchtraceap_dryrun.wait_places import waits_of


@dataclass(frozen=True)
class Totals:
    """What a step, a module or a line gives a GPU to do."""

    ops: int = 0  #: Operators, without those that only make views.
    launches: int = 0  #: Kernels and memsets.
    copies: int = 0  #: To and from the host.
    copied_bytes: int = 0
    waits: int = 0
    device_us: float = 0.0  #: An estimate: kernels and copies one after the other.

    def __add__(self, other: Totals) -> Totals:
        return Totals(*map(add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True, slots=True)
class Work:
    """What one operator gives a GPU to do."""

    op: Op
    totals: Totals
    by_default: bool  #: It is not known what the operator launches: it counts as one.


def work_of(op: Op, gpu: Gpu) -> Work:
    """Return the work of an operator that is more than a view."""
    kernels = launches_of(op, gpu)
    time = sum(kernel_us(kernel, gpu) for kernel in kernels)
    copies = copied = 0
    if op.copy is not None and op.copy.nbytes > 0:  # Nothing is not copied.
        time += copy_us(op.copy, gpu)
        if op.copy.direction != "d2d":
            copies, copied = 1, op.copy.nbytes
    totals = Totals(1, len(kernels), copies, copied, device_us=time)
    return Work(op, totals, any(kernel.by_default for kernel in kernels))


_Key = TypeVar("_Key", bound=Hashable)


class Result:
    """Reads a record; its values are computed on request, in one pass.

    Not to be read by several threads at once.
    """

    def __init__(self, record: Record, gpu: Gpu) -> None:
        self.record = record
        self.gpu = gpu
        self._worked: list[Work] = []

    @property
    def notes(self) -> list[str]:
        """What has to be known of the numbers, each a sentence."""
        record = self.record
        if not record.steps:
            return record.notes
        after = [entry for entry in record.entries if entry.step == record.steps]
        ops = sum(isinstance(entry, Op) and not entry.is_view for entry in after)
        waits = sum(sync.step == record.steps for sync in record.syncs)
        parts = [counted(ops, "operator")] if ops else []
        parts += [counted(waits, "wait")] if waits else []
        if not parts:
            return record.notes
        late = f"in no step, as it came after the last step(): {' and '.join(parts)}"
        return [*record.notes, late]

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
        """Return totals by the ``key`` of each operator and wait, of one step or of
        all, in order of first occurrence."""
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
