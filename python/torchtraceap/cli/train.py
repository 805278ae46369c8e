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
        "on a training set, from scratch",
    ),
    (
        "torchtraceap train --pair slow.json.gz fixed.json.gz --out mine.safetensors",
        "the bundled weights, fine-tuned on your own traces",
    ),
    (
        "torchtraceap train --labels review.jsonl --out mine.safetensors",
        "on windows that you reviewed (analyze --review)",
    ),
)
_MOST_STEPS, _MOST_SEED = 10**9, 2**31 - 1
_LINES = 20  # Without a terminal, the most lines of a training.


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "train",
        help="train the detector, on a corpus or on your own traces",
        description="Train the detector: from scratch on training sets, or "
        "fine-tune it on your own traces that are good or bad as a whole, pairs of a "
        "slow program and its fixed version, or windows that you labeled. The same "
        "command with the same --checkpoint resumes.",
    )
    command.add_argument(
        "sets", nargs="*", metavar="SET", help="folder of a training set"
    )
    add = Options(command, "your own traces")
    for usage, what in (
        ("--good TRACE", "traces of efficient programs"),
        ("--bad TRACE", "traces of programs that waste time somewhere"),
        ("--labels FILE", "review queues with cpu and gpu filled in"),
    ):
        add(usage, what, nargs="+", default=[], action="extend")
    add(
        "--pair SLOW FIXED",
        "two versions of one program",
        nargs=2,
        default=[],
        action="append",
    )
    add = Options(command, "how")
    add("--out FILE", "weights to write", required=True)
    add(
        "--from FILE",
        "weights to start from: a file, `bundled` (the default for only your own "
        "traces) or `nothing` (the default with a training set)",
        dest="begin",
    )
    steps = number(int, f"number from 1 to {_MOST_STEPS}", 1, _MOST_STEPS)
    add("--steps N", "training steps of the network", steps)
    seed = number(int, f"number from 0 to {_MOST_SEED}", 0, _MOST_SEED)
    add("--seed N", "seed of weights and samples", seed, 0)
    add(
        "--checkpoint FILE",
        "written once a minute and on Ctrl-C; the same command resumes from it",
    )
    add("--no-trees", "only the network")
    add("--device NAME", "torch device", default="cpu")
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    traces = [*options.good, *options.bad, *(p for pair in options.pair for p in pair)]
    if not (options.sets or traces or options.labels):
        raise Refused(
            "no training data: name a SET, or traces with --good and --bad, --pair or "
            "--labels."
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
            "the training does not fit into memory. Use fewer traces, or free memory."
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
