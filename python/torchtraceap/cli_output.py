# SPDX-License-Identifier: BSD-3-Clause
"""cli_output.py: what the program writes: text that any terminal can take."""

from __future__ import annotations

import sys
from typing import TextIO

from torchtraceap.safe_text import encodable, printable

BAD_INPUT = 2  # The exit code that goes with a message.
# More is no message; names of files can be long, and longer when escaped.
_MESSAGE_WIDTH = 1900


def write(path: str, text: str) -> bool:
    """Write the file of ``--json``; complain and return False if that cannot be."""
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
    except OSError as error:
        complain(
            f"cannot write {path}: {error.strerror or error}. Give --json a file in a "
            "folder that exists and may be written to, or - for standard output."
        )
        return False
    return True


def say(text: str) -> None:
    """Print what was asked for."""
    _print(text, sys.stdout)


def complain(text: str) -> int:
    """Print a message and return the exit code that goes with it."""
    _print(f"torchtraceap: {printable(text, _MESSAGE_WIDTH)}", sys.stderr)
    return BAD_INPUT


def _print(text: str, file: TextIO | None) -> None:
    if file is not None:  # As under pythonw, or with the descriptor closed.
        print(encodable(text, file.encoding), file=file)
