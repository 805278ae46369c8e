# SPDX-License-Identifier: BSD-3-Clause
"""forward_ops.py: which forward operator an operator of backward belongs to.

Autograd numbers the nodes of its graph, anew in each thread, and of which thread a
node is cannot be asked. Loads torch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torchtraceap.dryrun.device.devices import on_device
from torchtraceap.dryrun.device.memory import memory_of
from torchtraceap.dryrun.host_threads import HostThreads
from torchtraceap.dryrun.private_names import private
from torchtraceap.dryrun.record import Op, Record

_next_sequence = private("torch._C._autograd._get_sequence_nr")
#: What begins a backward pass, and its argument that has the ends of the graph.
_BEGINNINGS = {
    torch.autograd.backward.__code__: "tensors",
    torch.autograd.grad.__code__: "outputs",
}
#: The name of a node of an operator; functions of the user have no number.
_NODE = re.compile(r"(?:torch::autograd::)?(\w+)Backward(s|\d+)")
#: Operators that "meta" runs instead of those by which autograd names the node.
_INSTEAD_OF = {
    "_native_batch_norm_legit": "native_batch_norm",
    "_native_batch_norm_legit_no_training": "native_batch_norm",
}


class ForwardOps:
    """The operators that made nodes, by the number of their node.

    Args:
        record: Where they are written down.
        threads: The threads of the run.
    """

    def __init__(self, record: Record, threads: HostThreads) -> None:
        self._record, self._threads = record, threads
        # By thread: number: entry. None is forgotten: it may be that a node is of it.
        self._made: dict[int, dict[int, int]] = {}
        self._mixed: set[int] = set()  # threads that met graphs of others
        self._step = 0  # the first entry of the step

    def end_step(self) -> None:
        """Look no further back than this."""
        self._step = len(self._record.entries)

    def keep(self, thread: int, at: int) -> None:
        """Remember an operator that is dispatched now, while graphs are made."""
        # Its node is made before it is dispatched; the node's first operator counts.
        if (number := _next_sequence() - 1) >= 0:
            self._made.setdefault(thread, {}).setdefault(number, at)

    def meet(self, thread: int, given: Iterable[Tensor]) -> None:
        """Be told which tensors an operator of a thread, or a backward pass, takes."""
        for tensor in given:
            if tensor.grad_fn is not None and on_device(tensor):
                memory = memory_of(tensor)
                maker = self._threads.thread_of(memory.made if memory else None)
                # What is older than the second thread is the first one's.
                if (maker or 0) != thread:
                    self._mixed.add(thread)

    def link(self, entry: Op, node: Any) -> None:
        """Say of an operator which one's node it is run by, if known: it is at that
        one's line, and called from its own."""
        entry.caller = entry.line
        entry.forward = self._of(entry.thread, node)
        if entry.forward is not None:
            made = self._record.entries[entry.forward]
            assert isinstance(made, Op)
            entry.line, entry.module = made.line, made.module

    def _of(self, thread: int, node: Any) -> int | None:
        number = node._sequence_nr()
        own = self._made.get(thread, {}).get(number)
        if self._made.keys() <= {thread}:
            fits = [] if own is None else [own]
        else:
            if thread not in self._mixed:
                self._meet_ends(thread)
            mixed = thread in self._mixed
            found = [one.get(number) for one in self._made.values()] if mixed else [own]
            fits = [at for at in found if at is not None and self._is_of(node, at)]
        return fits[0] if len(fits) == 1 and self._is_forward(fits[0]) else None

    def _meet_ends(self, thread: int) -> None:
        # Of gradients that are given no operator runs that takes the ends of the graph.
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code not in _BEGINNINGS:
            frame = frame.f_back
        ends = frame.f_locals[_BEGINNINGS[frame.f_code]] if frame else None
        ends = [ends] if isinstance(ends, Tensor) else ends
        if ends and all(isinstance(end, Tensor) for end in ends):
            self.meet(thread, ends)
        else:  # It was begun in another way, or at nodes: whose, is not known.
            self._mixed.add(thread)

    def _is_forward(self, at: int) -> bool:
        # Of this step, and no part of backward, as is what has a second derivative.
        entry = self._record.entries[at]
        return at >= self._step and isinstance(entry, Op) and entry.phase != "backward"

    def _is_of(self, node: Any, at: int) -> bool:
        entry, name = self._record.entries[at], _NODE.fullmatch(node.name())
        assert isinstance(entry, Op)
        made = entry.name.rpartition("::")[2]
        # As autograd names them: NllLossBackward0 is of nll_loss_forward.
        made = _INSTEAD_OF.get(made, made).removesuffix("_forward").replace("_", "")
        return name is not None and name[1].lower() == made.lower()
