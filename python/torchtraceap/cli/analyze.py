# SPDX-License-Identifier: BSD-3-Clause
"""analyze.py: the command ``torchtraceap analyze``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from torchtraceap.analysis import analyze, load
from torchtraceap.cli.colors import in_color
from torchtraceap.cli.loading import loading_parser
from torchtraceap.cli.output import (
    BAD_INPUT,
    OK,
    Commands,
    cannot_write,
    complain,
    quiet_option,
    say,
)
from torchtraceap.cli.reasons import FAILURES, reason
from torchtraceap.cli.rules import RuleOptions, rule_options, rules_parser
from torchtraceap.cli.stages import stage
from torchtraceap.cli.targets import Target, are_fine
from torchtraceap.errors import ConfigError
from torchtraceap.outputs import OUTPUTS, Output, write_output
from torchtraceap.report import Report

EXAMPLES = (
    ("torchtraceap analyze trace.json.gz", "what wastes time"),
    (
        "torchtraceap analyze trace.json.gz --step 5:7 --windows 20 --tables",
        "three steps, in more detail",
    ),
    (
        "torchtraceap analyze trace.json.gz --quiet --json report.json --csv tables",
        "only files: the report for a program, and tables for a spreadsheet",
    ),
    ("torchtraceap analyze trace.json.gz --json - | jq '.findings[0]'", "to a pipe"),
)


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "analyze",
        parents=[loading_parser(), rules_parser()],
        help="label the windows of traces and list what wastes time",
    )
    command.add_argument("traces", nargs="+", metavar="TRACE", help=".json or .json.gz")
    group = command.add_argument_group("what to write (-: to standard output)")
    for output in OUTPUTS:
        group.add_argument(f"--{output.name}", metavar=output.metavar, help=output.help)
    command.add_argument(
        "--windows",
        metavar="N",
        type=_count,
        default=5,
        help="list the N windows that waste most (default: 5)",
    )
    command.add_argument("--tables", action="store_true", help="list what ran, too")
    quiet_option(command)
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    wanted = {
        o: path for o in OUTPUTS if (path := getattr(options, o.name)) is not None
    }
    for output in wanted:
        if len(options.traces) > 1 and not output.takes_several:
            return complain(f"--{output.name} takes one trace. Run it for each.")
    targets = [_target(output, path) for output, path in wanted.items()]
    if not are_fine(targets, options.traces):
        return BAD_INPUT
    try:
        rules = rule_options(options)
    except ConfigError as error:
        return complain(str(error))
    shown = not options.quiet and "-" not in wanted.values()
    reports: list[Report] = []
    failed: list[str] = []
    for path in options.traces:
        try:
            report = _analyze(path, options, rules)
        except FAILURES as error:
            complain(reason(path, error))
            failed.append(path)
            continue
        if shown:
            summary = report.summary(windows=options.windows)
            say(("\n" if reports else "") + in_color(summary, report))
            if options.tables and (tables := report.tables()):
                say("\n" + tables)
        reports.append(report)
    if failed and len(options.traces) > 1:
        complain(
            f"{len(failed)} of {len(options.traces)} traces failed: "
            + ", ".join(failed)
        )
    several = len(options.traces) > 1
    for output, target in wanted.items():
        with stage(f"writing {target}", options.quiet):
            if reports and not _write(output, reports, target, several):
                return BAD_INPUT
    return BAD_INPUT if failed else OK


def _analyze(path: str, options: argparse.Namespace, rules: RuleOptions) -> Report:
    """Do all that takes long, saying what it is."""
    name = os.path.basename(path)
    trace = load(path, **options.loading)
    with stage(f"analyzing {name}", options.quiet):
        report = analyze(trace, **rules)
    with stage(f"replaying {name} without what was found", options.quiet):
        _ = report.findings
    return report


def _target(output: Output, path: str) -> Target:
    takes_stdout = output.text is not None
    return Target(output.name, path, not output.suffix, takes_stdout, output.check)


def _write(
    output: Output, reports: Sequence[Report], target: str, several: bool
) -> bool:
    if target == "-" and output.text is not None:
        say(output.text(reports, several))
        return True
    try:
        write_output(output, reports, target, several)
    except OSError as error:
        takes_stdout = output.text is not None
        cannot_write(output.name, target, error, not output.suffix, takes_stdout)
    except (ImportError, ValueError, RuntimeError) as error:
        complain(f"--{output.name} {target}: {error}")
    else:
        return True
    return False


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)
