# SPDX-License-Identifier: BSD-3-Clause
"""collectives.py: all-reduces with another rank, whose arrivals are given.

The other rank runs the same program; only its arrival at each collective is
simulated. It begins each step when its last collective has ended and its host is done.
"""

from __future__ import annotations

from benchmarks.lab import _lab
from benchmarks.lab.corpus.simulation.items import Item
from benchmarks.lab.corpus.simulation.profiles import Profile
from torchtraceap import _core

_NAMES = (
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
)


class Collectives:
    """Writes collectives of rank 0, and what rank 1 does."""

    def __init__(
        self,
        program: _core.Program,
        profile: Profile,
        arrivals: list[dict[str, float]] | None,
        hidden: bool,
    ) -> None:
        self._program, self._profile = program, profile
        self._arrivals, self._hidden = arrivals, hidden
        self.own: list[int] = []  #: Work of rank 0.
        self._streams: tuple[int, int] | None = None
        self._thread = -1
        self._step = self._sequence = 0
        self._at = 0.0
        self._pending = False

    def begin_step(self, number: int) -> None:
        self._step, self._at = number, 0.0

    def end_step(self) -> None:
        if self._arrivals is not None and self._streams is not None:
            self._program.stream_sync(self._thread, self._streams[1])

    def reduce(self, item: Item, key: str, thread: int, compute: int) -> None:
        """Launch one: it waits for the work before, no work waits for it yet."""
        program = self._program
        if self._streams is None:
            others = self._arrivals is not None
            if others:
                self._thread = program.add_thread(1, "rank 1", 1)
            theirs = program.add_stream(20, 0, 1) if others else -1
            self._streams = program.add_stream(20), theirs
        own, theirs = self._streams
        us = item.us * self._profile.factor("collective", key, 0.08)
        ns = round((0.9 if self._hidden else us) * 1000)
        call = round(self._profile.us("call launch", key) * 1000)
        name = _NAMES[self._profile.us("name", "nccl") > 5]
        group = None
        if self._arrivals is not None and not self._hidden:
            group = _lab.add_collective(program, "allreduce", "0", 2, self._sequence)
        self._sequence += 1
        elements = item.nbytes // 4
        args = (
            f'"In msg nelems": {elements}, "Out msg nelems": {elements}, '
            '"dtype": "Float", "grid": [8, 1, 1], "block": [512, 1, 1]'
        )
        program.open(thread, "c10d::allreduce_")
        program.open(thread, "record_param_comms")
        program.open_span(thread, "nccl:all_reduce")
        event = program.add_event()
        program.record_event(thread, compute, event, 1200)
        program.stream_wait(thread, own, event, 900)
        self.own.append(
            program.kernel(thread, own, name, ns, call, collective=group, args=args,
                           blocks_per_sm=0.1)
        )  # fmt: skip
        for _ in range(3):
            program.close(thread)
        self._pending = True
        if group is not None:
            self._other(item, group, ns)

    def join(self, thread: int, compute: int) -> None:
        """Let the compute stream wait for all that were launched."""
        if self._streams is None or not self._pending:
            return
        self._pending = False
        if self._hidden:
            return
        event = self._program.add_event()
        self._program.record_event(thread, self._streams[0], event, 1200)
        self._program.stream_wait(thread, compute, event, 900)

    def _other(self, item: Item, group: int, ns: int) -> None:
        assert self._arrivals is not None and self._streams is not None
        # One that is in no other program is come to as soon as those before are.
        wanted = self._arrivals[self._step].get(item.arrives or item.key, self._at)
        us = max(0.0, wanted - self._at) + item.late_us
        self._at = max(self._at, wanted)
        self._program.host(self._thread, round(us * 1000))
        self._program.kernel(
            self._thread, self._streams[1], "nccl", ns, 5000, collective=group
        )
