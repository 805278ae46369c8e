# SPDX-License-Identifier: BSD-3-Clause
"""wait_places.py: waits for the GPU, by their place in the code. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from torchtraceap.waits.table import BY_OPERATOR
from torchtraceap.waits.wait import Wait, by_place
from torchtraceap_dryrun.record import Record, Sync

_ALIKE = attrgetter("line", "inner", "api", "how", "module", "phase")


def each_wait(syncs: Iterable[Sync], first_step: int = 0) -> Iterator[Wait]:
    """Give each moment as a wait of its own; steps count from ``first_step``."""
    for sync in syncs:
        yield Wait(
            line=sync.line,
            api=sync.api,
            cause=BY_OPERATOR[sync.api],
            in_steps={sync.step - first_step: 1},
            inner=sync.inner,
            module=sync.module,
            written=sync.written,
            how=sync.how,
            value=sync.value,
            phase=sync.phase,
        )


def waits_of(record: Record) -> tuple[Wait, ...]:
    """Gather waits by place: those in most steps first, then the most frequent ones."""
    places = by_place(each_wait(record.syncs), _ALIKE)
    return tuple(sorted(places, key=lambda wait: (-wait.steps, -wait.count)))
