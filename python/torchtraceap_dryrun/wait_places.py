# SPDX-License-Identifier: BSD-3-Clause
"""wait_places.py: waits for the GPU, by their place in the code. Loads no torch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from torchtraceap.base.source_lines import Line
from torchtraceap.waits.conditions import SyncOp
from torchtraceap.waits.table import BY_OPERATOR, head_of, written_together
from torchtraceap_dryrun.record import How, Phase, Record, Sync, Value


@dataclass(frozen=True)
class Wait:
    """A place at which the host waits for the device."""

    line: Line | None  #: The innermost line of the user's own code.
    inner: Line | None  #: The line of the library that waits, if it is one.
    api: str
    how: How
    value: Value  #: "guessed" if any of them was.
    module: str
    phase: Phase
    count: int
    steps: int  #: In how many steps.
    row: SyncOp  #: In words: what it is, why it waits, what to do instead.
    written: str = ""  #: What of the line waits, as far as known: ".item()".

    @property
    def head(self) -> str:
        """What waits, for people."""
        return head_of(self.api, self.written)

    @property
    def per_step(self) -> float:
        """How often in a step in which it waits."""
        return self.count / self.steps


def waits_of(record: Record) -> tuple[Wait, ...]:
    """Gather waits by place: those in most steps first, then the most frequent ones."""
    places: dict[Hashable, list[Sync]] = {}
    for sync in record.syncs:
        key = sync.line, sync.inner, sync.api, sync.how, sync.module, sync.phase
        places.setdefault(key, []).append(sync)
    found = [_wait(together) for together in places.values()]
    return tuple(sorted(found, key=lambda wait: (-wait.steps, -wait.count)))


def _wait(syncs: Sequence[Sync]) -> Wait:
    first = syncs[0]
    values = {sync.value for sync in syncs}
    value: Value = first.value
    if len(values) > 1:
        value = "guessed" if "guessed" in values else "known"
    return Wait(
        line=first.line,
        inner=first.inner,
        api=first.api,
        how=first.how,
        value=value,
        module=first.module,
        phase=first.phase,
        count=len(syncs),
        steps=len({sync.step for sync in syncs}),
        row=BY_OPERATOR[first.api],
        written=written_together(sync.written for sync in syncs),
    )
