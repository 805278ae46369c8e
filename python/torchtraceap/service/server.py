# SPDX-License-Identifier: BSD-3-Clause
"""server.py: the process of the server: its socket, its signals and its end."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from torchtraceap.base.errors import ConfigError
from torchtraceap.service.app import make_app
from torchtraceap.service.protocol import Protocol
from torchtraceap.service.settings import TOKEN_VARIABLE, Settings
from torchtraceap.service.upload_folder import upload_folder

_BACKLOG = 2048


def serve(
    settings: Settings,
    host: str,
    port: int,
    end_seconds: float,
    begun: Callable[[str], object],
) -> None:
    """Answer requests until SIGTERM or Ctrl-C. Then none is accepted, what was begun is
    finished in ``end_seconds``, and what takes longer is canceled.

    ``begun`` is called with the address once it can be connected to. Raises ConfigError
    for an address that cannot be had, or that others reach while there is no token;
    KeyboardInterrupt after Ctrl-C.
    """
    with upload_folder() as uploads:
        config = uvicorn.Config(
            make_app(settings, uploads),
            log_level="warning",
            access_log=False,
            server_header=False,
            http=Protocol,
            timeout_graceful_shutdown=max(1, round(end_seconds)),
        )
        server = _Server(config, begun)
        # From before anyone can connect. uvicorn has a handler of its own while it
        # runs, and raises the signal again once it has ended, and this one ends well.
        before = signal.signal(signal.SIGTERM, server.end)
        try:
            with listening(host, port, settings.token is not None) as bound:
                server.run([bound])
        finally:
            signal.signal(signal.SIGTERM, before)


class _Server(uvicorn.Server):  # type: ignore[misc]
    """One that tells its address once it answers."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[str], object]) -> None:
        super().__init__(config)
        self._begun = begun

    def end(self, *_: Any) -> None:
        """Heed SIGTERM."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            name, number = sockets[0].getsockname()[:2]
            self._begun(f"http://{f'[{name}]' if ':' in name else name}:{number}/")


def listening(host: str, port: int, has_token: bool) -> socket.socket:
    """Return a socket that listens. Raises ConfigError as `serve` does."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        if has_token or ipaddress.ip_address(address[0]).is_loopback:
            return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (OSError, ValueError) as error:  # ValueError: a name that is none.
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {why}. Give another --host or "
            "--port"
        ) from error
    raise ConfigError(
        f"{host}: others reach this address, so the server needs a token: --token-file "
        f"FILE, or the environment variable {TOKEN_VARIABLE}"
    )
