# SPDX-License-Identifier: BSD-3-Clause
"""check.py: the command ``torchtraceap check``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchtraceap.analysis import analyze
from torchtraceap.analysis_plan import of_torch
from torchtraceap.base.errors import ConfigError
from torchtraceap.cli.compare import root_option
from torchtraceap.cli.loading import (
    RuleOptions,
    loading_parser,
    rule_options,
    rules_parser,
)
from torchtraceap.cli.output import (
    BAD_INPUT,
    BUDGET_BROKEN,
    FAILURES,
    OK,
    Commands,
    complain,
    quiet_option,
    reason,
    say,
    write,
)
from torchtraceap.cli.targets import Target, are_fine
from torchtraceap.data.config import has_budget, project_file
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.checks import FORMS

if TYPE_CHECKING:
    from torchtraceap.gate.checks import Checked
    from torchtraceap.report import Report

_NO_BUDGET = (
    "there is nothing to check against. Give --budget FILE or --baseline FILE, put "
    "[tool.torchtraceap.budget] into ./pyproject.toml, or let --write-budget write one."
)
EXAMPLES = (
    ("torchtraceap check trace.json.gz --write-budget budget.toml", "what it keeps"),
    ("torchtraceap check trace.json.gz --budget budget.toml", "exit code 1 if broken"),
    ("torchtraceap check new.json.gz --baseline old.json.gz", "nothing new or slower"),
    ("torchtraceap check trace.json.gz --sarif found.sarif --markdown ci.md", "for CI"),
)


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "check",
        parents=[loading_parser(), rules_parser()],
        help="hold traces against a budget; exit code 1 if one is over it",
        description="Hold traces against a budget (docs/ci.md), a baseline, or "
        "both. Exit code 0: within; 1: over, or it cannot be told; 2: bad input.",
    )
    command.add_argument("traces", nargs="+", metavar="TRACE", help=".json or .json.gz")
    group = command.add_argument_group("what to hold them against")
    group.add_argument(
        "--budget",
        metavar="FILE",
        help="TOML file; by default [budget] of --config, or of [tool.torchtraceap] in "
        "./pyproject.toml",
    )
    group.add_argument(
        "--baseline",
        metavar="FILE",
        help="an earlier trace, or a report that analyze --json wrote of it: nothing "
        "may be new, grown or slower",
    )
    root_option(group)
    group.add_argument(
        "--write-budget",
        metavar="FILE",
        help="write the budget that these traces just keep, and check nothing",
    )
    group.add_argument(
        "--headroom",
        metavar="SHARE",
        type=_share,
        default=0.1,
        help="how much more a written budget allows (default: 0.1, which is 10 %%)",
    )
    group = command.add_argument_group("what to write (-: to standard output)")
    for form in FORMS:
        group.add_argument(f"--{form.name}", metavar="F", help=form.help)
    group.add_argument(
        "--source-root",
        metavar="DIR",
        help="folder that --sarif names files relative to (default: the working one)",
    )
    quiet_option(command)
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    inputs = [*options.traces, options.baseline]
    if options.write_budget is None:  # Else that budget may be written anew.
        inputs.append(options.budget)
    if not are_fine(_targets(options), [path for path in inputs if path]):
        return BAD_INPUT
    if options.baseline is not None and len(options.traces) > 1:
        return complain("--baseline takes one trace. Run it for each.")
    try:
        rules = rule_options(options)
        budget = _budget(options, rules)
    except ConfigError as error:
        return complain(str(error))
    if budget is None and options.write_budget is None:
        return complain(_NO_BUDGET)
    reports: list[Report] = []
    failed = False
    for path in options.traces:
        try:
            reports.append(of_torch(analyze(path, **rules, **options.loading)))
        except FAILURES as error:
            complain(reason(path, error))
            failed = True
    if options.write_budget is not None:
        return BAD_INPUT if failed else _write_budget(reports, options)
    try:
        checks = _checks(reports, budget or Budget(), options, rules)
    except FAILURES as error:
        return complain(reason(str(options.baseline), error))
    if not _tell(checks, options) or failed:
        return BAD_INPUT
    return BUDGET_BROKEN if any(checked.broken for checked in checks) else OK


def _targets(options: argparse.Namespace) -> list[Target]:
    names = [*(form.name for form in FORMS), "write_budget"]
    given = [(name.replace("_", "-"), getattr(options, name)) for name in names]
    return [Target(*target) for target in given if target[1] is not None]


def _budget(options: argparse.Namespace, rules: RuleOptions) -> Budget | None:
    path = options.budget
    settings = options.config or project_file()
    if path is None and settings is not None and has_budget(settings):
        path = settings
    if path is not None:
        return read_budget(
            path,
            rules=[rule.name for rule in rules["rules"]],
            needs_limit=options.baseline is None and options.write_budget is None,
        )
    return Budget() if options.baseline is not None else None


def _checks(
    reports: Sequence[Report],
    budget: Budget,
    options: argparse.Namespace,
    rules: RuleOptions,
) -> list[Checked]:
    from torchtraceap.gate.checks import check_report

    comparison = None
    if options.baseline is not None and reports:
        from torchtraceap.comparison import compare

        comparison = compare(options.baseline, reports[0], **rules, roots=options.root)
    return [check_report(report, budget, comparison) for report in reports]


def _tell(checks: Sequence[Checked], options: argparse.Namespace) -> bool:
    """Say what came out, and write it where it was asked for; False if that failed."""
    from torchtraceap.gate.checks import check_text

    targets = {form: getattr(options, form.name) for form in FORMS}
    if "-" not in targets.values() and not options.quiet:
        for checked in checks:
            say(check_text(checked))
    for form, target in targets.items():
        if target is None or not checks:
            continue
        if not write(form.name, target, form.text(checks, options.source_root)):
            return False
    return True


def _write_budget(reports: Sequence[Report], options: argparse.Namespace) -> int:
    from torchtraceap.gate.ratchet import budget_toml

    try:
        text = budget_toml(reports, options.headroom)
    except ValueError as error:
        return complain(str(error))
    if not write("write-budget", options.write_budget, text):
        return BAD_INPUT
    if options.write_budget != "-" and not options.quiet:
        say(f"{options.write_budget} written; hold traces against it with --budget.")
    return OK


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return share
