# SPDX-License-Identifier: BSD-3-Clause
"""usage.py: reads the command line, and says what was probably meant by a wrong one."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence

from torchtraceap.cli.output import BAD_INPUT
from torchtraceap.safe_text import printable

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
