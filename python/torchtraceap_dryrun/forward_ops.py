# SPDX-License-Identifier: BSD-3-Clause
"""forward_ops.py: which forward operator an operator of backward belongs to.

Autograd numbers the nodes of its graph. Loads torch.
"""

from __future__ import annotations

from typing import Any

from torchtraceap_dryrun.private_names import private
from torchtraceap_dryrun.record import Op, Record

_next_sequence = private("torch._C._autograd._get_sequence_nr")


class ForwardOps:
    """The operators that made nodes, by the number of their node.

    Args:
        record: Where they are written down.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        # None is forgotten: it may be that a node is of it.
        self._made: dict[int, int] = {}
        self._step = 0  # the first entry of the step

    def end_step(self) -> None:
        """Look no further back than this."""
        self._step = len(self._record.entries)

    def keep(self, at: int) -> None:
        """Remember an operator that is dispatched now, while graphs are made."""
        # Its node is made before it is dispatched; the node's first operator counts.
        if (number := _next_sequence() - 1) >= 0:
            self._made.setdefault(number, at)

    def link(self, entry: Op, node: Any) -> None:
        """Say of an operator which one's node it is run by, if known: it is at that
        one's line, and called from its own."""
        entry.caller = entry.line
        at = self._made.get(node._sequence_nr())
        if at is not None and self._is_forward(at):
            entry.forward = at
            made = self._record.entries[at]
            assert isinstance(made, Op)
            entry.line, entry.module = made.line, made.module

    def _is_forward(self, at: int) -> bool:
        # Of this step, and no part of backward, as is what has a second derivative.
        entry = self._record.entries[at]
        return at >= self._step and isinstance(entry, Op) and entry.phase != "backward"
