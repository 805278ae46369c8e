# SPDX-License-Identifier: BSD-3-Clause
"""output.py: what the program says, and while it works, and the codes it ends with.

On a terminal two things are marked: where a part begins, in bold, and how much a
finding matters, in red (high) and yellow (medium). Nothing is said by color alone.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO, TypeAlias

from torchtraceap import cli
from torchtraceap._core import Finding
from torchtraceap.base.errors import RuleError
from torchtraceap.base.progress import PATIENCE_S, somebody_watches
from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.report import Report

# What `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Exit codes; a message goes with 2.
OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 1, 2, cli.INTERRUPTED
# What loading and analyzing a trace may raise.
FAILURES = (ValueError, OSError, MemoryError, RuntimeError)
# More is no message; names of files can be long, and longer when escaped.
_MESSAGE_WIDTH = 1900
_BY_SEVERITY = {"high": "red", "medium": "yellow"}
_BY_VERDICT = {"unusable": "red", "degraded": "yellow"}
# How a part begins: "Device 0:". Names of the trace stand further right.
_HEADING = re.compile(r"[A-Z][A-Za-z0-9 -]{0,40}:(?= )|[A-Z].*:$")


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


class Refused(Exception):
    """What a command cannot do: its message goes with the exit code BAD_INPUT."""


@contextmanager
def about(path: str) -> Iterator[None]:
    """Make Refused of what loading and analyzing this trace raises."""
    try:
        yield
    except FAILURES as error:
        raise Refused(reason(path, error)) from error


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


@contextmanager
def stage(what: str | Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """Tell people at a terminal what takes so long, once it does, with the seconds it
    took so far; what a function returns, each time anew. Nothing is written elsewhere,
    nor is a thread started."""
    if quiet or not somebody_watches():
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_tick, args=(what, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _tick(what: str | Callable[[], str], over: threading.Event) -> None:
    begin = time.monotonic()
    shown = ""
    while not over.wait(PATIENCE_S):
        width = shutil.get_terminal_size().columns - 1
        seconds = f" {time.monotonic() - begin:.0f} s"
        text = what if isinstance(what, str) else what()
        text = printable(text, max(9, width - len(seconds)))
        shown = (text + seconds).ljust(len(shown))  # Over what was longer.
        _overwrite(f"\r{shown}")
    if shown:
        _overwrite(f"\r{' ' * len(shown)}\r")


def _overwrite(text: str) -> None:
    print(encodable(text, sys.stderr.encoding), end="", file=sys.stderr, flush=True)


def commands_of(
    parser: argparse.ArgumentParser,
) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command, by its name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def in_color(summary: str, report: Report | None = None) -> str:
    """Return a report's summary, or that of a job, colored if standard output shows
    that.

    NO_COLOR, FORCE_COLOR and TERM=dumb are heeded.
    """
    from termcolor import can_colorize

    if not can_colorize():
        return summary
    return "\n".join(_lines(summary, report))


def _lines(summary: str, report: Report | None) -> Iterator[str]:
    from termcolor import colored

    rows: Iterator[Finding] = iter(())
    for number, line in enumerate(summary.split("\n")):
        heading = _HEADING.match(line)
        if line.startswith("  1. "):  # The first ones again, in words.
            rows = iter(())
        finding = next(rows, None) if line.startswith("  ") else None
        if not line.startswith("  "):  # Their rows follow the heading and end there.
            listed = [row.finding for row in report.ranking] if report else []
            rows = iter(listed if line.startswith("Findings, ") else ())
        if number == 0:
            yield colored(line, attrs=["bold"])
        elif report and line.startswith("Quality: "):
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
