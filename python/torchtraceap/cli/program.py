# SPDX-License-Identifier: BSD-3-Clause
"""program.py: the program ``torchtraceap``: its commands, and how it ends.

Exit codes: 0 fine; 1 a budget is broken; 2 bad usage or bad input, with a message that
says what, where and what to do; 130 on Ctrl-C. Bad input never ends in a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap.cli import analyze, check, compare, inspect, patterns, what_if
from torchtraceap.cli.loading import loading_options
from torchtraceap.cli.output import INTERRUPTED, OK, complain

# In the order of the help. Each has `add(commands)`, which adds the parser of the
# command and sets its default `run`, a function of the options that returns the code.
_COMMANDS = (analyze, check, compare, what_if, inspect, patterns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with `arguments` (None: those of the process); return its exit
    code. Usage errors and ``--help`` raise SystemExit, as argparse does."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    try:
        if hasattr(options, "recover"):
            options.loading = loading_options(options)
    except ValueError as error:
        parser.error(str(error))
    try:
        code: int = options.run(options)
        # What cannot be written must be known here, not after the exit code is set.
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except OSError as error:
        # What is still buffered cannot be written either; Python would try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return OK  # The reader has seen enough, as in `| head`.
        return complain(f"cannot write to standard output: {error.strerror}")
    except KeyboardInterrupt:
        return INTERRUPTED


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole program."""
    parser = argparse.ArgumentParser(
        prog="torchtraceap",
        description="Say where a PyTorch profiler trace wastes time, by which "
        "anti-pattern, on which line.",
    )
    parser.add_argument(
        "--version", action="version", version=f"torchtraceap {_core.__version__}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
    return parser
