# SPDX-License-Identifier: BSD-3-Clause
"""output.py: what the program writes: text that any terminal can take."""

from __future__ import annotations

import argparse
import sys
from typing import TextIO, TypeAlias

from torchtraceap import cli
from torchtraceap.safe_text import encodable, printable
from torchtraceap.target_file import write_text

# What `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Exit codes; a message goes with 2.
OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 1, 2, cli.INTERRUPTED
# More is no message; names of files can be long, and longer when escaped.
_MESSAGE_WIDTH = 1900


def write(option: str, path: str, text: str) -> bool:
    """Write the file of an option, or to standard output if that is -; complain and
    return False if that cannot be."""
    if path == "-":
        say(text)
        return True
    try:
        write_text(path, text)
    except OSError as error:
        cannot_write(option, path, error)
        return False
    return True


def cannot_write(
    option: str,
    path: str,
    error: OSError,
    is_folder: bool = False,
    takes_stdout: bool = True,
) -> None:
    """Say why the file of an option could not be written."""
    complain(unwritable(option, path, error, is_folder, takes_stdout))


def unwritable(
    option: str,
    path: str,
    error: OSError,
    is_folder: bool = False,
    takes_stdout: bool = True,
) -> str:
    """Return why the file of an option cannot be written, and what to name instead."""
    if is_folder:
        instead = "a folder that may be written to"
    else:
        instead = "a file in a folder that exists and may be written to"
        if takes_stdout:
            instead += ", or - for standard output"
    why = error.strerror or error
    return f"cannot write {path}: {why}. Give --{option} {instead}."


def quiet_option(command: argparse.ArgumentParser) -> None:
    """Add ``--quiet`` to a command that prints a summary and may write files."""
    command.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing but errors, and what goes to standard output by a -",
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
