# SPDX-License-Identifier: BSD-3-Clause
"""events.py: events of a GPU that is not there; see streams.py. Loads torch."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.host import active, run_number
from torchtraceap_dryrun.record import DEFAULT_STREAM

if TYPE_CHECKING:
    from torchtraceap_dryrun.facade.streams import Stream

_NUMBERING = threading.Lock()


class Event(torch.Event):  # type: ignore[misc]
    """Stands for torch.cuda.Event, and torch.Event of a GPU."""

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
        """The GPU."""
        return torch.device("cuda", 0)

    @property
    def event_id(self) -> int:
        """A handle; 0 before the first record."""
        return self._recorded

    cuda_event = event_id

    def record(self, stream: Stream | None = None) -> None:
        """Mark what a stream, by default the current one, has to do until now."""
        host, run = active(), run_number()
        with _NUMBERING:
            if self._run != run:
                number = Event._last[1] + 1 if Event._last[0] == run else 1
                Event._last = run, number
                self._run, self._number = run, number
            Event._records += 1
            self._recorded = Event._records
        self._stream = host.current_stream if stream is None else stream.number
        host.call("event_record", self._stream, self._number)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, by default the current one, wait for this."""
        host = active()
        to = host.current_stream if stream is None else stream.number
        if self._run == run_number():  # Else there is nothing to wait for, as in CUDA.
            host.call("stream_wait", to, self._number)

    def synchronize(self) -> None:
        """Wait for what was marked; for nothing if nothing was."""
        host = active()
        if self._run == run_number():
            host.call("event_sync", self._stream, self._number)
            host.wait("Event.synchronize")

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
