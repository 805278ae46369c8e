# SPDX-License-Identifier: BSD-3-Clause
"""what_if.py: the command ``torchtraceap whatif``."""

from __future__ import annotations

import argparse
import os
from typing import Any

from torchtraceap import edits
from torchtraceap.analysis import analyze, load
from torchtraceap.analysis_plan import of_torch
from torchtraceap.cli.options import Options, analysis_parsers, quiet_option
from torchtraceap.cli.output import OK, Commands, about, say, stage
from torchtraceap.cli.targets import (
    prints_summary,
    refuse_unwritable,
    targets_of,
    write,
)
from torchtraceap.edits import Edit
from torchtraceap.replaying import what_if
from torchtraceap.views.json_form import json_text

# Option, what makes the edit, help.
_EDITS: list[tuple[str, Any, str]] = [
    (
        "--drop WHAT",
        edits.fix,
        "fix findings: a pattern, a place (train.py:88) or an id",
    ),
    ("--hide NAME", edits.hide, "host events take no time"),
    ("--drop-waits NAME", edits.drop_waits, "calls wait for nothing"),
    ("--pin NAME", edits.pin, "copies are pinned and asynchronous"),
    ("--capture NAME", edits.capture, "launches inside become one"),
    ("--fuse NAME", edits.fuse, "kernels launched inside become one"),
    (
        "--multi-tensor NAME",
        edits.multi_tensor,
        "kernels of one name launched inside become one, as with foreach=True",
    ),
    ("--bucket NAME", edits.bucket, "collectives after each other become one"),
    ("--drop-work NAME", edits.drop_work, "device work is not done"),
    ("--overlap NAME", edits.overlap, "device work waits for no other stream"),
]

EXAMPLES = (
    ("torchtraceap whatif trace.json.gz", "how close a replay is to the recording"),
    ("torchtraceap whatif trace.json.gz --drop sync_stall", "without a pattern"),
    ("torchtraceap whatif trace.json.gz --drop train.py:88", "with a line fixed"),
    (
        "torchtraceap whatif trace.json.gz --scale '*gemm*=0.5' --trace-out fast.json",
        "with kernels twice as fast, and a timeline for Perfetto",
    ),
)


def add(commands: Commands) -> None:
    """Add the command, with an option for each edit."""
    command = commands.add_parser(
        "whatif",
        parents=analysis_parsers(),
        help="replay a trace with changes, and report their gain",
        description="Replay a trace unchanged, or with one or more changes.",
    )
    command.add_argument("trace", metavar="TRACE", help=".json[.gz] or .pftrace[.gz]")
    add = Options(command)
    for option, make, text in _EDITS:
        any_name = "; * in a NAME matches any text" * option.endswith(" NAME")
        add(option, text + any_name, make, action="append", dest="edits")
    add(
        "--scale NAME=FACTOR",
        "device work takes FACTOR (0 to 1) of its time",
        _scaled,
        action="append",
        dest="edits",
    )
    add("--json F", "write the result to F (-: to standard output)")
    add("--trace-out F", "write the changed timeline to F, a trace for Perfetto")
    quiet_option(command)
    command.set_defaults(edits=[])


def run(options: argparse.Namespace) -> int:
    results = targets_of(options, ["json"])
    timelines = targets_of(options, ["trace-out"], takes_stdout=False)
    refuse_unwritable([*results, *timelines], [options.trace])
    name = os.path.basename(options.trace)
    with about(options.trace):
        trace = load(options.trace, **options.loading)
        with stage(f"analyzing {name}", options.quiet):
            report = of_torch(analyze(trace, **options.analysis))
        with stage(f"replaying {name}", options.quiet):
            result = what_if(report, *options.edits)
        for target in timelines:
            with stage(f"writing {target.path}", options.quiet):
                result.to_trace(target.path)
    if prints_summary(options, results):
        say(result.summary())
    for target in results:
        write(target, json_text(result.to_dict()))
    return OK


def _scaled(text: str) -> Edit:
    name, equals, factor = text.rpartition("=")
    try:
        if not equals or not name:
            raise ValueError
        return edits.scale(name, float(factor))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=FACTOR with a factor from 0 to 1"
        ) from None
