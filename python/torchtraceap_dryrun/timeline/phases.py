# SPDX-License-Identifier: BSD-3-Clause
"""phases.py: which part of a step each entry of a record belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from torchtraceap_dryrun.record import Op, Phase, Record


def phases_of(record: Record) -> Iterator[Phase]:
    """Give the phase of each entry.

    A call has none of its own: it has that of the wait it stands for, else that of the
    operators before and behind it, if they agree, else "forward".
    """
    entries = record.entries
    of_waits = {sync.entry: sync.phase for sync in record.syncs}
    behind: list[Phase | None] = []
    follows: Phase | None = None
    for entry in reversed(entries):
        if isinstance(entry, Op):
            follows = entry.phase
        behind.append(follows)
    before: Phase | None = None
    for at, entry in enumerate(entries):
        follows = behind[-1 - at]
        if isinstance(entry, Op):
            before = entry.phase
            yield entry.phase
        elif at in of_waits:
            yield of_waits[at]
        elif follows is not None and before == follows:
            yield follows
        else:
            yield "forward"


def node_name(op: Op) -> str:
    """Name what autograd does for a forward operator, as its engine does.

    torch numbers the nodes of one operator's overloads; which has which number is not
    known, so there is none.
    """
    words = op.name.rpartition("::")[2].strip("_").split("_")
    node = "".join(word[:1].upper() + word[1:] for word in words)
    return f"autograd::engine::evaluate_function: {node}Backward"
