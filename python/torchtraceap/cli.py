# SPDX-License-Identifier: BSD-3-Clause
"""cli.py: the program ``torchtraceap``.

Exit codes: 0 fine; 2 bad usage or bad input, with a message that says what, where and
what to do. Bad input never ends in a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from torchtraceap import _core
from torchtraceap.analysis import analyze, load
from torchtraceap.cli_loading import loading_options, loading_parser
from torchtraceap.cli_output import BAD_INPUT, complain, say, write
from torchtraceap.cli_patterns import pattern_forms, patterns_text
from torchtraceap.cli_rules import rule_options, rules_parser
from torchtraceap.cli_what_if import add_options
from torchtraceap.errors import ConfigError, RuleError
from torchtraceap.json_form import json_text
from torchtraceap.report import Report

_OK, _INTERRUPTED = 0, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with `arguments` (None: those of the process); return its exit
    code. Usage errors and ``--help`` raise SystemExit, as argparse does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if hasattr(options, "recover"):
            options.loading = loading_options(options)
    except ValueError as error:
        parser.error(str(error))
    try:
        code: int = options.run(options)
        # What cannot be written must be known here, not after the exit code is set.
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except OSError as error:
        # What is still buffered cannot be written either; Python would try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return _OK  # The reader has seen enough, as in `| head`.
        return complain(f"cannot write to standard output: {error.strerror}")
    except KeyboardInterrupt:
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchtraceap",
        description="Say where a PyTorch profiler trace wastes time, by which "
        "anti-pattern, on which line.",
    )
    parser.add_argument(
        "--version", action="version", version=f"torchtraceap {_core.__version__}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    loading = loading_parser()

    command = commands.add_parser(
        "analyze",
        parents=[loading, rules_parser()],
        help="label the windows of traces and list what wastes time",
    )
    command.add_argument("traces", nargs="+", metavar="TRACE", help=".json or .json.gz")
    command.add_argument(
        "--json",
        metavar="F",
        help="write the report to F (-: to standard output, in place of the text); "
        "an array of reports for several traces",
    )
    command.add_argument(
        "--windows",
        metavar="N",
        type=_count,
        default=5,
        help="list the N windows that waste most (default: 5)",
    )
    command.add_argument("--tables", action="store_true", help="list what ran, too")
    command.set_defaults(run=_analyze)

    command = commands.add_parser(
        "inspect",
        parents=[loading],
        help="tell what is in a trace and what is odd about it",
    )
    command.add_argument("trace", metavar="TRACE", help=".json or .json.gz")
    command.add_argument(
        "--json", action="store_true", help="print one JSON object in one line"
    )
    command.set_defaults(run=_inspect)

    command = commands.add_parser(
        "whatif",
        parents=[loading, rules_parser()],
        help="replay a trace with changes, and say what they would gain",
        description="Replay a trace as it is, or with changes made. Several add up.",
    )
    add_options(command)
    command.set_defaults(run=_what_if)

    command = commands.add_parser(
        "patterns", help="list what is looked for, and the thresholds"
    )
    command.add_argument(
        "name", nargs="?", metavar="NAME", help="only this one, in full"
    )
    command.add_argument(
        "--json", action="store_true", help="print a JSON array, one object a pattern"
    )
    command.set_defaults(run=_patterns)
    return parser


def _analyze(options: argparse.Namespace) -> int:
    if options.json not in (None, "-"):
        for path in options.traces:
            if _same_file(path, options.json):
                return complain(
                    f"--json {options.json} would overwrite the trace {path}. Give "
                    "it another file."
                )
    try:
        rules = rule_options(options)
    except ConfigError as error:
        return complain(str(error))
    reports: list[Report] = []
    failed: list[str] = []
    for path in options.traces:
        try:
            report = analyze(path, **rules, **options.loading)
        except (ValueError, OSError, MemoryError, RuntimeError) as error:
            complain(_reason(path, error))
            failed.append(path)
            continue
        if options.json != "-":
            say(("\n" if reports else "") + report.summary(windows=options.windows))
            if options.tables and (tables := report.tables()):
                say("\n" + tables)
        reports.append(report)
    if failed and len(options.traces) > 1:
        complain(
            f"{len(failed)} of {len(options.traces)} traces failed: "
            + ", ".join(failed)
        )
    if options.json is not None and reports:
        forms = [report.to_dict() for report in reports]
        text = json_text(forms[0] if len(options.traces) == 1 else forms)
        if options.json == "-":
            say(text)
        elif not write(options.json, text):
            return BAD_INPUT
    return BAD_INPUT if failed else _OK


def _inspect(options: argparse.Namespace) -> int:
    from torchtraceap.inspection import inspect_trace, inspection_text

    try:
        facts = inspect_trace(load(options.trace, **options.loading))
    except (ValueError, OSError, MemoryError, RuntimeError) as error:
        return complain(_reason(options.trace, error))
    say(json_text(facts, indent=None) if options.json else inspection_text(facts))
    return _OK


def _what_if(options: argparse.Namespace) -> int:
    from torchtraceap.replaying import replay_with

    if options.json not in (None, "-") and _same_file(options.trace, options.json):
        return complain(
            f"--json {options.json} would overwrite the trace. Give it another file."
        )
    if options.trace_out and options.trace_out == options.json:
        return complain("--json and --trace-out name the same file. Give them two.")
    try:
        rules = rule_options(options)
        report = analyze(options.trace, **rules, **options.loading)
        result = replay_with(report, tuple(options.edits))
        if options.trace_out:
            result.to_trace(options.trace_out)
    except ConfigError as error:
        return complain(str(error))
    except (ValueError, OSError, MemoryError, RuntimeError) as error:
        return complain(_reason(options.trace, error))
    if options.json != "-":
        say(result.summary())
    if options.json is not None:
        text = json_text(result.to_dict())
        if options.json == "-":
            say(text)
        elif not write(options.json, text):
            return BAD_INPUT
    return _OK


def _patterns(options: argparse.Namespace) -> int:
    try:
        forms = pattern_forms(options.name)
    except ConfigError as error:
        return complain(str(error))
    say(json_text(forms) if options.json else patterns_text(forms))
    return _OK


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # One is not there; ValueError: no name of a file.
        return False


def _reason(path: str, error: BaseException) -> str:
    """Return what is wrong with a trace; the core's messages name it themselves."""
    if isinstance(error, MemoryError):
        return f"{path}: does not fit into memory. Record fewer steps, or free some."
    if isinstance(error, FileNotFoundError):
        return f"{error}. Check the path and whether the file may be read."
    if isinstance(error, RuleError):
        return f"{path}: {error}"
    if isinstance(error, RuntimeError):  # What the core checks of itself failed.
        return (
            f"{path}: the analysis failed, not by a fault of the trace: {error}. "
            "Please report it, with the trace if you can."
        )
    return str(error)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return int(text)
