# SPDX-License-Identifier: BSD-3-Clause
"""analyze.py: the command ``torchtraceap analyze``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection
from typing import Any

from torchtraceap._core import Trace
from torchtraceap.analysis import analyze, load
from torchtraceap.analysis_plan import of_torch
from torchtraceap.base.text_table import joined, wrapped
from torchtraceap.cli.analyze_job import (
    TRACES,
    is_joined,
    ranks_of,
    read_job,
    refuse_forms,
    show_job,
    traces_of,
    unless_alone,
)
from torchtraceap.cli.options import Options, analysis_parsers, count, quiet_option
from torchtraceap.cli.output import (
    BAD_INPUT,
    OK,
    Commands,
    Refused,
    about,
    complain,
    say,
    say_lines,
    stage,
)
from torchtraceap.cli.targets import (
    prints_summary,
    refuse_unwritable,
    report_options,
    report_targets,
    write_report,
)
from torchtraceap.data.detector_choice import AUTO, OFF
from torchtraceap.ranks.horovod import horovod_text, is_horovod
from torchtraceap.ranks.job_report import JobReport
from torchtraceap.ranks.merged import merged_ranks
from torchtraceap.report import Report
from torchtraceap.views.answer_text import answer_line, answer_lines, screen_width
from torchtraceap.views.outputs import OUTPUTS, Output
from torchtraceap.views.summary import detector_text, summary_lines
from torchtraceap.views.work_tables import work_lines

EXAMPLES = (
    ("torchtraceap analyze trace.json.gz", "what wastes time"),
    (
        "torchtraceap analyze trace.json.gz --step 5:7 --windows 20 --tables",
        "three steps, in more detail",
    ),
    (
        "torchtraceap analyze trace.json.gz -q --json report.json --parquet tables",
        "only files: the report for a program, and tables for pandas",
    ),
    ("torchtraceap analyze trace.json.gz --json - | jq '.findings[0]'", "to a pipe"),
    (
        "torchtraceap analyze trace.json.gz --capture capture_traces --tables",
        "kernels of CUDA graphs by the operators that were captured",
    ),
    ("torchtraceap analyze runs/", "all ranks of a job: which is late, and why"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "analyze",
        parents=analysis_parsers(),
        help="label the windows of traces and list what wastes time",
    )
    command.add_argument("traces", nargs="+", metavar="TRACE", help=TRACES)
    add = Options(command, "what to write (-: to standard output)")
    report_options(add, OUTPUTS)
    group = command.add_argument_group("what to print")
    add = Options(group.add_mutually_exclusive_group())
    add("--full", "the whole report: balance, every finding, windows, advice")
    add("--brief", "one line for each trace")
    add = Options(group)
    add("--windows N", "--full, with N stretches of windows (default: 5)", count)
    add("--tables", "--full, and kernels, copies, operators and threads")
    Options(command, "CUDA and HIP graphs")(
        "--capture FOLDER",
        "traces of the graphs' capture, as vLLM and SGLang write them: kernels of "
        "replays get the operators and lines that launched them there",
        str,
    )
    group = command.add_argument_group("the learned detector, in addition to the rules")
    add = Options(group.add_mutually_exclusive_group())
    add(
        "--detector FILE",
        "weights to use; auto: the bundled ones if torch is installed, about a "
        "second to load; off: none",
        default=AUTO,
    )
    add(
        "--no-detector",
        "rules only, like --detector off",
        dest="detector",
        action="store_const",
        const=OFF,
    )
    quiet_option(command)


def _detector_of(options: argparse.Namespace) -> str:
    """Return what a command was given; weights that were named are loaded."""
    choice: str = options.detector
    if not choice:
        raise Refused("--detector: name a file of weights, auto or off")
    if choice not in (AUTO, OFF):
        from torchtraceap.detection.model import load_named

        with stage("loading torch and the weights", options.quiet):
            try:
                load_named(choice)
            except ValueError as error:
                raise Refused(f"--detector: {error}") from error
    return choice


def run(options: argparse.Namespace) -> int:
    wanted = report_targets(options, OUTPUTS)
    several = len(options.traces) > 1
    files = unless_alone(ranks_of(options), options)
    inputs = traces_of(options, files)
    if files is not None:
        refuse_forms(wanted, options)
        refuse_unwritable(list(wanted.values()), inputs)
        detector = _detector_of(options)
        if (job := read_job(files, options, detector, options.capture)) is not None:
            return show_job(job, options, wanted)
    for output in wanted:
        if several and not output.takes_several:
            raise Refused(f"--{output.name} takes one trace. Run it for each.")
    refuse_unwritable(list(wanted.values()), inputs)
    detector = _detector_of(options)
    shown = prints_summary(options, wanted.values())
    full = options.full or options.tables or options.windows is not None
    if options.brief and full:
        raise Refused(
            "--brief is one line for each trace: leave out --windows, --tables"
        )
    named = detector not in (AUTO, OFF)
    asks = (shown and (full or named)) or any(out.asks_detector for out in wanted)
    reports: list[Report] = []
    failed: list[str] = []
    for path in options.traces:
        try:
            with about(path):
                trace = load(path, **options.loading)
                if is_horovod(trace):
                    _show_horovod(trace, wanted)
                    continue
                if not several and (job := _merged_job(trace, options, detector)):
                    refuse_forms(wanted, options)
                    return show_job(job, options, wanted)
                report = _analyze(trace, options, detector, asks, shown)
                # Part of it is read from the file again, which may have changed since.
                lines = _lines(report, options, full, named) if shown else []
        except Refused as error:
            complain(str(error))
            failed.append(path)
            continue
        if shown:
            apart = reports and not options.brief
            say_lines(["", *lines] if apart else lines)
        reports.append(report)
    if failed and several:
        how_many = f"{len(failed)} of {len(options.traces)} traces failed"
        complain(f"{how_many}: {', '.join(failed)}")
    for output, target in wanted.items():
        with stage(f"writing {target.path}", options.quiet):
            if reports:
                write_report(output, reports, target, several)
    return BAD_INPUT if failed else OK


def _lines(
    report: Report, options: argparse.Namespace, full: bool, named: bool
) -> list[str]:
    """Return what is printed of a report; ``named``: the detector's weights were."""
    if options.brief:
        return [answer_line(report)]
    if not full:
        lines = answer_lines(report, screen_width())
        if named:
            lines += wrapped(detector_text(report.detection), "")
        return lines
    blocks = [summary_lines(report, 5 if options.windows is None else options.windows)]
    if options.tables:
        blocks.append(work_lines(report))
    return joined(blocks)


