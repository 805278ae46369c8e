# SPDX-License-Identifier: BSD-3-Clause
"""simulation.py: a record as a timeline: a trace as Kineto writes it, but simulated.

The host takes a given time for each operator, the device what kernel_time.py estimates;
the core's scheduler (cpp/replay/scheduler.h) works out who waits for whom. As on CUDA,
the backward pass has a thread of its own, for which the one that called it waits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap.base.source_lines import Line
from torchtraceap_dryrun.estimate.gpus import Gpu
from torchtraceap_dryrun.estimate.kernel_time import copy_us, kernel_us
from torchtraceap_dryrun.estimate.launches import Launch, launches_of
from torchtraceap_dryrun.record import Call, Copy, Op, Record, Sync
from torchtraceap_dryrun.timeline.rows import (
    Scopes,
    lines_args,
    members,
    operator_args,
    phases_of,
)
from torchtraceap_dryrun.wait_places import wait_notes

#: What of an operator's time the call that launches takes, at most, in µs: medians in
#: traces of V100 and H100 are 3 to 5.
CALL_US = 4.0
#: What an operator that launches nothing takes, and a call that does not wait, as a
#: share of one that launches: in traces, 0.4 to 1.6 µs where those take 12 to 33.
LIGHT_SHARE = 0.1

#: What is read back where a table says that a kernel waits inside.
_READ_BACK = Copy("d2h", 8, pinned=False, blocking=True)
_COPIES = {
    ("h2d", False): "Memcpy HtoD (Pageable -> Device)",
    ("h2d", True): "Memcpy HtoD (Pinned -> Device)",
    ("d2h", False): "Memcpy DtoH (Device -> Pageable)",
    ("d2h", True): "Memcpy DtoH (Device -> Pinned)",
    ("d2d", False): "Memcpy DtoD (Device -> Device)",
    ("d2d", True): "Memcpy DtoD (Device -> Device)",
}


def simulate(record: Record, gpu: Gpu, host_us: float) -> bytes:
    """Return the timeline of a record as a trace: Kineto's JSON, marked as simulated.

    Args:
        host_us: What the host takes for an operator with one launch, in µs, Python and
            dispatcher together; each further launch takes a call's time more.

    Raises:
        ValueError: ``host_us`` is not a length above 0.
    """
    if not (math.isfinite(host_us) and host_us > 0):
        raise ValueError(f"host_us must be a time above 0 µs, but is {host_us!r}")
    return _Writer(record, gpu, host_us).text()


def _ns(us: float) -> int:
    return round(us * 1000)


class _Writer:
    """Writes the entries of a record as operations of threads."""

    def __init__(self, record: Record, gpu: Gpu, host_us: float) -> None:
        self._record, self._gpu = record, gpu
        self._host_us = host_us
        self._call_ns = _ns(min(CALL_US, host_us / 2))
        self._light_ns = _ns(host_us * LIGHT_SHARE)
        self._program = _core.Program()
        major, minor = gpu.compute_capability
        self._program.add_device(
            0, gpu.name, gpu.memory_bytes, gpu.multiprocessors, major, minor
        )
        self._scopes = Scopes(self._program, record)
        self._streams: dict[int, int] = {}
        self._events: dict[int, int] = {}
        self._syncs = {sync.entry: sync for sync in record.syncs}
        entries = record.entries
        self._forward = {
            entry.forward
            for entry in entries
            if isinstance(entry, Op) and entry.forward is not None
        }

    def text(self) -> bytes:
        """Write all of it."""
        entries = self._record.entries
        for at, phase in enumerate(phases_of(self._record)):
            entry = entries[at]
            self._scopes.enter(entry, phase)
            if isinstance(entry, Op):
                self._operator(at, entry, self._scopes.thread)
            else:
                self._call(at, entry, self._scopes.thread)
        self._scopes.end()
        assumed = {
            "gpu": self._gpu.name,
            "host_us_per_op": self._host_us,
            "host_us_per_op_without_launch": self._light_ns / 1000,
        }
        waits = wait_notes(self._record)
        return self._program.trace_text({"dry_run": {**assumed, "waits": waits}})

    def _operator(self, at: int, op: Op, thread: int) -> None:
        numbers = {"Sequence number": at, "Fwd thread id": 0}
        args = operator_args(op, numbers if at in self._forward else None)
        stream = self._stream(op.stream)
        copy = op.copy or (_READ_BACK if at in self._syncs else None)
        if copy is not None and copy.nbytes == 0:
            copy = None
        launches = launches_of(op, self._gpu)
        self._program.open(thread, op.name, args)
        self._program.host(
            thread,
            _ns(self._host_us) - self._call_ns if launches or copy else self._light_ns,
        )
        # What comes from the host is there first, what goes there is worked out first.
        if copy is not None and copy.direction != "d2h":
            self._copy(thread, stream, copy)
        for launch in launches:
            self._launch(thread, stream, launch)
        if copy is not None and copy.direction == "d2h":
            self._copy(thread, stream, copy)
        self._program.close(thread)

    def _launch(self, thread: int, stream: int, launch: Launch) -> None:
        program, to = self._program, (thread, stream)
        what = members({"estimated as": launch.work})
        time = _ns(kernel_us(launch, self._gpu)), self._call_ns
        if launch.work == "memset":
            program.memset(
                *to, "Memset (Device)", *time, round(launch.nbytes), args=what
            )
        elif launch.work == "memcpy":
            name = _COPIES["d2d", False]
            program.copy(*to, name, *time, round(launch.nbytes / 2), args=what)
        else:
            blocks = launch.blocks
            each = -1.0 if blocks is None else blocks / self._gpu.multiprocessors
            program.kernel(*to, launch.name, *time, blocks_per_sm=each, args=what)

    def _copy(self, thread: int, stream: int, copy: Copy) -> None:
        name = _COPIES[copy.direction, copy.pinned]
        us = copy_us(copy, self._gpu)
        self._program.copy(thread, stream, name, _ns(us), self._call_ns, copy.nbytes)
        if copy.blocking:
            self._program.stream_sync(thread, stream)

    def _call(self, at: int, call: Call, thread: int) -> None:
        stream = self._stream(call.stream)
        sync = self._syncs.get(at)
        name, lines = _name_and_lines(call, sync)
        # An annotation, because a call cannot carry a line.
        self._program.open_span(thread, name, members(lines_args(lines)))
        self._order(thread, stream, call)
        self._program.close(thread)

    def _order(self, thread: int, stream: int, call: Call) -> None:
        program = self._program
        if call.kind == "event_record":
            if call.event not in self._events:
                self._events[call.event] = program.add_event()
            event = self._events[call.event]
            program.record_event(thread, stream, event, self._light_ns)
        elif call.kind == "device_sync":
            program.device_sync(thread, stream)
        elif call.kind == "stream_sync":
            program.stream_sync(thread, stream)
        elif call.event not in self._events:
            program.host(thread, self._light_ns)  # Never recorded: no reason to wait.
        elif call.kind == "event_sync":
            program.event_sync(thread, self._events[call.event])
        else:
            event = self._events[call.event]
            program.stream_wait(thread, stream, event, self._light_ns)

    def _stream(self, number: int) -> int:
        if number not in self._streams:
            self._streams[number] = self._program.add_stream(number)
        return self._streams[number]


def _name_and_lines(call: Call, sync: Sync | None) -> tuple[str, Sequence[Line]]:
    if sync is not None and sync.stack:
        return sync.api, sync.stack
    lines = () if call.line is None else (call.line,)
    return (sync.api if sync else f"CUDA {call.kind.replace('_', ' ')}"), lines
