# SPDX-License-Identifier: BSD-3-Clause
"""output.py: reads the command line, and says what was probably meant by a wrong one.

Two things are marked: where a part begins, in bold, and how much a finding matters, in
red (high) and yellow (medium). Nothing is said by color alone.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO, TypeAlias

from torchtraceap import cli
from torchtraceap.base.errors import RuleError
from torchtraceap.base.files import write_text
from torchtraceap.base.safe_text import encodable, printable

if TYPE_CHECKING:
    from torchtraceap.data.findings import Finding
    from torchtraceap.report import Report

_BY_SEVERITY = {"high": "red", "medium": "yellow"}
_BY_VERDICT = {"unusable": "red", "degraded": "yellow"}
# How a part begins: "Device 0:". Names of the trace stand further right.
_HEADING = re.compile(r"[A-Z][A-Za-z0-9 -]{0,40}:(?= )|[A-Z].*:$")


def in_color(summary: str, report: Report) -> str:
    """Return a report's summary, colored if standard output shows that.

    NO_COLOR, FORCE_COLOR and TERM=dumb are heeded.
    """
    from termcolor import can_colorize

    if not can_colorize():
        return summary
    return "\n".join(_lines(summary, report))


def _lines(summary: str, report: Report) -> Iterator[str]:
    from termcolor import colored

    rows: Iterator[Finding] = iter(())
    for number, line in enumerate(summary.split("\n")):
        heading = _HEADING.match(line)
        if line.startswith("  1. "):  # The first ones again, in words.
            rows = iter(())
        finding = next(rows, None) if line.startswith("  ") else None
        if not line.startswith("  "):  # Their rows follow the heading and end there.
            rows = iter(report.findings if line.startswith("Findings, ") else ())
        if number == 0:
            yield colored(line, attrs=["bold"])
        elif line.startswith("Quality: "):
            yield colored(line, _BY_VERDICT[report.quality.verdict], attrs=["bold"])
        elif heading:
            at = heading.end()
            yield colored(line[:at], attrs=["bold"]) + line[at:]
        elif finding is not None and (color := _BY_SEVERITY.get(finding.severity)):
            # The place before it may hold any text, what follows none of the trace.
            place, kind, rest = line.rpartition(finding.kind)
            yield place + colored(kind, color) + rest
        else:
            yield line


def count(text: str) -> int:
    """Return a number from 0 up. Raises ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)


def between(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a number of these bounds, 0 and up. Raises as `count` does."""

    def read(text: str) -> int:
        value = int(text) if text.isdecimal() else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no number from {least} to {most}"
            )
        return value

    return read


def time(text: str) -> float:
    """Return a length of time, which is not 0. Raises ArgumentTypeError."""
    try:
        length = float(text)
    except ValueError:
        length = 0.0
    if not 0 < length < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no time above 0")
    return length


# What loading and analysing a trace may raise.
FAILURES = (ValueError, OSError, MemoryError, RuntimeError)


def reason(path: str, error: BaseException) -> str:
    """Return what is wrong with a trace; the core's messages name it themselves."""
    if isinstance(error, MemoryError):
        return f"{path}: does not fit into memory. Record fewer steps, or free some."
    if isinstance(error, FileNotFoundError) and not str(error).endswith("."):
        return f"{error}. Check the path and whether the file may be read."
    if isinstance(error, RuleError):
        return f"{path}: {error}"
    if isinstance(error, RuntimeError):  # What the core checks of itself failed.
        return (
            f"{path}: the analysis failed, not by a fault of the trace: {error}. "
            "Please report it, with the trace if you can."
        )
    return str(error)


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


_TRACES = (".json", ".gz")


def commands_of(
    parser: argparse.ArgumentParser,
) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command, by its name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> argparse.Namespace:
    """Return the options. Raises SystemExit(2) for bad usage, after a message."""
    commands = commands_of(parser)
    if not arguments:
        parser.print_help(sys.stderr)
        raise SystemExit(BAD_INPUT)
    first = next((word for word in arguments if not word.startswith("-")), None)
    if first is not None and first not in commands:
        parser.error(_no_command(first, arguments, commands))
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        assert first is not None  # Without a command, that is missing.
        command = commands[first]
        known = command._option_string_actions
        hints = [
            hint
            for word in unknown
            if word.startswith("--") and (hint := _close(word.split("=")[0], known))
        ]
        rest = printable(" ".join(unknown), 200)
        command.error(f"unknown arguments: {rest}" + "".join(hints))
    return options


def _no_command(
    first: str, arguments: Sequence[str], commands: Mapping[str, object]
) -> str:
    if os.path.exists(first) or first.endswith(_TRACES):
        line = shlex.join(["torchtraceap", "analyze", *arguments])
        return f"no command is given. To analyze a trace: {printable(line, 300)}"
    hint = _close(first, commands) or f"; there are: {', '.join(commands)}"
    return f"no command is {printable(repr(first), 80)}{hint}"


def _close(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
