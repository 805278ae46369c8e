# SPDX-License-Identifier: BSD-3-Clause
"""cli_what_if.py: the command ``torchtraceap whatif``."""

from __future__ import annotations

import argparse
from typing import Any

from torchtraceap import edits
from torchtraceap.edits import Edit

# Option, metavar, what makes the edit, help.
_EDITS: list[tuple[str, str, Any, str]] = [
    (
        "--drop",
        "WHAT",
        edits.fix,
        "fix findings: a pattern, a place (train.py:88) or an id",
    ),
    ("--hide", "NAME", edits.hide, "host events take no time"),
    ("--drop-waits", "NAME", edits.drop_waits, "calls wait for nothing"),
    ("--pin", "NAME", edits.pin, "copies are pinned and asynchronous"),
    ("--capture", "NAME", edits.capture, "launches inside become one"),
    ("--fuse", "NAME", edits.fuse, "kernels launched inside become one"),
    (
        "--multi-tensor",
        "NAME",
        edits.multi_tensor,
        "kernels of one name launched inside become one, as with foreach=True",
    ),
    ("--bucket", "NAME", edits.bucket, "collectives after each other become one"),
    ("--drop-work", "NAME", edits.drop_work, "device work is not done"),
    ("--overlap", "NAME", edits.overlap, "device work waits for no other stream"),
]


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the trace, the edits and the output to a parser."""
    command.add_argument("trace", metavar="TRACE", help=".json or .json.gz")
    for option, metavar, make, text in _EDITS:
        command.add_argument(
            option,
            metavar=metavar,
            action="append",
            dest="edits",
            type=make,
            help=text + "; * in a NAME stands for any text"
            if metavar == "NAME"
            else text,
        )
    command.add_argument(
        "--scale",
        metavar="NAME=FACTOR",
        action="append",
        dest="edits",
        type=_scaled,
        help="device work takes FACTOR (0 to 1) of its time",
    )
    command.add_argument(
        "--json", metavar="F", help="write the result to F (-: to standard output)"
    )
    command.add_argument(
        "--trace-out",
        metavar="F",
        help="write the changed timeline to F, a trace that Perfetto opens",
    )
    command.set_defaults(edits=[])


def _scaled(text: str) -> Edit:
    name, equals, factor = text.rpartition("=")
    try:
        if not equals or not name:
            raise ValueError
        return edits.scale(name, float(factor))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no NAME=FACTOR with a factor from 0 to 1"
        ) from None
