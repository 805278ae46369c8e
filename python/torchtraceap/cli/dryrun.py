# SPDX-License-Identifier: BSD-3-Clause
"""dryrun.py: the command ``torchtraceap dryrun``."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING

from torchtraceap.cli.dryrun_options import dryrun_options
from torchtraceap.cli.dryrun_results import REPORTS, tell
from torchtraceap.cli.left_threads import end_at_once, forgotten_by
from torchtraceap.cli.output import BAD_INPUT, Commands, complain
from torchtraceap.cli.report_files import report_targets, wanted_outputs
from torchtraceap.cli.targets import Target, are_fine
from torchtraceap.errors import DryRunError

if TYPE_CHECKING:
    from torchtraceap.dryrun.dry_run import DryRun
    from torchtraceap.dryrun.script.as_program import Ended, GiveUp

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
    try:
        from torchtraceap.dryrun.dry_run import dry_run
        from torchtraceap.dryrun.script.as_program import Ended
    except ImportError as error:
        return complain(f"a dry run needs torch, which cannot be imported: {error}")
    try:
        run = dry_run(
            values=options.values,
            seed=options.seed,
            gpu=options.gpu,
            max_ops=options.max_ops,
            max_seconds=options.max_seconds,
            allow_writes=options.allow_writes,
        )
    except (DryRunError, ValueError) as error:
        return complain(str(error))
    older = threading.enumerate()
    stdout = sys.stdout

    def give_up(ended: Ended) -> None:
        sys.stdout = stdout
        end_at_once(lambda: tell(run, ended, options, to_stdout))

    try:
        # What is written to standard output must be all that is there.
        with run, redirect_stdout(sys.stderr) if to_stdout else nullcontext():
            ended = _program(run, options, give_up)
    except KeyboardInterrupt:  # While the run ends.
        run.record.interrupted = True
        ended = Ended(interrupted=True, cut_short=True)
    except (DryRunError, ValueError) as error:
        return complain(str(error))
    if ended.cut_short:
        forgotten_by(older)
    return tell(run, ended, options, to_stdout)


def _program(run: DryRun, options: argparse.Namespace, give_up: GiveUp) -> Ended:
    from torchtraceap.dryrun.script.script import run_function, run_module, run_script

    path, arguments, steps = options.script, options.arguments, options.steps
    if options.step is not None:
        return run_function(run, path, options.step, arguments, steps, give_up)
    run_it = run_module if options.module else run_script
    return run_it(run, path, arguments, steps, give_up)
