# SPDX-License-Identifier: BSD-3-Clause
"""inspect.py: the command ``torchtraceap inspect``."""

from __future__ import annotations

import argparse

from torchtraceap.analysis import load
from torchtraceap.cli.options import Options, loading_parser
from torchtraceap.cli.output import OK, Commands, about, say
from torchtraceap.views.json_form import json_text

EXAMPLES = (
    ("torchtraceap inspect trace.json.gz", "the contents of the file, and anomalies"),
    ("torchtraceap inspect cut.json --recover", "the intact part of a damaged file"),
    ("torchtraceap inspect trace.json.gz --json | jq .categories", "for a program"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "inspect",
        parents=[loading_parser()],
        help="list the contents of a trace and its anomalies",
    )
    command.add_argument("trace", metavar="TRACE", help=".json[.gz] or .pftrace[.gz]")
    Options(command)("--json", "print one JSON object in one line")


def run(options: argparse.Namespace) -> int:
    from torchtraceap.views.inspection import inspect_trace, inspection_text

    with about(options.trace):
        facts = inspect_trace(load(options.trace, **options.loading))
    say(json_text(facts, indent=None) if options.json else inspection_text(facts))
    return OK
