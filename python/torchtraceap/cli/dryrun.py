# SPDX-License-Identifier: BSD-3-Clause
"""dryrun.py: the command ``torchtraceap dryrun``."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, get_args

from torchtraceap.analysis import analyze
from torchtraceap.base.safe_text import encodable
from torchtraceap.base.units import counted
from torchtraceap.cli.options import Options, count, quiet_option, time
from torchtraceap.cli.output import (
    BUDGET_BROKEN,
    INTERRUPTED,
    OK,
    Commands,
    Refused,
    complain,
    say,
    stage,
)
from torchtraceap.cli.targets import (
    refuse_unwritable,
    report_options,
    report_targets,
    targets_of,
    write,
    write_report,
)
from torchtraceap.views.json_form import json_text
from torchtraceap.views.outputs import OUTPUTS
from torchtraceap_dryrun.record import Dial

if TYPE_CHECKING:  # They load torch, which the child alone does.
    from torchtraceap_dryrun.outcome import Outcome
    from torchtraceap_dryrun.script.ended import Ended

# A run has its own JSON; and what is simulated is nothing for a detector to learn from.
_REPORTS = tuple(o for o in OUTPUTS if o.name not in ("json", "review"))
_MOST_LINES = 5

EXAMPLES = (
    ("torchtraceap dryrun train.py --epochs 1", "three steps of python train.py ..."),
    ("torchtraceap dryrun --steps 10 --gpu A100 train.py", "ten, as if on an A100"),
    ("torchtraceap dryrun --step train_step train.py", "only a function, three times"),
    ("torchtraceap dryrun --max-syncs 0 train.py", "exit code 1 if a step waits"),
    ("torchtraceap dryrun -q --json found.json -m pkg.train", "python -m, to a file"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "dryrun",
        help="run a script without a GPU as if on one; report where it waits for it",
        description="Run a PyTorch script on a machine without a GPU as if it had "
        "one: report which lines wait for it, and what a step launches. Options go "
        "before SCRIPT; arguments after it go to the script.",
    )
    command.add_argument("script", metavar="SCRIPT", help="as in python SCRIPT")
    command.add_argument(
        "arguments",
        metavar="ARGS",
        nargs=argparse.REMAINDER,
        help="arguments of the script",
    )
    add = Options(command, "what to run")
    add("-m, --module", "SCRIPT is the name of a module, as in python -m")
    add(
        "--step FUNCTION",
        "import SCRIPT, not as __main__, and call its function of this name, without "
        "arguments, for each step",
    )
    add(
        "--steps N",
        "end the program after N steps, each up to the step() of its torch.profiler, "
        "else of its optimizer; 0: run to the end",
        count,
        3,
    )
    add = Options(command, "the simulated machine")
    add("--gpu NAME", "GPU model", default="H100 SXM")
    add(
        f"--values {{{','.join(get_args(Dial))}}}",
        "tensors whose values are computed; the others' are guessed; all: at CPU speed",
        default="small",
        choices=get_args(Dial),
    )
    add("--seed N", "seed of the guesses", count, 0)
    add(
        "--host-us T",
        "assumed host time per operator in microseconds: for the timeline and "
        "reports from it, not for the summary",
        time,
        10.0,
    )
    add("--max-ops N", "give up after N operators", count, 1_000_000)
    add(
        "--max-seconds S",
        "end the program after S seconds",
        time,
        600.0,
    )
    add(
        "--allow-writes",
        "let torch.save and safetensors write device values to files; by default "
        "they do not, because the values are guesses",
    )
    add = Options(command, "limits per step; exit code 1 if exceeded")
    add("--max-syncs N", "waits for the GPU", count)
    add("--max-launches N", "kernels", count)
    add(
        "--warmup N",
        "first steps, with all before them, that the limits ignore",
        count,
        1,
    )
    add = Options(command, "what to write (-: to standard output)")
    add("--json F", "write the result as JSON")
    add("--trace-out F", "write a simulated timeline, a trace for Perfetto")
    report_options(add, _REPORTS)
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    targets = [
        *targets_of(options, ["json"]),
        *targets_of(options, ["trace-out"], takes_stdout=False),
        *report_targets(options, _REPORTS).values(),
    ]
    refuse_unwritable(targets, [] if options.module else [options.script])
    if options.step is not None and (options.module or not options.steps):
        raise Refused("--step FUNCTION takes a file and --steps of 1 or more.")
    if not options.module and not os.path.exists(options.script):
        raise Refused(f"there is no script {options.script}. Check the path.")
    if not hasattr(os, "fork"):
        raise Refused(
            "a dry run of a script needs os.fork, which this system lacks. Call "
            "torchtraceap.dry_run() in the script."
        )
    from torchtraceap_dryrun.estimate.gpus import gpu
    from torchtraceap_dryrun.outcome import Outcome
    from torchtraceap_dryrun.script.child import run_dry
    from torchtraceap_dryrun.script.ended import Program

    try:
        the_gpu = gpu(options.gpu)
    except ValueError as error:
        raise Refused(str(error)) from error
    program = Program(
        options.script,
        options.arguments,
        options.module,
        options.step or "",
        options.steps,
        {
            name: getattr(options, name)
            for name in ("values", "seed", "gpu", "max_ops", "allow_writes")
        },
    )
    # What is written to standard output must be all that is there.
    to_stdout = "-" in [target.path for target in targets]
    record, ended = run_dry(program, options.max_seconds, to_stderr=to_stdout)
    try:
        return _tell(Outcome(record, the_gpu), ended, options, to_stdout)
    except KeyboardInterrupt:
        complain("interrupted before all results were printed and written")
        return INTERRUPTED


def _tell(
    run: Outcome, ended: Ended, options: argparse.Namespace, to_stdout: bool
) -> int:
    """Print and write the result, and check its limits; return the exit code. With
    ``to_stdout`` one of the files is standard output."""
    if ended.steps_by:
        run.record.notes.append(f"a step ends with {ended.steps_by}")
    if run.record.entries:
        if not (options.quiet or to_stdout):
            say(run.summary())
        _write(run, options)
    if ended.failure and sys.stderr is not None:
        print(encodable(ended.failure, sys.stderr.encoding), file=sys.stderr)
    if ended.remark:
        complain(ended.remark)
    if ended.interrupted:
        found = "the results cover the run until then"
        nothing = "nothing had been put on the GPU, so there are no results"
        complain(f"interrupted: {found if run.record.entries else nothing}")
        return INTERRUPTED
    if not ended.well:
        hint = _misplaced(options)
        raise Refused((ended.message or "the program failed, see above") + hint)
    if not run.record.entries:
        raise Refused(
            f"nothing in {options.script} would have run on a GPU. Does it move its "
            'model and data to "cuda"?'
        )
    return _judge(run, options)


def _write(run: Outcome, options: argparse.Namespace) -> None:
    """Write all files that were asked for. Raises Refused if one cannot be."""
    for target in targets_of(options, ["json"]):
        write(target, json_text(run.to_dict()))
    wanted, path = report_targets(options, _REPORTS), options.trace_out
    if not wanted and path is None:
        return
    with stage("simulating a timeline", options.quiet):
        trace = run.trace(host_us=options.host_us)
    if path is not None:
        from torchtraceap_dryrun.outcome import write_timeline

        with stage(f"writing {path}", options.quiet):
            try:
                write_timeline(path, trace)
            except ValueError as error:
                raise Refused(f"--trace-out {path}: {error}") from error
    if wanted:
        with stage("analyzing it", options.quiet):
            report = analyze(trace)
        for form, target in wanted.items():
            write_report(form, [report], target)


def _misplaced(options: argparse.Namespace) -> str:
    """Explain that the script received an option of this program, if it did."""
    own = {f"--{name.replace('_', '-')}" for name in vars(options)}
    for word in options.arguments:
        if word.split("=")[0] in own:
            return f". The script received {word}: put torchtraceap's options before it"
    return ""


def _judge(run: Outcome, options: argparse.Namespace) -> int:
    """Report the limits that the run breaks; return the exit code."""
    limits = (
        ("--max-syncs", options.max_syncs, "wait", "waits"),
        ("--max-launches", options.max_launches, "launch", "launches"),
    )
    given = [row for row in limits if row[1] is not None]
    steps = run.steps or (run.usual_step,)
    judged = range(options.warmup, len(steps))
    if given and not judged:
        raise Refused(
            f"the limits apply after {options.warmup} steps, but only {len(steps)} "
            "ran. Use more --steps, or less --warmup"
        )
    code = OK
    for option, limit, one, many in given:
        counts = [int(getattr(totals, many)) for totals in steps]
        worst = max(judged, key=counts.__getitem__)
        if counts[worst] > limit:
            lines = _lines(run, worst, many) if run.steps else ""
            complain(
                f"step {worst} has {counted(counts[worst], one, many)}, and {option} "
                f"{limit} was given{lines}"
            )
            code = BUDGET_BROKEN
    return code


def _lines(run: Outcome, step: int, name: str) -> str:
    """Name the lines with most of them."""
    by_line = run.by_line(step).items()
    counts = +Counter({line: int(getattr(totals, name)) for line, totals in by_line})
    most = counts.most_common(_MOST_LINES)
    shown = [f"{line or 'elsewhere'} ({count})" for line, count in most]
    more = f" and {len(counts) - len(most)} more" if len(counts) > len(most) else ""
    return ": " + ", ".join(shown) + more