def _merged_job(
    trace: Trace, options: argparse.Namespace, detector: str
) -> JobReport | None:
    """Return the job whose ranks were merged into one trace; None if there is none, or
    none of them waited for another."""
    ranks = merged_ranks(trace)
    if not ranks:
        return None
    with stage(f"analyzing the ranks in {os.path.basename(trace.path)}", options.quiet):
        parts = [rank.part_of(trace) for rank in ranks]
        job = analyze(
            parts, **options.analysis, **_captures(options), detector=detector
        )
    return job if is_joined(job) else None


def _captures(options: argparse.Namespace) -> dict[str, Any]:
    if options.capture is None:
        return {}
    return {"capture": options.capture, "recover": options.recover}


def _show_horovod(trace: Trace, wanted: Collection[Output]) -> None:
    if wanted:
        raise Refused(
            f"{trace.path}: a Horovod timeline has only a summary, no report. Leave "
            f"out --{next(iter(wanted)).name}."
        )
    say(horovod_text(trace))


def _analyze(
    trace: Trace,
    options: argparse.Namespace,
    detector: str,
    asks: bool,
    shown: bool,
) -> Report:
    """Do all that takes long, saying what it is; ``asks``: the detector too, and
    ``shown``: if rules have no answer to show."""
    name = os.path.basename(trace.path)
    with stage(f"analyzing {name}", options.quiet):
        report = of_torch(
            analyze(trace, **options.analysis, **_captures(options), detector=detector)
        )
    for note in report.quality.warnings:
        if note.kind == "capture_skipped":
            complain(note.detail)
    with stage(f"replaying {name} with fixes", options.quiet):
        _ = report.rule_findings
    if asks or (shown and not report.answer.rows):
        with stage(f"running the learned detector on {name}", options.quiet):
            _ = report.detection
    return report
