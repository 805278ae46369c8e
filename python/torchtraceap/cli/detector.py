# SPDX-License-Identifier: BSD-3-Clause
"""detector.py: the options that say which learned detector is asked."""

from __future__ import annotations

import argparse

from torchtraceap.cli.stages import stage
from torchtraceap.detection.wish import AUTO, OFF


def detector_options(command: argparse.ArgumentParser) -> None:
    """Add ``--detector`` and ``--no-detector``."""
    group = command.add_argument_group("the learned detector, beside the rules")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--detector",
        metavar="FILE",
        default=AUTO,
        help="the weights to ask; auto, the default: those of torchtraceap where torch "
        "is installed, which takes about a second to load; off: none",
    )
    which.add_argument(
        "--no-detector",
        dest="detector",
        action="store_const",
        const=OFF,
        help="rules only, as --detector off",
    )


def detector_of(options: argparse.Namespace) -> str:
    """Return what a command was given; weights that were named are loaded.

    Raises ValueError for what ``analyze`` would not take.
    """
    wish: str = options.detector
    if wish not in (AUTO, OFF, ""):
        from torchtraceap.detection.model import load_named

        with stage("loading torch and the weights", getattr(options, "quiet", False)):
            load_named(wish)
    elif not wish:
        raise ValueError("name a file of weights, auto or off")
    return wish
