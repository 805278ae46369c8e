# SPDX-License-Identifier: BSD-3-Clause
"""dryrun_options.py: the options of ``torchtraceap dryrun``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import get_args

from torchtraceap.cli.dryrun_limits import limit_options
from torchtraceap.cli.numbers import count, time
from torchtraceap.cli.output import quiet_option
from torchtraceap.cli.report_files import report_options
from torchtraceap.dryrun.record import Dial
from torchtraceap.outputs import Output


def dryrun_options(command: argparse.ArgumentParser, outputs: Iterable[Output]) -> None:
    """Add all of them; ``outputs`` are forms of a report."""
    command.add_argument("script", metavar="SCRIPT", help="as of python SCRIPT")
    command.add_argument(
        "arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="of the script"
    )
    group = command.add_argument_group("what to run")
    group.add_argument(
        "-m",
        "--module",
        action="store_true",
        help="SCRIPT is the name of a module, as of python -m",
    )
    group.add_argument(
        "--step",
        metavar="FUNCTION",
        help="import SCRIPT, not as __main__, and call this function of it for each "
        "step; it takes no arguments",
    )
    group.add_argument(
        "--steps",
        metavar="N",
        type=count,
        default=3,
        help="end the program after N steps (default: 3; 0: let it run to its end). A "
        "step ends with the step() of its torch.profiler, else with that of its "
        "optimizer",
    )
    group = command.add_argument_group("as if on what")
    group.add_argument(
        "--gpu", metavar="NAME", default="H100 SXM", help="GPU (default: %(default)s)"
    )
    group.add_argument(
        "--values",
        choices=get_args(Dial),
        default="small",
        help="of which tensors values are worked out, the others' are guessed "
        "(default: %(default)s; all: at the speed of the CPU)",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=count,
        default=0,
        help="of what is guessed (default: %(default)s)",
    )
    group.add_argument(
        "--host-us",
        metavar="T",
        type=time,
        default=10.0,
        help="microseconds that the host is taken to need for an operator: for the "
        "timeline and what is made of it, not for the summary (default: 10)",
    )
    group.add_argument(
        "--max-ops",
        metavar="N",
        type=count,
        default=1_000_000,
        help="give up after N operators (default: %(default)s)",
    )
    group.add_argument(
        "--max-seconds",
        metavar="S",
        type=time,
        default=600.0,
        help="end the program after S seconds (default: 600), whatever it does",
    )
    group.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the program's torch.save and safetensors write values of the device "
        "to files: they are guesses, so that is left out otherwise",
    )
    limit_options(command)
    group = command.add_argument_group("what to write (-: to standard output)")
    group.add_argument("--json", metavar="F", help="write what was found")
    group.add_argument(
        "--trace-out",
        metavar="F",
        help="write a simulated timeline, a trace that Perfetto opens",
    )
    report_options(group, outputs)
    quiet_option(command)
