# SPDX-License-Identifier: BSD-3-Clause
"""program.py: the program ``torchtraceap``: its commands, and how it ends.

Exit codes: 0 fine; 1 a budget is broken; 2 bad usage or bad input, with a message that
says what, where and what to do; 130 on Ctrl-C. Bad input never ends in a traceback.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
import textwrap
from collections.abc import Iterable, Sequence

from torchtraceap import _core
from torchtraceap.base.errors import ConfigError
from torchtraceap.base.safe_text import printable
from torchtraceap.cli import (
    analyze,
    check,
    compare,
    dryrun,
    explain,
    fleet,
    inspect,
    mcp,
    patterns,
    perfetto,
    record,
    serve,
    train,
    what_if,
)
from torchtraceap.cli.options import loading_options, rule_options
from torchtraceap.cli.output import (
    BAD_INPUT,
    INTERRUPTED,
    OK,
    Commands,
    Refused,
    commands_of,
    complain,
)

# In the order of the help. Each has `add(commands)`, which adds the parser of the
# command; `run(options)`, which returns the exit code or raises Refused or ConfigError;
# and `EXAMPLES`, lines to type with what each is for.
_COMMANDS = (
    analyze,
    explain,
    check,
    compare,
    fleet,
    what_if,
    dryrun,
    inspect,
    perfetto,
    patterns,
    record,
    train,
    mcp,
    serve,
)
_EXAMPLES = (
    ("torchtraceap analyze trace.json.gz", "time wasted, by line and anti-pattern"),
    ("torchtraceap analyze rank*.json.gz --json all.json", "several traces, as JSON"),
    ("torchtraceap whatif trace.json.gz --drop sync_stall", "the gain of a fix"),
    ("torchtraceap inspect trace.json.gz", "the contents of the file"),
)
_EXIT_CODES = """
exit codes: 0 fine; 1 a budget is broken; 2 bad usage or bad input; 130 on Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with `arguments` (None: those of the process); return its exit
    code. Usage errors and ``--help`` raise SystemExit, as argparse does."""
    parser = make_parser()
    options = _parse(parser, sys.argv[1:] if arguments is None else arguments)
    try:
        if hasattr(options, "recover"):
            options.loading = loading_options(options)
    except ValueError as error:
        parser.error(str(error))
    try:
        code = _run(options)
        # What cannot be written must be known here, not after the exit code is set.
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except OSError as error:
        # What is still buffered cannot be written either; Python would try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return OK  # The reader has seen enough, as in `| head`.
        why = error.strerror or str(error)
        return complain(f"cannot write to standard output: {why}")
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    try:
        if hasattr(options, "no_config"):
            options.analysis = rule_options(options)
        code: int = options.run(options)
        return code
    except (Refused, ConfigError) as error:
        return complain(str(error))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole program."""
    parser = argparse.ArgumentParser(
        prog="torchtraceap",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_epilog(_EXAMPLES) + _EXIT_CODES,
        description="Find where a PyTorch profiler trace wastes time: the line and "
        "the anti-pattern.",
    )
    parser.add_argument(
        "--version", action="version", version=f"torchtraceap {_core.__version__}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add(commands)
        *_, added = commands_of(parser).values()
        added.set_defaults(run=command.run)
        added.epilog = _epilog(command.EXAMPLES)
        added.formatter_class = argparse.RawDescriptionHelpFormatter
        # The line of the list of commands says it for itself, too.
        added.description = textwrap.fill(added.description or _sentence(commands), 80)
    return parser


def _epilog(examples: Sequence[tuple[str, str]]) -> str:
    lines = [f"  # {what}\n  {line}\n" for line, what in examples]
    return "examples:\n" + "".join(lines)


def _sentence(commands: Commands) -> str:
    help = commands._choices_actions[-1].help or ""
    return f"{help[:1].upper()}{help[1:]}."


def _parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> argparse.Namespace:
    """Return the options. Raises SystemExit(2) for bad usage, after a message that says
    what was probably meant."""
    commands = commands_of(parser)
    if not arguments:
        parser.print_help(sys.stderr)
        raise SystemExit(BAD_INPUT)
    first = next((word for word in arguments if not word.startswith("-")), "")
    if first and first not in commands:
        if os.path.exists(first) or first.endswith((".json", ".gz")):
            line = printable(shlex.join(["torchtraceap", "analyze", *arguments]), 300)
            parser.error(f"no command is given. To analyze a trace: {line}")
        hint = _close(first, commands) or f"; there are: {', '.join(commands)}"
        parser.error(f"no command is {printable(repr(first), 80)}{hint}")
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = commands[first]
        known = command._option_string_actions
        words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
        hints = "".join(_close(word, known) for word in words)
        rest = printable(" ".join(unknown), 200)
        command.error(f"unknown arguments: {rest}{hints}")
    return options


def _close(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
