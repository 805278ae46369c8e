# SPDX-License-Identifier: BSD-3-Clause
"""completion.py: the command ``torchtraceap completion``: what a shell completes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from torchtraceap import _core
from torchtraceap.cli.output import OK, Commands, commands_of, say

_SHELLS = ("bash", "zsh", "tcsh")
EXAMPLES = (
    ('eval "$(torchtraceap completion bash)"', "in this shell; or in ~/.bashrc"),
    (
        "torchtraceap completion zsh > ~/.zfunc/_torchtraceap",
        "for a folder of $fpath",
    ),
    ("torchtraceap completion tcsh > ~/.torchtraceap.csh", "to source in ~/.tcshrc"),
)

# What to complete, by how the help calls it. Others are the user's own words.
_FILES = {"TRACE", "F", "FILE", "BEFORE", "AFTER"}
_FOLDERS = {"DIR"}


def _patterns() -> list[str]:
    return [pattern.name for pattern in _core.patterns()]


# Words for an option, or for an argument of a command by its name there.
_WORDS: dict[str, Callable[[], Iterable[str]]] = {
    "--skip-category": _core.category_names,
    "--drop": _patterns,
    "name": _patterns,
}


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "completion", help="print what lets a shell complete commands and files"
    )
    command.add_argument("shell", choices=_SHELLS, help="the shell it is for")


def run(options: argparse.Namespace) -> int:
    say(completion_script(options.parser, options.shell))
    return OK


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for a shell, of all commands and options of the program."""
    import shtab

    for command in commands_of(parser).values():
        for action in command._actions:
            _explain(action, shtab.FILE, shtab.DIRECTORY)
    script: str = shtab.complete(parser, shell)
    return script.rstrip("\n")


def _explain(action: argparse.Action, file: object, folder: object) -> None:
    """Tell shtab what an argument takes; the parser is for nothing else."""
    names = action.option_strings or [action.dest]
    if words := next((_WORDS[name] for name in names if name in _WORDS), None):
        action.choices = list(words())
    elif action.metavar in _FILES:
        action.complete = file  # type: ignore[attr-defined]
    elif action.metavar in _FOLDERS:
        action.complete = folder  # type: ignore[attr-defined]
