# SPDX-License-Identifier: BSD-3-Clause
"""forward_ops.py: which forward operator an operator of backward belongs to.

Autograd numbers the nodes of its graph, anew in each thread. Loads torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.device.memory import memory_of
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.record import Op, Record

_next_sequence = private("torch._C._autograd._get_sequence_nr")


class ForwardOps:
    """The forward operators of a step, by the number of their node."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._made: dict[int, dict[int, int]] = {}  # by thread: number: entry
        self._mixed: set[int] = set()  # threads that met graphs of others

    def clear(self) -> None:
        """Forget them: the step is over."""
        self._made.clear()

    def keep(self, thread: int, at: int) -> None:
        """Remember a forward operator that is dispatched now."""
        # Its node is made before it is dispatched; the node's first operator counts.
        self._made.setdefault(thread, {}).setdefault(_next_sequence() - 1, at)

    def meet(self, thread: int, given: Iterable[Tensor]) -> None:
        """Be told which tensors an operator of a thread takes."""
        for tensor in given:
            if tensor.grad_fn is not None and on_device(tensor):
                memory = memory_of(tensor)
                # What is older than the second thread is the first one's.
                made = memory.made if memory is not None else None
                if (0 if made is None else made[0]) != thread:
                    self._mixed.add(thread)

    def of(self, thread: int, node: Any) -> int | None:
        """Return the place of the operator whose node runs in a thread, if known."""
        number = node._sequence_nr()
        if thread not in self._mixed:
            return self._made.get(thread, {}).get(number)
        # Of whose node this is the number cannot be asked, only of what operator.
        found = [made[number] for made in self._made.values() if number in made]
        fits = [at for at in found if _is_of(node, self._record.entries[at])]
        return fits[0] if len(fits) == 1 else None


def _is_of(node: Any, entry: Any) -> bool:
    assert isinstance(entry, Op)
    name = entry.name.rpartition("::")[2].replace("_", "").lower()
    return bool(name) and name in node.name().lower()
