# SPDX-License-Identifier: BSD-3-Clause
"""thread_order.py: after which entries of other threads an entry comes. Loads torch.

Who takes a tensor, or waits for an event, of another thread comes after what made it.
What the threads themselves know of that is in host_threads.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from torchtraceap.dryrun.device.memory import made_of, say_made
from torchtraceap.dryrun.host_threads import HostThreads, Made
from torchtraceap.dryrun.record import CallKind


class ThreadOrder:
    """The order of the entries of one run.

    Args:
        threads: The threads of the run.
    """

    def __init__(self, threads: HostThreads) -> None:
        self._threads = threads
        self._events: dict[int, Made] = {}  # where each was recorded last

    def of_op(
        self, at: int, given: Iterable[Tensor], made: Iterable[Tensor]
    ) -> tuple[int, ...]:
        """Return what an operator of the thread that asks comes after.

        Args:
            at: The operator's place in the record.
            given: What it takes.
            made: What it makes, or writes to.
        """
        after = self._threads.entered(at, made_of(given))
        say_made(made, self._threads.made(at))
        return after

    def of_call(self, at: int, kind: CallKind, event: int) -> tuple[int, ...]:
        """Return the same of a call by which the host orders streams."""
        waits = kind in ("stream_wait", "event_sync") and event in self._events
        after = self._threads.entered(at, [self._events[event]] if waits else [])
        if kind == "event_record":
            self._events[event] = self._threads.made(at)
        return after
