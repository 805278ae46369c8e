# SPDX-License-Identifier: BSD-3-Clause
"""dryrun_limits.py: what steps of a dry run are held against, for exit code 1."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchtraceap.cli.numbers import count
from torchtraceap.units import counted

if TYPE_CHECKING:
    from torchtraceap.dryrun.estimate.totals import Totals
    from torchtraceap.dryrun.result import Result

_MOST_LINES = 5


@dataclass(frozen=True)
class Broken:
    """Limits that a run does not keep, a sentence each."""

    texts: tuple[str, ...] = ()
    untold: bool = False  #: It cannot be told whether it keeps them.


def limit_options(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = command.add_argument_group("limits of a step, for exit code 1")
    group.add_argument("--max-syncs", metavar="N", type=count, help="waits for the GPU")
    group.add_argument("--max-launches", metavar="N", type=count, help="kernels")
    group.add_argument(
        "--warmup",
        metavar="N",
        type=count,
        default=1,
        help="steps that the limits do not hold for, the first ones, with what comes "
        "before them (default: 1)",
    )


def broken_limits(run: Result, options: argparse.Namespace) -> Broken:
    """Return which limits the run does not keep."""
    limits = (options.max_syncs, options.max_launches)
    if limits == (None, None):
        return Broken()
    steps = run.steps or (run.usual_step,)
    judged = dict(list(enumerate(steps))[options.warmup :])
    if not judged:
        return Broken(
            (
                f"the limits hold after {options.warmup} steps, and there were no more "
                f"than {len(steps)}. Take more --steps, or less --warmup",
            ),
            untold=True,
        )
    texts = []
    for option, limit, one, name in (
        ("--max-syncs", options.max_syncs, "wait", "waits"),
        ("--max-launches", options.max_launches, "launch", "launches"),
    ):
        worst = max(judged, key=lambda step: _count_of(judged[step], name))
        most = _count_of(judged[worst], name)
        if limit is not None and most > limit:
            lines = _lines(run, worst, name) if run.steps else ""
            texts.append(
                f"step {worst} has {counted(most, one, name)}, and {option} {limit} "
                f"was given{lines}"
            )
    return Broken(tuple(texts))


def _count_of(totals: Totals, name: str) -> int:
    return int(getattr(totals, name))


def _lines(run: Result, step: int, name: str) -> str:
    """Name the lines that most of it is at."""
    found = {
        line: many
        for line, totals in run.by_line(step).items()
        if (many := _count_of(totals, name))
    }
    lines = sorted(found, key=lambda line: -found[line])
    shown = [f"{line or 'elsewhere'} ({found[line]})" for line in lines[:_MOST_LINES]]
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return ": " + ", ".join(shown) + more
