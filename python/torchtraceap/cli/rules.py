# SPDX-License-Identifier: BSD-3-Clause
"""rules.py: the options of the analysis in the program: settings, own rules."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TypedDict

from torchtraceap.analysis_plan import plan_analysis
from torchtraceap.config import Config, project_file
from torchtraceap.errors import ConfigError
from torchtraceap.rules import Rule, find_rules


class RuleOptions(TypedDict):
    """What ``analyze`` takes of these."""

    config: Config | None
    rules: list[Rule]


def rules_parser() -> argparse.ArgumentParser:
    """Return a parent for the parsers of commands that run rules."""
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("what counts as a finding (docs/rules.md)")
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
