# SPDX-License-Identifier: BSD-3-Clause
"""protocol.py: HTTP on one connection, which ends if no request comes, or if there are
too many others."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADER_S = 10.0  # From a connection, or the first byte of a request, to its header.
# At a time; the usual limit of open files is 1,024, and children and uploads need some.
# uvicorn's own limit would refuse what is asked on the others, too.
_CONNECTIONS = 600


class Protocol(H11Protocol):  # type: ignore[misc]
    """uvicorn's, which would wait for ever for a header. Its own limit is of the time
    between requests."""

    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:  # With this one.
            transport.close()
        else:
            self._heed()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._heed()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._clear()

    def _heed(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._clear()
        elif self._end is None:  # Not later with each byte.
            self._end = self.loop.call_later(_HEADER_S, self.transport.close)

    def _clear(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
