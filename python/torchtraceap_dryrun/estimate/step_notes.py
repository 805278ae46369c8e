# SPDX-License-Identifier: BSD-3-Clause
"""step_notes.py: what has to be known of a record's numbers by step. Loads no torch."""

from __future__ import annotations

from torchtraceap.base.units import counted
from torchtraceap_dryrun.record import Op, Record


def step_notes(record: Record) -> list[str]:
    """Return what to say of steps that were told apart; nothing if none were."""
    if not record.steps:
        return []
    after = [entry for entry in record.entries if entry.step == record.steps]
    ops = sum(isinstance(entry, Op) and not entry.is_view for entry in after)
    waits = sum(sync.step == record.steps for sync in record.syncs)
    parts = [counted(ops, "operator")] if ops else []
    parts += [counted(waits, "wait")] if waits else []
    if not parts:
        return []
    return [f"in no step, as it came after the last step(): {' and '.join(parts)}"]
