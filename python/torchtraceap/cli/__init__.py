# SPDX-License-Identifier: BSD-3-Clause
"""The program ``torchtraceap``: program.py runs it, each command has a module."""

from __future__ import annotations

from collections.abc import Sequence

#: The exit code on Ctrl-C. Here, as it must be known before anything is loaded.
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; see `program.main`."""
    from torchtraceap.cli import program

    return program.main(arguments)


def console() -> int:
    """Be the process ``torchtraceap``."""
    try:  # Loading it takes a while, in which there may be Ctrl-C, too.
        from torchtraceap.cli import program

        return program.main()
    except KeyboardInterrupt:
        return INTERRUPTED
