# SPDX-License-Identifier: BSD-3-Clause
"""The program ``torchtraceap``: program.py runs it, each command has a module."""

from __future__ import annotations

TYPE_CHECKING = False  # As in torchtraceap/__init__.py.
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The exit code on Ctrl-C. Here, as it must be known before anything is loaded.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; see `program.main`."""
    from torchtraceap.cli import program

    return program.main(arguments)


def console() -> int:
    """Be the process ``torchtraceap``."""
    try:
        import os
        import signal

        # Loading takes a while. Ctrl-C meanwhile ends it here and now: an exception may
        # come up in a callback of the import itself, which prints it and goes on.
        normal = signal.getsignal(signal.SIGINT)
        if normal is signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from torchtraceap.cli import program

        if normal is signal.default_int_handler:
            signal.signal(signal.SIGINT, normal)
        return program.main()
    except KeyboardInterrupt:
        return INTERRUPTED
