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
        import atexit
        import os
        import signal

        # While the program is loaded, and once it is done, Ctrl-C ends it at once: an
        # exception may come up in a callback of an import, which goes on, or uncaught.
        normal = signal.getsignal(signal.SIGINT)
        heeded = normal is signal.default_int_handler

        def end_at_once() -> None:
            if heeded:
                signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))

        end_at_once()
        from torchtraceap.cli import program

        if heeded:
            # Runs last. Python then takes all handlers back, and the signal would end
            # in its own way what has already done its work.
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGINT, normal)
        try:
            return program.main()
        finally:
            end_at_once()
    except KeyboardInterrupt:
        return INTERRUPTED
