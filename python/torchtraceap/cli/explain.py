# SPDX-License-Identifier: BSD-3-Clause
"""explain.py: the command ``torchtraceap explain``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torchtraceap.analysis import analyze, load
from torchtraceap.analysis_plan import of_torch
from torchtraceap.base.progress import bar, somebody_watches
from torchtraceap.cli.options import (
    Options,
    analysis_parsers,
    count,
    number,
    quiet_option,
    time,
)
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
from torchtraceap.data.detector_choice import AUTO, OFF
from torchtraceap.explain.digest import LEAST_TOKENS, TOKENS
from torchtraceap.explain.explaining import endpoint_of
from torchtraceap.explain.explanation import Explanations, explanation_text, usage_text
from torchtraceap.explain.model.endpoint import KEY_VARIABLE
from torchtraceap.explain.model.messages import MAY_CHANGE, requests_text
from torchtraceap.report import Report
from torchtraceap.views.finding_text import why_none
from torchtraceap.views.json_form import json_text

EXAMPLES = (
    ("torchtraceap explain trace.json.gz", "the first findings, and how to fix them"),
    (
        "torchtraceap explain trace.json.gz --dry-run",
        "the requests to a language model, without sending them",
    ),
    (
        "torchtraceap explain trace.json.gz "
        "--llm http://127.0.0.1:8080/v1 --model qwen3",
        "with a second opinion",
    ),
)
#: Options that say something of the model only: of its endpoint, and beside it.
_OF_THE_ENDPOINT = ("timeout_s", "retries", "parallel")
_OF_THE_MODEL = (*_OF_THE_ENDPOINT, "key_env", "model", "labels")
_FORMS = ("json", "html", "labels")


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "explain",
        parents=analysis_parsers(),
        help="explain findings: what happens, why it costs, and the fix as code; on "
        "request with a language model's second opinion",
    )
    command.add_argument("trace", metavar="TRACE", help=".json[.gz] or .pftrace[.gz]")
    add = Options(command, "what to explain")
    add("--top N", "the first N findings", count, 3)
    add(
        "--finding ID",
        "explain this finding instead, by its id in the JSON; may be repeated",
        action="append",
    )
    add("--windows N", "also explain N windows that rules or detector flag", count, 0)
    add(
        "--no-detector",
        "do not run the learned detector",
        dest="detector",
        action="store_const",
        const=OFF,
        default=AUTO,
    )
    _model_options(command)
    add = Options(command, "what to write (-: to standard output)")
    add("--json F", "write the explanations")
    add("--html F", "write the report, with opinions")
    add(
        "--labels F",
        "write the model's verdicts on windows, for torchtraceap train --labels",
    )
    quiet_option(command)


def _model_options(command: argparse.ArgumentParser) -> None:
    add = Options(
        command.add_argument_group(
            "a language model's second opinion (docs/explain.md)",
            "A key is read from the environment, never from the command line.",
        )
    )
    add("--llm URL", "OpenAI-compatible endpoint, such as …:8080/v1")
    add("--model NAME", "the model's name at the endpoint")
    add(
        "--key-env VARIABLE",
        f"environment variable with the key (default: {KEY_VARIABLE} for OpenAI and "
        "this machine, none for other hosts)",
    )
    add("--dry-run", "print the requests without sending them")
    add("--source", "show the model up to five lines of source around each finding")
    tokens = number(int, f"number of at least {LEAST_TOKENS}", LEAST_TOKENS)
    add("--tokens N", "tokens for the facts of a finding", tokens, TOKENS)
    add(
        "--parallel N",
        "concurrent requests (default: 4)",
        number(int, "number from 1 to 32", 1, 32),
    )
    add("--timeout S", "seconds for an answer (default: 60)", time, dest="timeout_s")
    add(
        "--retries N",
        "retries after a transient error (default: 2)",
        number(int, "number from 0 to 10", 0, 10),
    )


def run(options: argparse.Namespace) -> int:
    asked = _checked(options)
    targets = targets_of(options, _FORMS)
    refuse_unwritable(targets, [options.trace])
    with about(options.trace):
        report = _report(options)
    what = options.top if options.finding is None else options.finding
    try:
        with _bar(options.quiet) as progress:
            made = report.explain(
                what,
                windows=options.windows,
                source=options.source,
                tokens=options.tokens,
                progress=progress,
                **({} if options.dry_run else asked),
            )
    except (ValueError, ImportError) as error:
        raise Refused(str(error)) from error
    if options.dry_run:
        say(_preview(made, options))
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


def _checked(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `Report.explain` for a model; refuse invalid combinations
    before any work."""
    files = [name for name in _FORMS if getattr(options, name) is not None]
    if options.dry_run and files:
        raise Refused(f"--dry-run only prints: leave out --{files[0]}")
    if not (options.top or options.finding or options.windows):
        raise Refused("--top 0 leaves nothing to explain: add --windows N")
    if options.llm is None:
        if not options.dry_run and any(
            getattr(options, name) is not None for name in _OF_THE_MODEL
        ):
            raise Refused("that needs a model: name one with --llm URL --model NAME")
        return {}
    if options.labels is not None and not options.windows:
        raise Refused(
            "--labels writes the model's verdicts on windows, but no window is "
            "explained: add --windows N (and --top 0 for windows only)"
        )
    given = {name: getattr(options, name) for name in _OF_THE_ENDPOINT}
    asked = {name: value for name, value in given.items() if value is not None}
    asked |= {"llm": options.llm, "model": options.model, "api_key": None}
    if (variable := options.key_env) is not None:
        asked["api_key"] = os.environ.get(variable)
        if asked["api_key"] is None:
            raise Refused(f"--key-env: the environment variable {variable} is not set")
    try:
        endpoint_of(**asked)
    except ValueError as error:
        raise Refused(str(error)) from error
    return asked


def _report(options: argparse.Namespace) -> Report:
    trace = load(options.trace, **options.loading)
    with stage("analyzing", options.quiet):
        report = of_torch(analyze(trace, **options.analysis, detector=options.detector))
        _ = report.findings
    return report


def _preview(made: Explanations, options: argparse.Namespace) -> str:
    blocks = []
    for one in made:
        url = (options.llm or "URL").rstrip("/")
        text = requests_text(one.digest, url, options.model or "MODEL")
        taken = ", ".join(f"{kind} ×{count}" for kind, count in one.digest.masked)
        masked = f"Removed from names and source: {taken or 'nothing'}."
        blocks.append(f"##### {one.subject}\n{text}\n{masked}")
    if not blocks:
        return "Nothing to explain: no requests would be sent."
    return "\n\n".join([*blocks, MAY_CHANGE])


def _told(report: Report, made: Explanations) -> str:
    if not made and report.findings:
        return "Windows: rules and detector flag none."
    if not made:
        return f"Findings: {why_none(report)}"
    texts = [*map(explanation_text, made), usage_text(made.usage)]
    return "\n".join(text for text in texts if text)


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], object] | None]:
    """Yield a callback for the progress bar of answers, None if it is not shown."""
    if quiet or not somebody_watches():
        yield None
        return
    with bar("asking the model") as draw:
        yield lambda done, of: draw(done / of, f"{done} of {of}")


def _ended(made: Explanations) -> int:
    """Report what the model did not answer; bad input only if it named no pattern at
    all."""
    opinions = [one.opinion for one in made if one.opinion]
    for why in dict.fromkeys(opinion.why for opinion in opinions if opinion.failure):
        complain(why)
    named = any(opinion.pattern is not None for opinion in opinions)
    return BAD_INPUT if opinions and not named else OK
