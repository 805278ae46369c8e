# SPDX-License-Identifier: BSD-3-Clause
"""compare.py: the command ``torchtraceap compare``."""

from __future__ import annotations

import argparse

from torchtraceap.cli.options import (
    Options,
    analysis_parsers,
    quiet_option,
    root_option,
)
from torchtraceap.cli.output import BUDGET_BROKEN, OK, Commands, about, say
from torchtraceap.cli.targets import (
    prints_summary,
    refuse_unwritable,
    targets_of,
    write,
)
from torchtraceap.comparison import read_side
from torchtraceap.gate.comparison import WORSE
from torchtraceap.gate.differences import compare_sides
from torchtraceap.gate.side import Side
from torchtraceap.views.json_form import json_text

EXAMPLES = (
    ("torchtraceap compare before.json.gz after.json.gz", "what a change did"),
    ("torchtraceap compare old.json new.json.gz --fail-on new,slower", "a gate for CI"),
    ("torchtraceap compare old.json.gz new.json.gz --markdown -", "for a pull request"),
    (
        "torchtraceap compare h100.json.gz mi300.json.gz --operators",
        "the operators that differ, and why",
    ),
    (
        "torchtraceap compare old.json new.json --root /ci/main --root /ci/branch",
        "traces from two checkouts",
    ),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "compare",
        parents=analysis_parsers(),
        help="report changes between two traces: findings, step time, idle time",
        description="Report changes between two traces, each given as a trace or as "
        "its report from analyze --json. docs/ci.md lists what counts.",
    )
    command.add_argument("before", metavar="BEFORE", help="trace or report")
    command.add_argument("after", metavar="AFTER", help="trace or report")
    add = Options(command)
    add(
        "--fail-on KINDS",
        "exit code 1 if something is of these kinds, or undetermined; such as "
        "new,grown,slower",
        _kinds,
        default=(),
    )
    root_option(add)
    add(
        "--operators",
        "list the operators whose device time differs most and why, even if most "
        "kernels have the same names",
    )
    add = Options(command, "what to write (-: to standard output)")
    add("--json F", "write the comparison as JSON")
    add("--markdown F", "write the comparison in Markdown, for a pull request")
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    targets = targets_of(options, ["json", "markdown"])
    refuse_unwritable(targets, [options.before, options.after])
    sides: list[Side] = []
    for path in (options.before, options.after):
        with about(path):
            sides.append(read_side(path, **options.analysis, **options.loading))
    before, after = sides
    comparison = compare_sides(before, after, options.root)
    shown = prints_summary(options, targets)
    if shown:
        say(comparison.summary(options.operators))
    for target in targets:
        is_json = target.option == "json"
        text = json_text(comparison.to_dict()) if is_json else comparison.to_markdown()
        write(target, text)
    worse = comparison.worse(options.fail_on)
    if worse and shown:
        say("\nWorse, or undetermined (--fail-on):")
        for one in worse:
            say(f"  {one.message}")
    return BUDGET_BROKEN if worse else OK


def _kinds(text: str) -> tuple[str, ...]:
    kinds = tuple(kind.strip() for kind in text.split(","))
    if unknown := [kind for kind in kinds if kind not in WORSE]:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]!r} is not one of {', '.join(WORSE)}"
        )
    return kinds
