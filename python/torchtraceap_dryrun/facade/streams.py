# SPDX-License-Identifier: BSD-3-Clause
"""streams.py: streams of a GPU that is not there. Loads torch.

They, and events (events.py), tell the recorder how the program orders work, and when it
waits for it. There is no queue, so `query()` always says that all is done: a loop that
polls has to end.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from torchtraceap_dryrun.facade.events import Event
from torchtraceap_dryrun.facade.host import active
from torchtraceap_dryrun.record import DEFAULT_STREAM

CUDA = 1  # c10::DeviceType::CUDA, as it is numbered in `Stream.device_type`.
LOWEST_AND_HIGHEST = (0, -3)  # Priorities that torch has, however many a GPU has.


_entered: list[int] = []  # What was current where others were entered.


class Stream(torch.Stream):  # type: ignore[misc]
    """Stands for torch.cuda.Stream, and torch.Stream of a GPU."""

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
        """Say that all work is done; see above."""
        active()
        return True

    def synchronize(self) -> None:
        """Wait for the work of this stream."""
        host = active()
        host.call("stream_sync", self.number)
        host.wait("Stream.synchronize")

    def wait_event(self, event: Event) -> None:
        """Let later work of this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of this stream wait for what another has now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self) -> bool:
        """Say that no graph is being captured: a dry run captures none."""
        return False

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the lowest and the highest priority."""
        return LOWEST_AND_HIGHEST

    def __enter__(self) -> Stream:
        _entered.append(active().current_stream)
        active().current_stream = self.number
        return self

    def __exit__(self, *_: object) -> None:
        active().current_stream = _entered.pop()

    @property
    def native_handle(self) -> int:
        """The same as `cuda_stream`."""
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
