# SPDX-License-Identifier: BSD-3-Clause
"""fleet.py: the command ``torchtraceap fleet``."""

from __future__ import annotations

import argparse
import re
import time
from typing import Any

from torchtraceap.base.units import counted
from torchtraceap.cli.options import Options, loading_parser, number, quiet_option
from torchtraceap.cli.output import (
    BAD_INPUT,
    FAILURES,
    OK,
    Commands,
    Refused,
    complain,
    reason,
    say,
    say_lines,
    stage,
)
from torchtraceap.cli.targets import (
    prints_summary,
    refuse_unwritable,
    targets_of,
    write,
)
from torchtraceap.data.config import project_file
from torchtraceap.fleets.data_set import NotWritten
from torchtraceap.fleets.fleet_report import (
    fleet_lines,
    fleet_markdown,
    fleet_page,
    fleet_report,
)
from torchtraceap.fleets.running import FleetRun, fleet

EXAMPLES = (
    ("torchtraceap fleet nightly/ --out results", "traces and jobs in a folder"),
    ("torchtraceap fleet s3://ci/traces --out results", "those of a bucket"),
    ("torchtraceap fleet /data --out results --ray auto", "on a cluster of Ray"),
    ("torchtraceap fleet report results --html fleet.html", "what they say together"),
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_NAMED = 10  # Failures.


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "fleet",
        help="analyze thousands of traces into a Parquet data set, and report on it",
        description="Analyze the traces and jobs in folders, patterns and URLs (s3://, "
        "gs://, hf://, https://) into a Parquet data set. Called again, it analyzes "
        "what is new, changed or was interrupted. With the word report and such a "
        "data set: the worst programs, regressions, what appeared when "
        "(docs/fleet.md).",
        parents=[loading_parser()],
    )
    command.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a folder, file, pattern or URL; or: report DIR",
    )
    add = Options(command)
    add("--out DIR", "folder of the results: a new one, or that of an earlier call")
    add(
        "--ray ADDRESS",
        "run the tasks on this Ray cluster, such as auto; local starts Ray here "
        "(default: processes of this machine)",
    )
    add(
        "--workers N",
        "traces analyzed at a time, at most (default: one a processor)",
        number(int, "number from 1 to 1024", 1, 1024),
    )
    add(
        "--memory SIZE",
        "what they may take together, by estimates, such as 8G (default: half of what "
        "is free)",
        _bytes,
    )
    add(
        "--path REGEX",
        "searched in each path; its groups program, model, commit and host name these",
    )
    add("--retry-failed", "also analyze again what failed in an earlier call")
    add(
        "--config FILE",
        "TOML file with thresholds; by default [tool.torchtraceap] of "
        "./pyproject.toml, if there is one",
    )
    # All so far: a report has no use for them.
    analysis = {
        action.dest: action.option_strings[0]
        for action in command._actions
        if action.option_strings and action.dest != "help"
    }
    command.set_defaults(of_analysis=analysis)
    report = Options(command, "of report DIR")
    report("--html F", "write the report as one HTML page")
    report("--markdown F", "write it in Markdown, for a pull request")
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    if options.sources[0] == "report":
        return _report(options)
    for name in ("html", "markdown"):
        if getattr(options, name) is not None:
            raise Refused(f"--{name} is for a report: torchtraceap fleet report DIR")
    if not options.out:
        raise Refused("name the folder of the results: --out DIR")
    return _analyze(options)


def _report(options: argparse.Namespace) -> int:
    other = "To analyze a folder with the name report, call it ./report"
    for name, option in options.of_analysis.items():
        given = getattr(options, name)
        if given is not None and given is not False:
            raise Refused(
                f"{option} is for an analysis, and a report makes none: leave it out. "
                f"{other}"
            )
    if len(options.sources) != 2:
        raise Refused(f"name one data set: torchtraceap fleet report DIR. {other}")
    targets = targets_of(options, ("html", "markdown"))
    refuse_unwritable(targets, [])
    (folder,) = options.sources[1:]
    try:
        with stage("asking the data set", options.quiet):
            report = fleet_report(folder)
    except (*FAILURES, ImportError) as error:
        raise Refused(reason(folder, error)) from error
    if prints_summary(options, targets):
        say_lines(fleet_lines(report))
    for target in targets:
        make = fleet_page if target.option == "html" else fleet_markdown
        write(target, make(report))
    return OK


def _analyze(options: argparse.Namespace) -> int:
    begin, done = time.monotonic(), (0, 0)

    def count(number: int, of: int) -> None:
        nonlocal done, begin
        if not done[0]:
            begin = time.monotonic()
        done = number, of

    def note() -> tuple[float | None, str]:
        number, of = done
        if number < 2:
            return None, ""
        rate = (number - 1) / max(time.monotonic() - begin, 1e-9)
        return number / of, f"{number:,} of {of:,}, {rate:.1f}/s"

    config = options.config if options.config is not None else project_file()
    given: dict[str, Any] = {**options.loading}
    given.pop("progress")
    try:
        with stage("analyzing traces", options.quiet, note):
            ran = fleet(
                options.sources,
                options.out,
                ray=options.ray,
                workers=options.workers,
                memory=options.memory,
                path=options.path,
                retry_failed=options.retry_failed,
                config=config,
                counted=count,
                **given,
            )
    except NotWritten as error:
        raise Refused(
            f"cannot write {options.out}: {error.strerror}. Make room, or give --out a "
            "folder that can be written to, and run the command again: what was done "
            "is kept."
        ) from error
    except (*FAILURES, ImportError) as error:
        raise Refused(reason(options.sources[0], error)) from error
    if not options.quiet:
        say(_told(ran))
    return _complain(ran)


def _told(ran: FleetRun) -> str:
    text = f"{counted(ran.done, 'trace or job', 'traces and jobs')} analyzed"
    if ran.done:
        rate = ran.done / max(ran.seconds, 1e-9)
        text += f" in {ran.seconds:.1f} s, {rate:.1f} a second"
    if ran.known:
        text += f"; {counted(ran.known, 'was done before', 'were done before')}"
    if ran.others:
        names = "file left out: not a trace", "files left out: not traces"
        text += f"; {counted(ran.others, *names)}"
    return f"{text}. Results: {ran.folder}"


def _complain(ran: FleetRun) -> int:
    for why in ran.skipped[:_NAMED]:
        complain(why)
    if ran.skipped:
        files = counted(len(ran.skipped), "file or folder", "files and folders")
        complain(f"{files} left out, without rows: they cannot be read")
    for failure in ran.failures[:_NAMED]:
        complain(failure.why)
    if not ran.failures:
        return OK
    more = f"and {len(ran.failures) - _NAMED:,} more. " if ran.failures[_NAMED:] else ""
    failed = counted(len(ran.failures), "trace")
    complain(f"{more}{failed} failed: see the table traces, status failed")
    return BAD_INPUT


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size, such as 8G or 512M")
    return size
