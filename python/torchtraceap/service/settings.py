# SPDX-License-Identifier: BSD-3-Clause
"""settings.py: what a server may read, and the most that it takes."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from torchtraceap.base.children import processors
from torchtraceap.base.errors import ConfigError
from torchtraceap.base.files import read_file

TOKEN_VARIABLE = "TORCHTRACEAP_TOKEN"
_SHORTEST = 16  # Characters of a token.


@dataclass(frozen=True)
class Settings:
    """A server, without its address."""

    roots: tuple[str, ...] = ()  #: Folders whose traces may be named by their paths.
    fleet: str | None = None  #: The data set of `torchtraceap fleet`.
    token: str | None = field(default=None, repr=False)
    workers: int = field(default_factory=processors)  #: Analyses at a time.
    queue: int = 32  #: Requests that wait for one of them.
    upload_bytes: int = 512_000_000  #: Of a request's body, as it is sent.
    text_bytes: int = 4_000_000_000  #: Of a trace, uncompressed.
    seconds: float = 300.0  #: Of an analysis; of an upload as well.


def others_read(file: str) -> bool:
    """Tell whether a file's mode lets others read it: of its group, too, unless it is
    by its group that this process reads it, as with Kubernetes' secrets."""
    with suppress(OSError):
        found = os.stat(file)
        is_own = found.st_uid == os.geteuid()
        wrong = stat.S_IROTH | (stat.S_IRGRP if is_own else 0)
        return bool(found.st_mode & wrong)
    return False


def read_token(file: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the token in a file, or else in the environment; None if there is none.

    Raises ConfigError for one that can be guessed or that no header can carry.
    """
    if file is not None:
        try:
            token = read_file(file).decode("ascii").strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise ConfigError(f"{file}: cannot be read as a token: {why}") from error
        where = os.fspath(file)
    elif TOKEN_VARIABLE in environment:
        token, where = environment[TOKEN_VARIABLE].strip(), TOKEN_VARIABLE
    else:
        return None
    if len(token) < _SHORTEST or not all("!" <= one <= "~" for one in token):
        raise ConfigError(
            f"{where}: a token has {_SHORTEST} or more printable ASCII characters "
            "without spaces. Make one with: openssl rand -hex 32"
        )
    return token
