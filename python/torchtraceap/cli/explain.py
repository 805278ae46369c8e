# SPDX-License-Identifier: BSD-3-Clause
"""explain.py: the command ``torchtraceap explain``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from torchtraceap.analysis import analyze, load
from torchtraceap.analysis_plan import of_torch
from torchtraceap.cli.options import analysis_parsers, count, number, quiet_option, time
from torchtraceap.cli.output import (
    BAD_INPUT,
    OK,
    Commands,
    Refused,
    about,
    complain,
    say,
    stage,
)
from torchtraceap.cli.targets import refuse_unwritable, targets_of, write
from torchtraceap.data.wish import AUTO, OFF
from torchtraceap.explain.digest import LEAST_TOKENS, TOKENS
from torchtraceap.explain.explaining import KEY_VARIABLE
from torchtraceap.explain.explanation import Explanations, explanation_text, usage_text
from torchtraceap.explain.messages import requests_text
from torchtraceap.report import Report
from torchtraceap.views.json_form import json_text

EXAMPLES = (
    ("torchtraceap explain trace.json.gz", "the first findings, and how to fix them"),
    (
        "torchtraceap explain trace.json.gz --dry-run",
        "what a language model would be shown; nothing is sent",
    ),
    (
        "torchtraceap explain trace.json.gz "
        "--llm http://127.0.0.1:8080/v1 --model qwen3",
        "a second opinion beside it",
    ),
)
#: Options that say something of the model only.
_OF_THE_MODEL = ("timeout_s", "retries", "parallel", "usd_per_million", "cache")
_FORMS = ("json", "html", "labels")


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "explain",
        parents=analysis_parsers(),
        help="say of findings what happens, why it costs, and the fix as code; on "
        "request with a language model's second opinion",
    )
    command.add_argument("trace", metavar="TRACE", help=".json or .json.gz")
    group = command.add_argument_group("what to explain")
    group.add_argument(
        "--top",
        metavar="N",
        type=count,
        default=3,
        help="the first N findings (default: 3)",
    )
    group.add_argument(
        "--finding",
        metavar="ID",
        action="append",
        help="this finding, by its id in the JSON form, instead; may be repeated",
    )
    group.add_argument(
        "--windows",
        metavar="N",
        type=count,
        default=0,
        help="besides, N windows that rules or detector flag",
    )
    group.add_argument(
        "--no-detector",
        dest="detector",
        action="store_const",
        const=OFF,
        default=AUTO,
        help="do not ask the learned detector",
    )
    _model_options(command)
    group = command.add_argument_group("what to write (-: to standard output)")
    group.add_argument("--json", metavar="F", help="write the explanations")
    group.add_argument("--html", metavar="F", help="write the report, with opinions")
    group.add_argument(
        "--labels",
        metavar="F",
        help="write what the model says of windows, for torchtraceap train --labels",
    )
    quiet_option(command)


def _model_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "a language model's second opinion (docs/explain.md)",
        f"The key is read from the environment, {KEY_VARIABLE}.",
    )
    group.add_argument(
        "--llm", metavar="URL", help="OpenAI-compatible endpoint, such as …:8080/v1"
    )
    group.add_argument("--model", metavar="NAME", help="the model's name there")
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be sent, and send nothing",
    )
    group.add_argument(
        "--source",
        action="store_true",
        help="show the model up to five lines of source around each finding",
    )
    group.add_argument(
        "--tokens",
        metavar="N",
        type=number(int, f"number from {LEAST_TOKENS} up", LEAST_TOKENS),
        default=TOKENS,
        help=f"tokens of the facts of a finding (default: {TOKENS})",
    )
    group.add_argument(
        "--parallel",
        metavar="N",
        type=number(int, "number from 1 to 32", 1, 32),
        help="findings that are asked about at the same time (default: 4)",
    )
    group.add_argument(
        "--timeout",
        metavar="S",
        dest="timeout_s",
        type=time,
        help="seconds for an answer (default: 60)",
    )
    group.add_argument(
        "--retries",
        metavar="N",
        type=number(int, "number from 0 to 10", 0, 10),
        help="how often to ask again after an error that may pass (default: 2)",
    )
    group.add_argument(
        "--price",
        metavar="IN,OUT",
        dest="usd_per_million",
        type=_prices,
        help="US dollars for a million tokens, to say what it cost",
    )
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--cache", metavar="DIR", help="keep answers here, not in the user's cache"
    )
    which.add_argument(
        "--no-cache",
        dest="cache",
        action="store_const",
        const=False,
        help="keep no answer, and use none that was kept",
    )


def _prices(text: str) -> tuple[float, float]:
    try:
        into, out = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no two prices, as in 0.15,0.6"
        ) from None
    return into, out


def run(options: argparse.Namespace) -> int:
    _check(options)
    targets = targets_of(options, _FORMS)
    refuse_unwritable(targets, [options.trace])
    with about(options.trace):
        report = _report(options)
    asked: dict[str, Any] = {"llm": options.llm, "model": options.model}
    asked |= {
        name: value
        for name in _OF_THE_MODEL
        if (value := getattr(options, name)) is not None
    }
    if options.dry_run:
        asked = {}
    elif options.llm is not None:
        asked["progress"] = _progress(options.quiet)
    what = options.top if options.finding is None else options.finding
    try:
        made = report.explain(
            what,
            windows=options.windows,
            source=options.source,
            tokens=options.tokens,
            **asked,
        )
    except (ValueError, ImportError) as error:
        raise Refused(str(error)) from error
    if options.dry_run:
        say(_preview(made, options.model))
        return OK
    if not options.quiet and all(target.path != "-" for target in targets):
        say(_told(report, made))
    forms: dict[str, Callable[[], str]] = {
        "json": lambda: json_text([one.to_dict() for one in made]),
        "html": report.to_html,
        "labels": lambda: "\n".join(
            json_text(line, indent=None) for line in report.pseudo_labels()
        ),
    }
    for target in targets:
        write(target, forms[target.option]())
    return _ended(made)


def _check(options: argparse.Namespace) -> None:
    """Refuse options of a model where none is asked, before any work."""
    if options.llm is not None:
        return
    given = [name for name in _OF_THE_MODEL if getattr(options, name) is not None]
    if not options.dry_run and (given or options.model or options.labels):
        raise Refused("that needs a model: name one by --llm URL --model NAME")


def _report(options: argparse.Namespace) -> Report:
    trace = load(options.trace, **options.loading)
    with stage("analyzing", options.quiet):
        report = of_torch(analyze(trace, **options.analysis, detector=options.detector))
        _ = report.findings
    return report


def _preview(made: Explanations, model: str | None) -> str:
    blocks = []
    for one in made:
        text = requests_text(one.digest, model or "MODEL")
        taken = ", ".join(f"{kind} ×{count}" for kind, count in one.digest.masked)
        masked = f"Taken out of names and source: {taken or 'nothing'}."
        blocks.append(f"##### {one.subject}\n{text}\n{masked}")
    return "\n\n".join(blocks) or "No findings: nothing would be sent."


def _told(report: Report, made: Explanations) -> str:
    if not made:
        from torchtraceap.views.finding_text import why_none

        return f"Findings: {why_none(report)}"
    texts = [*map(explanation_text, made), usage_text(made.usage)]
    return "\n".join(text for text in texts if text)


def _progress(quiet: bool) -> Callable[[int, int], object] | None:
    from torchtraceap.base.progress import somebody_watches

    if quiet or not somebody_watches():
        return None

    def show(done: int, of: int) -> None:
        end = "\r" if done < of else "\n"
        print(f"asked about {done} of {of}", end=end, file=sys.stderr, flush=True)

    return show


def _ended(made: Explanations) -> int:
    """Say what the model did not answer; only if it answered nothing at all that was
    bad input."""
    opinions = [one.opinion for one in made if one.opinion]
    failed = [opinion for opinion in opinions if opinion.failure]
    for why in dict.fromkeys(opinion.why for opinion in failed):
        complain(why)
    return BAD_INPUT if failed and len(failed) == len(opinions) else OK
