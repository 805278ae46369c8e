# SPDX-License-Identifier: BSD-3-Clause
"""streams.py: streams and events of a GPU that is not there, and what makes and chooses
them, as torch does in C. Loads torch.

They tell the recorder how the program orders work, and when it waits for it. There is
no queue, so `query()` always says that all is done: a loop that polls has to end.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.active_run import active, run_number
from torchtraceap_dryrun.record import DEFAULT_STREAM
from torchtraceap_dryrun.record_writer import RecordWriter

CUDA = 1  # c10::DeviceType::CUDA, as it is numbered in `Stream.device_type`.
LOWEST_AND_HIGHEST = (0, -3)  # Priorities that torch has, however many a GPU has.
_IN_POOL = 32  # Streams that torch makes of a priority, then hands out in turn.


class Event(torch.Event):  # type: ignore[misc]
    """Replaces torch.cuda.Event, and torch.Event of a GPU."""

    _run: int
    _number: int
    _records = 0  # How often any was recorded.
    _last = (0, 0)  # The run, and how many events were recorded in it.

    def __new__(cls, enable_timing: bool = False, **_: object) -> Any:
        self = torch.Event.__new__(cls, device="cpu")
        self._timing = enable_timing
        self._number = 0  # In the record of a run: from its first record there on.
        self._run = 0
        self._recorded = 0  # When: a count of all records. 0: never.
        self._stream = DEFAULT_STREAM
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return torch.cuda.Event

    @property
    def device(self) -> Any:
        return torch.device("cuda", 0)

    @property
    def event_id(self) -> int:
        """A handle; 0 before the first record."""
        return self._recorded

    cuda_event = event_id

    def record(self, stream: Stream | None = None) -> None:
        """Mark what a stream, by default the current one, has to do until now."""
        host, run = active(), run_number()
        host.check_thread()  # So nothing is numbered twice.
        if self._run != run:
            number = Event._last[1] + 1 if Event._last[0] == run else 1
            Event._last = run, number
            self._run, self._number = run, number
        Event._records += 1
        self._recorded = Event._records
        self._stream = host.current_stream if stream is None else stream.number
        host.call("event_record", self._stream, self._number)

    def wait(self, stream: Stream | None = None) -> None:
        host = active()
        to = host.current_stream if stream is None else stream.number
        if self._run == run_number():  # Else there is nothing to wait for, as in CUDA.
            host.call("stream_wait", to, self._number)

    def synchronize(self) -> None:
        """Wait for what was marked; for nothing if nothing was."""
        host = active()
        if self._run == run_number():
            api = "Event.synchronize"
            host.wait(api, "event_sync", self._stream, self._number)

    def query(self) -> bool:
        """Say that all work is done: there is no queue."""
        active()
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Return 1 ms, as no GPU ran: negative if the end was recorded first.

        It does not wait: on a GPU it raises if one of the events is not done yet.
        """
        if not (self._timing and end_event._timing):
            raise ValueError(
                "Both events must be created with argument 'enable_timing=True'."
            )
        if not (self._recorded and end_event._recorded):
            raise ValueError(
                "Both events must be recorded before calculating elapsed time."
            )
        active().note("elapsed_time() of two events gave 1 ms: no GPU ran")
        between = end_event._recorded - self._recorded
        return float((between > 0) - (between < 0))

    def ipc_handle(self) -> Any:
        """Refuse to share what is not there."""
        raise DryRunError("a dry run has no event that another process could wait for")

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.event_id or 'uninitialized'}>"


_entered: list[int] = []  # What was current where others were entered.


