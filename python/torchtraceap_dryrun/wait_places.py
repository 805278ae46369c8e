# SPDX-License-Identifier: BSD-3-Clause
"""wait_places.py: waits for the GPU, by their place in the code. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from torchtraceap.base.safe_text import writable
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


def wait_notes(record: Record) -> list[dict[str, Any]]:
    """Return waits by line and API, those in most steps first, for the mark of a
    simulated trace.

    Whether a wait costs idle time depends on the assumed host time; the wait itself
    does not. So the trace lists them all, and the core makes findings of them.
    """
    places = by_place(each_wait(record.syncs), attrgetter("line", "api"))
    return [_note(wait) for wait in sorted(places, key=lambda wait: -wait.steps)]


def _note(wait: Wait) -> dict[str, Any]:
    line, cause = wait.line, wait.cause
    return {
        "file": writable(line.file) if line else "",
        "line": line.line if line else 0,
        "function": writable(line.function) if line else "",
        "api": wait.api,
        "subtype": cause.kind.name,
        "steps": _runs(wait.in_steps),
        "value": wait.value,
        "why": f"{wait.head}: {cause.why}" if wait.written else cause.what,
        "advice": cause.instead,
    }


def _runs(counts: Mapping[int, int]) -> list[list[int]]:
    """Return [first step, last step, waits in each], where neighbors are alike."""
    runs: list[list[int]] = []
    for step, count in sorted(counts.items()):
        if runs and runs[-1][1] == step - 1 and runs[-1][2] == count:
            runs[-1][1] = step
        else:
            runs.append([step, step, count])
    return runs
