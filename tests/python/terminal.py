# SPDX-License-Identifier: BSD-3-Clause
"""terminal.py: runs a command at a terminal, and tells what is shown there."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence

ROWS, COLUMNS = 24, 80


def on_terminal(
    command: Sequence[str], env: Mapping[str, str], *, only_errors: bool = False
) -> tuple[int, str]:
    """Return the exit code of a command and what its terminal gets, with ends of lines
    as they are written; ``only_errors``: its standard output goes nowhere."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    out = subprocess.DEVNULL if only_errors else theirs
    with subprocess.Popen(command, stdout=out, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # As Linux says that the other end is closed.
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")
