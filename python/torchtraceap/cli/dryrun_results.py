# SPDX-License-Identifier: BSD-3-Clause
"""dryrun_results.py: what ``torchtraceap dryrun`` says and writes of a run."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from torchtraceap.analysis import analyze
from torchtraceap.cli.dryrun_limits import broken_limits
from torchtraceap.cli.output import (
    BAD_INPUT,
    BUDGET_BROKEN,
    INTERRUPTED,
    OK,
    complain,
    say,
    write,
)
from torchtraceap.cli.report_files import wanted_outputs, write_report
from torchtraceap.cli.stages import stage
from torchtraceap.json_form import json_text
from torchtraceap.outputs import OUTPUTS
from torchtraceap.safe_text import encodable
from torchtraceap.target_file import write_whole

if TYPE_CHECKING:
    from torchtraceap.dryrun.result import Result
    from torchtraceap.dryrun.script.ended import Ended

# --json is the result of the run itself; a report is made of its timeline.
# Its own JSON; and what is simulated is nothing for a detector to learn from.
REPORTS = tuple(o for o in OUTPUTS if o.name not in ("json", "review"))


def tell(
    run: Result, ended: Ended, options: argparse.Namespace, to_stdout: bool
) -> int:
    """Say what was found, write it, and hold it against limits; return the exit code.

    Args:
        run: The run, which is over.
        ended: How its program ended.
        options: Of the command.
        to_stdout: Whether standard output is one of the files to write.
    """
    try:
        return _tell_all(run, ended, options, to_stdout)
    except KeyboardInterrupt:
        complain("interrupted, before all that was asked for was told and written")
        return INTERRUPTED


def _tell_all(
    run: Result, ended: Ended, options: argparse.Namespace, to_stdout: bool
) -> int:
    if ended.steps_by:
        run.record.notes.append(f"a step ends with {ended.steps_by}")
    if run.record.entries:
        if not (options.quiet or to_stdout):
            say(run.summary())
        if not _write(run, options):
            return BAD_INPUT
    if ended.failure and sys.stderr is not None:
        print(encodable(ended.failure, sys.stderr.encoding), file=sys.stderr)
    if ended.remark:
        complain(ended.remark)
    if ended.interrupted:
        found = "what is told here, or written, was found until then"
        nothing = "nothing had been put on the GPU, so nothing is told or written"
        complain(f"interrupted: {found if run.record.entries else nothing}")
        return INTERRUPTED
    if not ended.well:
        hint = _misplaced(options)
        return complain((ended.message or "the program failed, see above") + hint)
    if not run.record.entries:
        return complain(
            f"nothing that {options.script} did would have run on a GPU. Does it move "
            'its model and data to "cuda"?'
        )
    broken = broken_limits(run, options)
    for text in broken.texts:
        complain(text)
    if broken.untold:
        return BAD_INPUT
    return BUDGET_BROKEN if broken.texts else OK


def _write(run: Result, options: argparse.Namespace) -> bool:
    """Write all files that were asked for; complain and return False if one fails."""
    target = options.json
    if target is not None and not write("json", target, json_text(run.to_dict())):
        return False
    wanted, path = wanted_outputs(options, REPORTS), options.trace_out
    if not wanted and path is None:
        return True
    with stage("simulating a timeline", options.quiet):
        trace = run.trace(host_us=options.host_us)
    if path is not None:
        with stage(f"writing {path}", options.quiet):
            try:
                write_whole(path, trace)
            except ValueError as error:
                complain(f"--trace-out {path}: {error}")
                return False
    if not wanted:
        return True
    with stage("analyzing it", options.quiet):
        report = analyze(trace)
    return all(write_report(form, [report], path) for form, path in wanted.items())


def _misplaced(options: argparse.Namespace) -> str:
    """Say that the script was given an option of this program, if it was."""
    own = {f"--{name.replace('_', '-')}" for name in vars(options)}
    for word in options.arguments:
        if word.split("=")[0] in own:
            return f". {word} was given to it: torchtraceap's options stand before it"
    return ""
