# SPDX-License-Identifier: BSD-3-Clause
"""stream_pool.py: makes and chooses streams, as torch does in C. Loads torch."""

from __future__ import annotations

from typing import Any

import torch

from torchtraceap.base.errors import DryRunError
from torchtraceap_dryrun.facade.host import Host
from torchtraceap_dryrun.facade.streams import CUDA, LOWEST_AND_HIGHEST, Stream
from torchtraceap_dryrun.record import DEFAULT_STREAM

_IN_POOL = 32  # Streams that torch makes of a priority, then hands out in turn.


class Streams:
    """The functions of torch._C that make and choose streams.

    Args:
        host: Who is told; its current_stream is the current one.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # By stream_id.
        self._streams: dict[int, Stream] = {0: Stream(DEFAULT_STREAM)}
        self._external: dict[int, Stream] = {}  # by handle
        self._pools: dict[int, list[Stream]] = {}  # by priority
        self._handed_out: dict[int, int] = {}

    def of_cuda(
        self, cls: type, device: Any = None, priority: int = 0, **kwargs: Any
    ) -> Stream:
        """Stand for torch.cuda.Stream.__new__ (and for that of ExternalStream)."""
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
        """Return the next stream of the pool of a priority."""
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
        """Return the current stream."""
        number = self._host.current_stream
        return self._of(0 if number == DEFAULT_STREAM else number)

    def current_handle(self, _: int = 0) -> int:
        """Return the handle of the current stream."""
        return self.current().cuda_stream

    def current_data(self, _: int = 0) -> tuple[int, int, int]:
        """Return the current stream as id, index and type of its device."""
        return self.current().stream_id, 0, CUDA

    def default_data(self, _: int = 0) -> tuple[int, int, int]:
        """Return the default stream likewise."""
        return 0, 0, CUDA

    def external_data(self, handle: int, _: int = 0) -> tuple[int, int, int]:
        """Return the stream of a handle likewise."""
        return self.external(handle).stream_id, 0, CUDA

    def select_data(self, stream_id: int, **_: int) -> None:
        """Make a stream the current one, by its id."""
        self.select(self._of(stream_id))

    def select(self, stream: Stream) -> None:
        """Make a stream the current one."""
        self._host.current_stream = stream.number
