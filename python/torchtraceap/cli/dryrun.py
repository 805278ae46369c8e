# SPDX-License-Identifier: BSD-3-Clause
"""dryrun.py: the command ``torchtraceap dryrun``."""

from __future__ import annotations

import argparse
import os

from torchtraceap.cli.dryrun_options import dryrun_options
from torchtraceap.cli.dryrun_results import REPORTS, tell
from torchtraceap.cli.output import BAD_INPUT, Commands, complain
from torchtraceap.cli.report_files import report_targets, wanted_outputs
from torchtraceap.cli.targets import Target, are_fine

EXAMPLES = (
    ("torchtraceap dryrun train.py --epochs 1", "three steps of python train.py ..."),
    ("torchtraceap dryrun --steps 10 --gpu A100 train.py", "ten, as if on an A100"),
    ("torchtraceap dryrun --step train_step train.py", "only a function, three times"),
    ("torchtraceap dryrun --max-syncs 0 train.py", "exit code 1 if a step waits"),
    ("torchtraceap dryrun -q --json found.json -m pkg.train", "python -m, to a file"),
)


def add(commands: Commands) -> None:
    """Add the command."""
    command = commands.add_parser(
        "dryrun",
        help="run a script as if on a GPU, without one; say where it waits for it",
        description="Run a PyTorch script on a machine without a GPU as if there were "
        "one: say which lines wait for it, and what a step launches. Options stand "
        "before SCRIPT; all that follows it is the script's own.",
    )
    dryrun_options(command, REPORTS)
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    targets = [
        Target(option, path, takes_stdout=option == "json")
        for option in ("json", "trace-out")
        if (path := getattr(options, option.replace("-", "_"))) is not None
    ]
    targets += report_targets(wanted_outputs(options, REPORTS))
    if not are_fine(targets, [] if options.module else [options.script]):
        return BAD_INPUT
    if options.step is not None and (options.module or not options.steps):
        return complain("--step FUNCTION takes a file and --steps of 1 or more.")
    if not options.module and not os.path.exists(options.script):
        return complain(f"there is no {options.script} to run. Check the path.")
    to_stdout = "-" in [target.path for target in targets]
    if not hasattr(os, "fork"):
        return complain(
            "a program cannot be run dry on this system, which has no os.fork. Use "
            "torchtraceap.dry_run() in it."
        )
    from torchtraceap.dryrun.estimate.gpus import gpu
    from torchtraceap.dryrun.result import Result
    from torchtraceap.dryrun.script.child import run_dry
    from torchtraceap.dryrun.script.ended import Program

    try:
        the_gpu = gpu(options.gpu)
    except ValueError as error:
        return complain(str(error))
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
    record, ended = run_dry(program, options.max_seconds, to_stderr=to_stdout)
    return tell(Result(record, the_gpu), ended, options, to_stdout)
