# SPDX-License-Identifier: BSD-3-Clause
"""train.py: the command ``torchtraceap train``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchtraceap.base.progress import bar, somebody_watches
from torchtraceap.cli.options import Options, number, quiet_option
from torchtraceap.cli.output import FAILURES, OK, Commands, Refused, reason, say
from torchtraceap.cli.targets import refuse_unwritable, targets_of

if TYPE_CHECKING:
    from torchtraceap_train.loop import Progress

EXAMPLES = (
    (
        "torchtraceap train build/corpus/compact --out detector.safetensors",
        "on a training set, from nothing",
    ),
    (
        "torchtraceap train --pair slow.json.gz fixed.json.gz --out mine.safetensors",
        "what is shipped, further on traces of your own",
    ),
    (
        "torchtraceap train --labels review.jsonl --out mine.safetensors",
        "on windows that you looked at (analyze --review)",
    ),
)
_MOST_STEPS, _MOST_SEED = 10**9, 2**31 - 1
_LINES = 20  # Where nobody watches, at most so many in a training.


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "train",
        help="train the detector, on a corpus or on traces of your own",
        description="Train the detector: from nothing on training sets, or further, "
        "on traces of your own that are good or bad as a whole, pairs of a slow "
        "program and its fixed form, or windows that you labeled. The same command "
        "with the same --checkpoint goes on where it was stopped.",
    )
    command.add_argument(
        "sets", nargs="*", metavar="SET", help="folder of a training set"
    )
    add = Options(command, "traces of your own")
    for usage, what in (
        ("--good TRACE", "traces of programs that are fine"),
        ("--bad TRACE", "traces of programs that lose time somewhere"),
        ("--labels FILE", "review queues in which somebody answered cpu and gpu"),
    ):
        add(usage, what, nargs="+", default=[], action="extend")
    add(
        "--pair SLOW FIXED",
        "two forms of one program",
        nargs=2,
        default=[],
        action="append",
    )
    add = Options(command, "how")
    add("--out FILE", "weights to write", required=True)
    add(
        "--from FILE",
        "weights to go on from: a file, `bundled` (the default for traces of your "
        "own alone) or `nothing` (the default with a training set)",
        dest="begin",
    )
    steps = number(int, f"number from 1 to {_MOST_STEPS}", 1, _MOST_STEPS)
    add("--steps N", "steps of the network's training", steps)
    seed = number(int, f"number from 0 to {_MOST_SEED}", 0, _MOST_SEED)
    add("--seed N", "of weights and of what is drawn", seed, 0)
    add(
        "--checkpoint FILE",
        "written once a minute and on Ctrl-C; the same command goes on from it",
    )
    add("--no-trees", "the network alone")
    add("--device NAME", "as torch names it", default="cpu")
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    traces = [*options.good, *options.bad, *(p for pair in options.pair for p in pair)]
    if not (options.sets or traces or options.labels):
        raise Refused(
            "nothing to learn from: name a SET, or traces by --good and --bad, --pair "
            "or --labels."
        )
    from torchtraceap_train.own import OwnTraces, read_answers
    from torchtraceap_train.training import train

    targets = targets_of(options, ["out", "checkpoint"], takes_stdout=False)
    names = ["set.json", "windows.npz", "labels.npz"]
    names += [f"tokens/{os.path.basename(target.path)}" for target in targets]
    of_sets = [os.path.join(folder, name) for folder in options.sets for name in names]
    begin = [] if options.begin is None else [options.begin]
    try:
        answers = read_answers(options.labels)
        inputs = [*traces, *options.labels, *answers, *of_sets, *begin]
        refuse_unwritable(targets, inputs)
        pairs = [(slow, fixed) for slow, fixed in options.pair]
        with _bar(options.quiet) as told:
            train(
                options.sets,
                OwnTraces(options.good, options.bad, pairs, answers),
                options.out,
                begin=options.begin,
                steps=options.steps,
                seed=options.seed,
                checkpoint=options.checkpoint,
                trees=not options.no_trees,
                device=options.device,
                said=(lambda text: None) if options.quiet else _say,
                told=told,
            )
    except BrokenPipeError:
        raise  # The reader has seen enough: that is for the program to end.
    except MemoryError as error:
        raise Refused(
            "the training does not fit into memory. Learn from fewer traces, or free "
            "some."
        ) from error
    except OSError as error:
        path = str(error.filename or options.out)
        raise Refused(reason(path, error)) from error
    except (ImportError, *FAILURES) as error:
        raise Refused(str(error)) from error
    return OK


def _say(text: str) -> None:
    say(text)
    if sys.stdout is not None:
        sys.stdout.flush()  # It takes hours, and somebody may read what is piped.


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Yield what shows progress: a bar on a terminal, else some lines."""
    if quiet:
        yield lambda progress: None
        return
    if not somebody_watches():
        shown = -1

        def line(progress: Progress) -> None:
            nonlocal shown
            part = (_LINES - 1) * progress.step // progress.steps
            if part > shown:
                shown = part
                _say(f"step {progress.step:,} of {progress.steps:,}: {_told(progress)}")

        yield line
        return
    with bar("training", stays=True) as draw:
        yield lambda progress: draw(progress.step / progress.steps, _told(progress))


def _told(progress: Progress) -> str:
    losses = [f"{name} {value:.3f}" for name, value in progress.losses.items()]
    return ", ".join([*losses, f"{progress.windows_per_second:.0f} windows/s"])
