# SPDX-License-Identifier: BSD-3-Clause
"""wait_notes.py: the waits of a record, for the mark of its simulated trace.

Whether a wait costs idle time hangs on the host time that was assumed; that the host
waits does not. So the trace lists them all, and the core makes findings of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from torchtraceap.base.safe_text import writable
from torchtraceap.waits.table import BY_OPERATOR, head_of, kind_of, written_together
from torchtraceap_dryrun.record import Record, Sync


def wait_notes(record: Record) -> list[dict[str, Any]]:
    """Return waits by line and API, those in most steps first."""
    places: dict[Hashable, list[Sync]] = {}
    for sync in record.syncs:
        places.setdefault((sync.line, sync.api), []).append(sync)
    notes = [_note(together) for together in places.values()]
    return sorted(notes, key=lambda note: -sum(b - a + 1 for a, b, _ in note["steps"]))


def _note(syncs: list[Sync]) -> dict[str, Any]:
    first, row = syncs[0], BY_OPERATOR.get(syncs[0].api)
    line = first.line
    written = written_together(sync.written for sync in syncs)
    head = head_of(first.api, written)
    guessed = any(sync.value == "guessed" for sync in syncs)
    return {
        "file": writable(line.file) if line else "",
        "line": line.line if line else 0,
        "function": writable(line.function) if line else "",
        "api": first.api,
        "subtype": kind_of(first.api),
        "steps": _runs(Counter(sync.step for sync in syncs)),
        "value": "guessed" if guessed else first.value,
        "why": (f"{head}: {row.why}" if written else row.what) if row else "",
        "advice": row.instead if row else "",
    }


def _runs(counts: Counter[int]) -> list[list[int]]:
    """Return [first step, last step, waits in each], where neighbors are alike."""
    runs: list[list[int]] = []
    for step, count in sorted(counts.items()):
        if runs and runs[-1][1] == step - 1 and runs[-1][2] == count:
            runs[-1][1] = step
        else:
            runs.append([step, step, count])
    return runs
