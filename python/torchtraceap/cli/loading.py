# SPDX-License-Identifier: BSD-3-Clause
"""loading.py: the options of loading, the same for every command of the program."""

from __future__ import annotations

import argparse

from torchtraceap.load_options import LoadOptions, plan_load


def loading_parser() -> argparse.ArgumentParser:
    """Return a parent for the parsers of commands that load traces."""
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("what to load, and how")
    group.add_argument(
        "--recover",
        action="store_true",
        help="read what is sound of a damaged file and count the rest",
    )
    group.add_argument(
        "--step",
        metavar="A[:B]",
        dest="steps",
        type=_steps,
        help="only the time of ProfilerStep#A (to #B), on host and devices",
    )
    group.add_argument(
        "--skip-category",
        metavar="NAME",
        dest="skip_categories",
        action="append",
        help="leave out events of this category, such as python_function; "
        "may be given several times",
    )
    group.add_argument(
        "--max-text-bytes",
        metavar="N",
        type=int,
        help="refuse gzip that inflates to more bytes",
    )
    group.add_argument(
        "--max-ratio",
        metavar="R",
        type=float,
        help="refuse gzip that inflates to more than R times its size",
    )
    group.add_argument(
        "--threads", metavar="N", type=int, help="read with N threads, for speed only"
    )
    return parser


def loading_options(options: argparse.Namespace) -> LoadOptions:
    """Return what a command was given, for ``load`` and ``analyze``.

    Raises ValueError for what neither would take.
    """
    loading = LoadOptions(
        recover=options.recover,
        steps=options.steps,
        skip_categories=options.skip_categories,
        max_text_bytes=options.max_text_bytes,
        max_ratio=options.max_ratio,
        threads=options.threads,
        progress=False if getattr(options, "quiet", False) else None,
    )
    plan_load(**loading)
    return loading


def _steps(text: str) -> int | tuple[int, int]:
    first, colon, last = text.partition(":")
    if not first.isdecimal() or (colon and not last.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no step, as in 5, and no first and last one, as in 3:7"
        )
    return (int(first), int(last)) if colon else int(first)
