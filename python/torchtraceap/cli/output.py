# SPDX-License-Identifier: BSD-3-Clause
"""output.py: what the program writes: text that any terminal can take."""

from __future__ import annotations

import argparse
import sys
from typing import TextIO, TypeAlias

from torchtraceap.safe_text import encodable, printable

# What `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Exit codes; a message goes with 2.
OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
# More is no message; names of files can be long, and longer when escaped.
_MESSAGE_WIDTH = 1900


def write(option: str, path: str, text: str) -> bool:
    """Write the file of an option; complain and return False if that cannot be."""
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        cannot_write(option, path, error)
        return False
    return True


def cannot_write(option: str, path: str, error: OSError) -> None:
    """Say why the file of an option could not be written."""
    complain(
        f"cannot write {path}: {error.strerror or error}. Give --{option} a file in a "
        "folder that exists and may be written to, or - for standard output."
    )


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
