# SPDX-License-Identifier: BSD-3-Clause
"""analyze.py: the command ``torchtraceap analyze``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchtraceap.analysis import analyze
from torchtraceap.cli.loading import loading_parser
from torchtraceap.cli.output import BAD_INPUT, OK, Commands, cannot_write, complain, say
from torchtraceap.cli.reasons import FAILURES, reason, same_file
from torchtraceap.cli.rules import rule_options, rules_parser
from torchtraceap.errors import ConfigError
from torchtraceap.outputs import OUTPUTS, Output, write_output
from torchtraceap.report import Report


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
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    wanted = {
        o: path for o in OUTPUTS if (path := getattr(options, o.name)) is not None
    }
    for output, target in wanted.items():
        if len(options.traces) > 1 and not output.takes_several:
            return complain(f"--{output.name} takes one trace. Run it for each.")
        for path in options.traces:
            if same_file(path, target):
                return complain(
                    f"--{output.name} {target} would overwrite the trace {path}. "
                    "Give it another file."
                )
    try:
        rules = rule_options(options)
    except ConfigError as error:
        return complain(str(error))
    reports: list[Report] = []
    failed: list[str] = []
    for path in options.traces:
        try:
            report = analyze(path, **rules, **options.loading)
        except FAILURES as error:
            complain(reason(path, error))
            failed.append(path)
            continue
        if "-" not in wanted.values():
            say(("\n" if reports else "") + report.summary(windows=options.windows))
            if options.tables and (tables := report.tables()):
                say("\n" + tables)
        reports.append(report)
    if failed and len(options.traces) > 1:
        complain(
            f"{len(failed)} of {len(options.traces)} traces failed: "
            + ", ".join(failed)
        )
    for output, target in wanted.items():
        if reports and not _write(output, reports, target, len(options.traces) > 1):
            return BAD_INPUT
    return BAD_INPUT if failed else OK


def _write(
    output: Output, reports: Sequence[Report], target: str, several: bool
) -> bool:
    if target == "-" and output.text is not None:
        say(output.text(reports, several))
        return True
    try:
        write_output(output, reports, target, several)
    except OSError as error:
        cannot_write(output.name, target, error)
    except (ImportError, ValueError, RuntimeError) as error:
        complain(f"--{output.name} {target}: {error}")
    else:
        return True
    return False


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)
