# SPDX-License-Identifier: BSD-3-Clause
"""check.py: the command ``torchtraceap check``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from torchtraceap.analysis import analyze
from torchtraceap.analysis_plan import of_torch
from torchtraceap.cli.analyze_job import (
    TRACES,
    failed_ranks,
    ranks_of,
    read_job,
    traces_of,
    unless_alone,
)
from torchtraceap.cli.options import (
    Options,
    analysis_parsers,
    quiet_option,
    root_option,
    share,
)
from torchtraceap.cli.output import (
    BAD_INPUT,
    BUDGET_BROKEN,
    OK,
    Commands,
    Refused,
    about,
    complain,
    say,
)
from torchtraceap.cli.targets import (
    Target,
    prints_summary,
    refuse_unwritable,
    targets_of,
    write,
)
from torchtraceap.data.config import has_budget, project_file
from torchtraceap.gate.budget import Budget, read_budget
from torchtraceap.gate.checks import (
    FORMS,
    Checked,
    check_job,
    check_report,
    check_text,
)
from torchtraceap.gate.ratchet import budget_toml, ranks_toml
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.report import Report

_NO_BUDGET = (
    "no budget or baseline is given. Use --budget FILE or --baseline FILE, add "
    "[tool.torchtraceap.budget] to ./pyproject.toml, or write one by --write-budget."
)
EXAMPLES = (
    (
        "torchtraceap check trace.json.gz --write-budget budget.toml",
        "a budget from a trace",
    ),
    ("torchtraceap check trace.json.gz --budget budget.toml", "exit code 1 if broken"),
    ("torchtraceap check new.json.gz --baseline old.json.gz", "nothing new or slower"),
    ("torchtraceap check trace.json.gz --sarif found.sarif --markdown ci.md", "for CI"),
    ("torchtraceap check runs/ --budget budget.toml", "the ranks of a job"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "check",
        parents=analysis_parsers(),
        help="check traces against a budget; exit code 1 if one is over it",
        description="Check traces against a budget (docs/ci.md), a baseline, or "
        "both. Exit code 0: within; 1: over, or undetermined; 2: bad input.",
    )
    command.add_argument("traces", nargs="+", metavar="TRACE", help=TRACES)
    add = Options(command, "what to check them against")
    add(
        "--budget FILE",
        "TOML file; by default [budget] of --config, or of [tool.torchtraceap] in "
        "./pyproject.toml",
    )
    add(
        "--baseline FILE",
        "an earlier trace, or its report from analyze --json: nothing may be new, "
        "grown or slower",
    )
    root_option(add)
    add(
        "--write-budget FILE",
        "write the tightest budget that these traces keep, and check nothing",
    )
    add("--headroom SHARE", "extra share that a written budget allows", share, 0.1)
    add = Options(command, "what to write (-: to standard output)")
    for name, form in FORMS.items():
        add(f"--{name} F", form.help)
    add(
        "--source-root DIR",
        "folder that paths in --sarif are relative to (default: the working folder)",
    )
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    targets = targets_of(options, FORMS)
    to_write = targets_of(options, ["write-budget"])
    files = ranks_of(options)
    inputs = [*traces_of(options, files), options.baseline]
    if not to_write:  # Else that budget may be overwritten.
        inputs.append(options.budget)
    refuse_unwritable([*targets, *to_write], filter(None, inputs))
    if options.baseline is not None and len(options.traces) > 1:
        raise Refused("--baseline takes one trace. Run it for each.")
    budget = _budget(options)
    if budget is None and not to_write:
        raise Refused(_NO_BUDGET)
    if budget is None or not any(budget.rank_lines()):
        files = unless_alone(files, options)
    if files is not None:
        if options.baseline is not None:
            raise Refused("--baseline takes one trace. Name the file of one rank.")
        if (job := read_job(files, options)) is not None:
            return _check_job(job, budget or Budget(), options)
        unless_alone(files, options)
    if budget is not None and any(budget.rank_lines()) and not any(budget.lines()):
        for path in options.traces:
            if not os.path.exists(path):
                raise Refused(f"{path}: there is no such file. Check the path.")
        raise Refused(
            "the budget limits only the ranks of a job. Name their folder or files."
        )
    reports: list[Report] = []
    for path in options.traces:
        try:
            with about(path):
                report = analyze(path, **options.analysis, **options.loading)
                reports.append(of_torch(report))
        except Refused as error:
            complain(str(error))
    failed = len(reports) < len(options.traces)
    if not reports or (to_write and failed):
        return BAD_INPUT
    if to_write:
        _write_budget(
            lambda: budget_toml(reports, options.headroom), options, *to_write
        )
        return OK
    comparison = None
    if options.baseline is not None:
        from torchtraceap.comparison import compare

        with about(options.baseline):
            comparison = compare(
                options.baseline, reports[0], **options.analysis, roots=options.root
            )
    checks = [
        check_report(report, budget or Budget(), comparison) for report in reports
    ]
    return _tell(checks, options, failed)


def _check_job(job: JobReport, budget: Budget, options: argparse.Namespace) -> int:
    if to_write := targets_of(options, ["write-budget"]):
        if failed_ranks(job):
            return BAD_INPUT
        _write_budget(lambda: ranks_toml(job, options.headroom), options, *to_write)
        return OK
    with about(job.facts.source):
        checked = check_job(job, job, budget)
    return _tell([checked], options, failed_ranks(job) > 0)


def _tell(checks: Sequence[Checked], options: argparse.Namespace, failed: bool) -> int:
    """Print and write the outcome of the limits, and return the exit code."""
    targets = targets_of(options, FORMS)
    if prints_summary(options, targets):
        for checked in checks:
            say(check_text(checked))
    for target in targets:
        write(target, FORMS[target.option].text(checks, options.source_root))
    if failed:
        return BAD_INPUT
    return BUDGET_BROKEN if any(checked.broken for checked in checks) else OK


def _budget(options: argparse.Namespace) -> Budget | None:
    path = options.budget
    settings = options.config or project_file()
    if path is None and settings is not None and has_budget(settings):
        path = settings
    if path is not None:
        return read_budget(
            path,
            rules=[rule.name for rule in options.analysis["rules"]],
            needs_limit=options.baseline is None and options.write_budget is None,
        )
    return Budget() if options.baseline is not None else None


def _write_budget(
    made: Callable[[], str], options: argparse.Namespace, target: Target
) -> None:
    try:
        text = made()
    except ValueError as error:
        raise Refused(str(error)) from error
    write(target, text)
    if prints_summary(options, [target]):
        say(f"{target.path} written; check traces against it with --budget.")
