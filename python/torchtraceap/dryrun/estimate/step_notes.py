# SPDX-License-Identifier: BSD-3-Clause
"""step_notes.py: what has to be known of a record's numbers by step. Loads no torch."""

from __future__ import annotations

from collections.abc import Iterable

from torchtraceap.dryrun.record import Call, Op, Record, Sync
from torchtraceap.units import counted


def step_notes(record: Record) -> list[str]:
    """Return what to say of steps that were told apart; nothing if none were."""
    if not record.steps:
        return []
    notes = [chance_of_threads(record.entries, record.syncs)]
    after = _parts(
        [entry for entry in record.entries if entry.step == record.steps],
        [sync for sync in record.syncs if sync.step == record.steps],
    )
    if after:
        notes.append(f"in no step, as it came after the last step(): {after}")
    return [note for note in notes if note]


def chance_of_threads(entries: Iterable[Op | Call], syncs: Iterable[Sync]) -> str:
    """Return that numbers by step hang on how fast threads were; "" if there was only
    the first one."""
    others = _parts(
        [entry for entry in entries if entry.thread],
        [sync for sync in syncs if sync.thread],
    )
    if not others:
        return ""
    return (
        f"{others} of other threads counted for the step that was under way: where "
        "that step does not wait for them, numbers by step may differ from run to run"
    )


def _parts(entries: Iterable[Op | Call], syncs: list[Sync]) -> str:
    ops = sum(isinstance(entry, Op) and not entry.is_view for entry in entries)
    parts = [counted(ops, "operator")] if ops else []
    parts += [counted(len(syncs), "wait")] if syncs else []
    return " and ".join(parts)
