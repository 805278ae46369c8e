# SPDX-License-Identifier: BSD-3-Clause
"""options.py: options shared by several commands: what to load, which rules."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar, cast

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.base.errors import ConfigError
from torchtraceap.data.config import Config, project_file
from torchtraceap.data.load import LoadOptions, plan_load
from torchtraceap.data.rules import Rule, find_rules

_Number = TypeVar("_Number", int, float)


def number(
    read: Callable[[str], _Number], what: str, least: float, most: float = math.inf
) -> Callable[[str], _Number]:
    """Return a reader of an option's number, ``what``, from ``least`` to ``most``; it
    raises ArgumentTypeError for anything else."""

    def checked(text: str) -> _Number:
        try:
            value = read(text)
        except ValueError:
            value = read("-1")
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {what}")
        return value

    return checked


count = number(int, "number of at least 0", 0)
share = number(float, "number from 0 to 1", 0, 1)
time = number(float, "time above 0", math.ulp(0.0), 1e9)


class Options:
    """Adds options to a parser or a group, each as its help shows it::

        add("--top N", "the first N findings", count, 3)
        add("--tables", "list what ran, too")

    An option without a value is a flag. The help ends with the default, if there is
    one.
    """

    def __init__(self, where: argparse._ActionsContainer, title: str = "") -> None:
        """With a title: to a new group of this parser."""
        self._where = where.add_argument_group(title) if title else where

    def __call__(
        self,
        usage: str,
        help: str,
        kind: Callable[[str], Any] | None = None,
        default: Any = None,
        **more: Any,
    ) -> None:
        words = usage.split()
        names = [word.rstrip(",") for word in words if word.startswith("-")]
        values = tuple(words[len(names) :])
        if values:
            more |= {"type": kind, "metavar": values if values[1:] else values[0]}
            if isinstance(default, str | int | float):
                shown = f"{default:g}" if isinstance(default, float) else default
                help += f" (default: {shown})"
        else:
            more = {"action": "store_true"} | more
        if default is not None:
            more["default"] = default
        self._where.add_argument(*names, help=help, **more)


def quiet_option(command: argparse.ArgumentParser) -> None:
    """Add ``--quiet`` to a command that prints a summary and may write files."""
    Options(command)(
        "-q, --quiet",
        "print only errors, and output requested with -",
    )


def root_option(add: Options) -> None:
    """Add ``--root`` to a command that compares."""
    add(
        "--root DIR",
        "folder of the program, before or after: files are matched by their paths "
        "below it; may be repeated (default: the working folder)",
        action="append",
        default=[],
    )


def analysis_parsers() -> list[argparse.ArgumentParser]:
    """Return parents for the parsers of commands that analyze traces."""
    return [loading_parser(), _rules_parser()]


def loading_parser() -> argparse.ArgumentParser:
    """Return a parent for the parsers of commands that load traces."""
    parser = argparse.ArgumentParser(add_help=False)
    add = Options(parser, "what to load, and how")
    add("--recover", "read the intact part of a damaged file and count the rest")
    add(
        "--step A[:B]",
        "only the time of ProfilerStep#A (to #B), on host and devices",
        _steps,
        dest="steps",
    )
    add(
        "--skip-category NAME",
        "leave out events of this category, such as python_function; may be repeated",
        dest="skip_categories",
        action="append",
    )
    add("--max-text-bytes N", "refuse gzip that inflates to more bytes", int)
    add(
        "--max-ratio R",
        "refuse gzip that inflates to more than R times its size",
        float,
    )
    add("--threads N", "read with N threads, for speed only", int)
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
            f"{text!r} is neither a step, such as 5, nor a range of steps, such as 3:7"
        )
    return (int(first), int(last)) if colon else int(first)


class RuleOptions(TypedDict):
    """What ``analyze`` takes of these."""

    config: Config | None
    rules: list[Rule]


def _rules_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    add = Options(parser, "what counts as a finding (docs/reference/rules.md)")
    add(
        "--config FILE",
        "TOML file with thresholds; by default [tool.torchtraceap] of "
        "./pyproject.toml, if there is one",
    )
    add("--no-config", "use the default thresholds and ignore ./pyproject.toml")
    add(
        "--rules MODULE:FUNCTION",
        "also run your own rule (its module may be in the working folder), or an "
        "installed rule of this name; may be repeated",
        action="append",
        default=[],
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
