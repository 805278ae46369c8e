# SPDX-License-Identifier: BSD-3-Clause
"""train.py: the command ``torchtraceap train``."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchtraceap.base.errors import TrainingError, WeightsError
from torchtraceap.base.progress import somebody_watches
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.base.units import counted
from torchtraceap.cli.output import (
    BAD_INPUT,
    FAILURES,
    OK,
    Commands,
    between,
    complain,
    quiet_option,
    reason,
    say,
)
from torchtraceap.cli.targets import Target, are_fine
from torchtraceap.detection import CALIBRATED_FOR

if TYPE_CHECKING:
    from torchtraceap_train.loop import Progress
    from torchtraceap_train.traces import LearningTrace

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


def add(commands: Commands) -> None:
    """Add the command."""
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
    traces = command.add_argument_group("traces of your own")
    for name, what in (
        ("good", "traces of programs that are fine"),
        ("bad", "traces of programs that lose time somewhere"),
    ):
        traces.add_argument(
            f"--{name}",
            nargs="+",
            metavar="TRACE",
            default=[],
            action="extend",
            help=what,
        )
    traces.add_argument(
        "--pair",
        nargs=2,
        metavar=("SLOW", "FIXED"),
        default=[],
        action="append",
        help="two forms of one program",
    )
    traces.add_argument(
        "--labels",
        nargs="+",
        metavar="FILE",
        default=[],
        action="extend",
        help="review queues in which somebody answered cpu and gpu",
    )
    how = command.add_argument_group("how")
    how.add_argument("--out", metavar="FILE", required=True, help="weights to write")
    how.add_argument(
        "--from",
        dest="begin",
        metavar="FILE",
        help="weights to go on from: a file, `bundled` (the default for traces of your "
        "own alone) or `nothing` (the default with a training set)",
    )
    how.add_argument(
        "--steps",
        metavar="N",
        type=between(1, _MOST_STEPS),
        help="steps of the network's training",
    )
    how.add_argument(
        "--seed",
        metavar="N",
        type=between(0, _MOST_SEED),
        default=0,
        help="of weights and of what is drawn; default: 0",
    )
    how.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="written once a minute and on Ctrl-C; the same command goes on from it",
    )
    how.add_argument("--no-trees", action="store_true", help="the network alone")
    how.add_argument(
        "--device",
        metavar="NAME",
        default="cpu",
        help="as torch names it; default: cpu",
    )
    quiet_option(command)
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    own = [
        *options.good,
        *options.bad,
        *(path for pair in options.pair for path in pair),
    ]
    if not (options.sets or own or options.labels):
        return complain(
            "nothing to learn from: name a SET, or traces by --good and --bad, --pair "
            "or --labels."
        )
    from torchtraceap_train.own import read_answers

    try:
        answers = read_answers(options.labels)
        targets = [Target("out", options.out, takes_stdout=False)]
        if options.checkpoint is not None:
            targets.append(Target("checkpoint", options.checkpoint, takes_stdout=False))
        inputs = [*own, *options.labels, *answers, *_files_of(options.sets, targets)]
        if options.begin is not None:
            inputs.append(options.begin)
        if not are_fine(targets, inputs):
            return BAD_INPUT
        _train(options, answers)
    except BrokenPipeError:
        raise  # The reader has seen enough: that is for the program to end.
    except MemoryError:
        return complain(
            "the training does not fit into memory. Learn from fewer traces, or free "
            "some."
        )
    except OSError as error:
        return complain(reason(str(error.filename or options.out), error))
    except (ImportError, *FAILURES) as error:
        return complain(str(error))
    return OK


def _files_of(sets: Sequence[str], targets: Sequence[Target]) -> Iterator[str]:
    """Yield the files of training sets that a target may name."""
    for folder in sets:
        for name in ("set.json", "windows.npz", "labels.npz"):
            yield os.path.join(folder, name)
        for target in targets:
            yield os.path.join(folder, "tokens", os.path.basename(target.path))


def _train(options: argparse.Namespace, answers: dict[str, Any]) -> None:
    from torchtraceap.base.files import replacing
    from torchtraceap_train.own import OwnTraces
    from torchtraceap_train.recipe import begin_with, card_of, plan_for
    from torchtraceap_train.stacked import train_model
    from torchtraceap_train.traces import read_set

    begin = begin_with(options.begin, own=not options.sets)
    _check(options.device, begin)
    traces: list[LearningTrace] = []
    for folder in options.sets:
        traces += read_set(Path(folder))
    pairs = [(slow, fixed) for slow, fixed in options.pair]
    traces += OwnTraces(options.good, options.bad, pairs, answers).read()
    plan = plan_for(traces, options.steps, begin, trees=not options.no_trees)
    windows = sum(map(len, traces))
    if not options.quiet:
        _say(f"learning from {counted(len(traces), 'trace')}, {windows:,} windows")
    with _bar(options.quiet) as told:
        model = train_model(
            traces,
            plan,
            seed=options.seed,
            begin=begin,
            checkpoint=None if options.checkpoint is None else Path(options.checkpoint),
            device=options.device,
            card=card_of(traces, plan, options.seed, begin),
            told=told,
        )
    try:
        with replacing(options.out) as new:
            model.save(new)
    except (OSError, WeightsError) as error:
        why = getattr(error, "strerror", None) or "there may be no room"
        raise TrainingError(
            f"cannot write {options.out}: {why}. Give --out a file in a folder that "
            "exists, may be written to and has room."
        ) from error
    if not options.quiet:
        size = os.path.getsize(options.out) / 1e6
        _say(f"{options.out}: {size:.1f} MB. torchtraceap analyze --detector uses it.")
        if text := _what_is_not_flagged(model):
            _say(text)
        if CALIBRATED_FOR in model.card:
            _say(
                "Its thresholds are those of the weights that it was begun with: how "
                "many fine windows it flags has not been measured."
            )


def _check(device: str, begin: Path | None) -> None:
    """Say what is wrong with a device or with weights before traces are read."""
    module = load_torch_module()
    try:
        module.Network(module.Config(width=8, layers=0, trace_layers=0), device=device)
    except (ValueError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        raise TrainingError(
            f"--device {device}: {why}. Name another, or cpu."
        ) from error
    if begin is not None:
        module.Network.load(os.fspath(begin))


def _what_is_not_flagged(model: Any) -> str:
    """Return a sentence if thresholds are missing, which take windows to calibrate."""
    from torchtraceap.detection.detection import FALSE_ALARMS, SIDES

    sides = [
        name.upper()
        for side, name in enumerate(SIDES)
        if math.isinf(model.threshold(side, FALSE_ALARMS))
    ]
    if not sides:
        return ""
    return (
        f"It gives probabilities, but flags nothing of the {' and the '.join(sides)}: "
        f"that no more than {FALSE_ALARMS:.0%} of fine windows are flagged takes more "
        "labeled traces."
    )


def _say(text: str) -> None:
    say(text)
    if sys.stdout is not None:
        sys.stdout.flush()  # It takes hours, and somebody may read what is piped.


#: Where nobody watches, at most so many lines in a training.
_LINES = 20


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
    from tqdm import tqdm

    with tqdm(desc="training", unit="step") as bar:

        def show(progress: Progress) -> None:
            if bar.total is None:  # What a run before this one did took it no time.
                bar.total, bar.n, bar.initial = (progress.steps, *[progress.step] * 2)
            bar.set_postfix_str(_told(progress), refresh=False)
            bar.update(progress.step - bar.n)

        yield show


def _told(progress: Progress) -> str:
    losses = [f"{name} {value:.3f}" for name, value in progress.losses.items()]
    return ", ".join([*losses, f"{progress.windows_per_second:.0f} windows/s"])
