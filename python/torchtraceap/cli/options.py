# SPDX-License-Identifier: BSD-3-Clause
"""options.py: the options that several commands have: what to load, which rules."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from typing import TypedDict, TypeVar, cast

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.errors import ConfigError
from torchtraceap.data.config import Config, project_file
from torchtraceap.data.load import LoadOptions, plan_load
from torchtraceap.data.rules import Rule, find_rules

_Number = TypeVar("_Number", int, float)


def number(
    read: Callable[[str], _Number], what: str, least: float, most: float = math.inf
) -> Callable[[str], _Number]:
    """Return what reads the number of an option, ``what``, from ``least`` to ``most``;
    it raises ArgumentTypeError for all else."""

    def checked(text: str) -> _Number:
        try:
            value = read(text)
        except ValueError:
            value = read("-1")
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is no {what}")
        return value

    return checked


count = number(int, "number from 0 up", 0)
share = number(float, "number from 0 to 1", 0, 1)
time = number(float, "time above 0", math.ulp(0.0), 1e9)


def quiet_option(command: argparse.ArgumentParser) -> None:
    """Add ``--quiet`` to a command that prints a summary and may write files."""
    command.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print nothing but errors, and what goes to standard output by a -",
    )


def root_option(command: argparse._ActionsContainer) -> None:
    """Add ``--root`` to a command that compares."""
    command.add_argument(
        "--root",
        metavar="DIR",
        action="append",
        default=[],
        help="folder that the program lies in, before or after: its files are known by "
        "their paths below; may be repeated (default: the working one)",
    )


def analysis_parsers() -> list[argparse.ArgumentParser]:
    """Return parents for the parsers of commands that analyze traces."""
    return [loading_parser(), _rules_parser()]


def loading_parser() -> argparse.ArgumentParser:
    """Return a parent for the parsers of commands that load traces."""
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("what to load, and how")
    group.add_argument(
        "--recover",
        action="store_true",
        help="read what is sound of a damaged file and count the rest",
    )
    group.add_argument(
        "--step",
        metavar="A[:B]",
        dest="steps",
        type=_steps,
        help="only the time of ProfilerStep#A (to #B), on host and devices",
    )
    group.add_argument(
        "--skip-category",
        metavar="NAME",
        dest="skip_categories",
        action="append",
        help="leave out events of this category, such as python_function; "
        "may be given several times",
    )
    group.add_argument(
        "--max-text-bytes",
        metavar="N",
        type=int,
        help="refuse gzip that inflates to more bytes",
    )
    group.add_argument(
        "--max-ratio",
        metavar="R",
        type=float,
        help="refuse gzip that inflates to more than R times its size",
    )
    group.add_argument(
        "--threads", metavar="N", type=int, help="read with N threads, for speed only"
    )
    return parser


def loading_options(options: argparse.Namespace) -> LoadOptions:
    """Return what a command was given, for ``load`` and ``analyze``.

    Raises ValueError for what neither would take.
    """
    given = vars(options)
    own = LoadOptions.__annotations__.keys() & given.keys()
    loading = cast("LoadOptions", {name: given[name] for name in own})
    loading["progress"] = False if given.get("quiet") else None
    plan_load(**loading)
    return loading


def _steps(text: str) -> int | tuple[int, int]:
    first, colon, last = text.partition(":")
    if not first.isdecimal() or (colon and not last.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no step, as in 5, and no first and last one, as in 3:7"
        )
    return (int(first), int(last)) if colon else int(first)


class RuleOptions(TypedDict):
    """What ``analyze`` takes of these."""

    config: Config | None
    rules: list[Rule]


def _rules_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group(
        "what counts as a finding (docs/reference/rules.md)"
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="TOML file with thresholds; by default [tool.torchtraceap] of "
        "./pyproject.toml, if it is there",
    )
    group.add_argument(
        "--no-config",
        action="store_true",
        help="use the default thresholds, whatever ./pyproject.toml says",
    )
    group.add_argument(
        "--rules",
        metavar="MODULE:FUNCTION",
        action="append",
        default=[],
        help="run this rule of your own too (its module is also looked for in the "
        "working folder), or an installed one of this name; may be given several times",
    )
    return parser


def rule_options(options: argparse.Namespace) -> RuleOptions:
    """Return what a command was given, for ``analyze``.

    Raises ConfigError for what that would not take.
    """
    if options.config is not None and options.no_config:
        raise ConfigError("--config and --no-config exclude each other")
    config = options.config
    if config is None and not options.no_config:
        config = project_file()
    rules: list[Rule] = []
    if options.rules:
        # As with python -m, to stay: rules may import when they run. A script that pip
        # made does not look there.
        if (folder := os.getcwd()) not in sys.path:
            sys.path.insert(0, folder)
        try:
            rules = find_rules(options.rules)
        except TypeError as error:
            raise ConfigError(str(error)) from error
    plan_analysis(None, config, rules)
    return RuleOptions(config=config, rules=rules)
