# SPDX-License-Identifier: BSD-3-Clause
"""output.py: messages and progress of the program, and its exit codes.

On a terminal two things are marked: where a part begins, in bold, and how much a
finding matters, in red (high) and yellow (medium). Color alone carries no information.
The views give each part of a line a role; its style is chosen here.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO, TypeAlias

from torchtraceap import cli
from torchtraceap.base.errors import RuleError
from torchtraceap.base.progress import PATIENCE_S, bar, somebody_watches
from torchtraceap.base.safe_text import encodable, printable
from torchtraceap.base.text_table import parts_of

# What `add_subparsers` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Exit codes; a message goes with 2.
OK, BUDGET_BROKEN, BAD_INPUT, INTERRUPTED = 0, 1, 2, cli.INTERRUPTED
# What loading and analyzing a trace may raise.
FAILURES = (ValueError, OSError, MemoryError, RuntimeError)
# Longer is not a message; names of files can be long, and longer when escaped.
_MESSAGE_WIDTH = 1900
# By the role of a part; others are plain.
_STYLES = {
    "title": "bold",
    "heading": "bold",
    "high": "red",
    "medium": "yellow",
    "unusable": "bold red",
    "degraded": "bold yellow",
}


def say(text: str) -> None:
    """Print what was asked for."""
    _print(text, sys.stdout)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines that were asked for, their parts styled if standard output takes
    styles: NO_COLOR, FORCE_COLOR and TERM=dumb are heeded."""
    lines = list(lines)
    out = sys.stdout  # rich is loaded only where there may be something to style.
    if out is not None and (out.isatty() or os.environ.get("FORCE_COLOR")):
        say(_styled(lines, out))
    else:
        say("\n".join(lines))


def _styled(lines: Iterable[str], out: TextIO) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, soft_wrap=True)
    if console.no_color:
        return "\n".join(lines)
    text = Text("\n").join(
        Text.assemble(
            *(
                (encodable(part, out.encoding), _STYLES.get(role, ""))
                for part, role in parts_of(line)
            )
        )
        for line in lines
    )
    with console.capture() as shown:
        console.print(text, end="")
    return shown.get()


def complain(text: str) -> int:
    """Print a message and return the exit code that goes with it."""
    _print(f"torchtraceap: {printable(text, _MESSAGE_WIDTH)}", sys.stderr)
    return BAD_INPUT


def _print(text: str, file: TextIO | None) -> None:
    if file is not None:  # As under pythonw, or with the descriptor closed.
        print(encodable(text, file.encoding), file=file)


class Refused(Exception):
    """A request that a command cannot fulfill: its message goes with BAD_INPUT."""


@contextmanager
def about(path: str) -> Iterator[None]:
    """Turn exceptions of loading and analyzing this trace into Refused."""
    try:
        yield
    except FAILURES as error:
        raise Refused(reason(path, error)) from error


def reason(path: str, error: BaseException) -> str:
    """Describe what is wrong with a trace; the core's messages name it themselves."""
    if isinstance(error, MemoryError):
        return f"{path}: does not fit into memory. Record fewer steps, or free memory."
    if isinstance(error, FileNotFoundError) and not str(error).endswith("."):
        return f"{error}. Check the path and its read permission."
    if isinstance(error, RuleError):
        return f"{path}: {error}"
    if isinstance(error, RuntimeError):  # What the core checks of itself failed.
        return (
            f"{path}: the analysis failed, through no fault of the trace: {error}. "
            "Please report it, with the trace if you can."
        )
    return str(error)


@contextmanager
def stage(
    what: str,
    quiet: bool = False,
    done: Callable[[], tuple[float | None, str]] = lambda: (None, ""),
) -> Iterator[None]:
    """Show people at a terminal what takes long, once it does, and for how long it has;
    ``done``: the fraction done, if it is known, and a note. Nothing is written
    elsewhere, nor is a thread started."""
    if quiet or not somebody_watches():
        yield
        return
    over = threading.Event()

    def tick() -> None:
        with bar(what) as draw:
            while not over.wait(PATIENCE_S):
                draw(*done())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def commands_of(
    parser: argparse.ArgumentParser,
) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command, by its name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}