class Stream(torch.Stream):  # type: ignore[misc]
    """Replaces torch.cuda.Stream, and torch.Stream of a GPU."""

    number: int  #: As the record has it; `stream_id` is 0 for the default stream.
    priority: int
    cuda_stream: int  #: A handle to tell it from others; nothing lies there.

    def __new__(cls, number: int, priority: int = 0, handle: int | None = None) -> Any:
        at = 0 if number == DEFAULT_STREAM else number
        self = torch.Stream.__new__(cls, stream_id=at, device_index=0, device_type=CUDA)
        self.number, self.priority = number, priority
        self.cuda_stream = at if handle is None else handle
        return self

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # What isinstance asks, where type() differs.
        return torch.cuda.Stream

    def query(self) -> bool:
        active()
        return True

    def synchronize(self) -> None:
        active().wait("Stream.synchronize", "stream_sync", self.number)

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Say that no graph is being captured: a dry run captures none."""
        return False

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return LOWEST_AND_HIGHEST

    def __enter__(self) -> Stream:
        _entered.append(active().current_stream)
        active().current_stream = self.number
        return self

    def __exit__(self, *_: object) -> None:
        active().current_stream = _entered.pop()

    @property
    def native_handle(self) -> int:
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __eq__(self, other: object) -> bool:
        return type(other) is Stream and other.number == self.number

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:0 cuda_stream={self.cuda_stream:#x}>"


class Streams:
    """The functions of torch._C that make and choose streams."""

    def __init__(self, host: RecordWriter) -> None:
        self._host = host
        # By stream_id.
        self._streams: dict[int, Stream] = {0: Stream(DEFAULT_STREAM)}
        self._external: dict[int, Stream] = {}  # by handle
        self._pools: dict[int, list[Stream]] = {}  # by priority
        self._handed_out: dict[int, int] = {}

    def of_cuda(
        self, cls: type, device: Any = None, priority: int = 0, **kwargs: Any
    ) -> Stream:
        """Replace torch.cuda.Stream.__new__ (and that of ExternalStream)."""
        if cls not in (torch.cuda.Stream, torch.cuda.ExternalStream):
            raise DryRunError(
                f"{cls.__qualname__} is a subclass of torch.cuda.Stream, which a dry "
                "run cannot stand in for: use torch.cuda.Stream itself"
            )
        with torch.cuda.device(device):  # It raises if there is no such device.
            if "stream_id" in kwargs:
                return self._of(kwargs["stream_id"])
            if "stream_ptr" in kwargs:
                return self.external(kwargs["stream_ptr"])
            return self.new(priority)

    def new(self, priority: int = 0) -> Stream:
        lowest, highest = LOWEST_AND_HIGHEST
        priority = min(lowest, max(highest, priority))
        pool = self._pools.setdefault(priority, [])
        turn = self._handed_out.get(priority, 0)
        self._handed_out[priority] = turn + 1
        if turn < _IN_POOL:
            pool.append(self._add(priority))
        return pool[turn % _IN_POOL]

    def external(self, handle: int) -> Stream:
        """Return the stream of a handle that another library made."""
        if handle not in self._external:
            self._external[handle] = self._add(0, handle)
        return self._external[handle]

    def _add(self, priority: int, handle: int | None = None) -> Stream:
        stream: Stream = Stream(DEFAULT_STREAM + len(self._streams), priority, handle)
        self._streams[stream.stream_id] = stream
        return stream

    def _of(self, stream_id: int) -> Stream:
        """Return a stream by its id; one that an earlier run made is taken over."""
        if stream_id not in self._streams:
            self._streams[stream_id] = Stream(stream_id)
        return self._streams[stream_id]

    def current(self, _: int = 0) -> Stream:
        number = self._host.current_stream
        return self._of(0 if number == DEFAULT_STREAM else number)

    def current_handle(self, _: int = 0) -> int:
        return self.current().cuda_stream

    def current_data(self, _: int = 0) -> tuple[int, int, int]:
        """Return the current stream as id, index and type of its device."""
        return self.current().stream_id, 0, CUDA

    def default_data(self, _: int = 0) -> tuple[int, int, int]:
        return 0, 0, CUDA

    def external_data(self, handle: int, _: int = 0) -> tuple[int, int, int]:
        return self.external(handle).stream_id, 0, CUDA

    def select_data(self, stream_id: int, **_: int) -> None:
        self.select(self._of(stream_id))

    def select(self, stream: Stream) -> None:
        self._host.current_stream = stream.number
