# SPDX-License-Identifier: BSD-3-Clause
"""mcp.py: the command ``torchtraceap mcp``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torchtraceap.mcp_server
from torchtraceap.base.roots import RootsError
from torchtraceap.cli.options import Options, number
from torchtraceap.cli.output import INTERRUPTED, OK, Commands, Refused, say
from torchtraceap.mcp_server.reports import Limits, Reports

EXAMPLES = (
    ("torchtraceap mcp --root .", "traces below the working folder"),
    ("torchtraceap mcp --root runs --root /data/traces", "below two folders"),
    ("torchtraceap mcp --skill > SKILL.md", "the skill page for an agent"),
)
_LIMITS = Limits()
_MOST_BYTES = 2**63 - 1
_LEAST_ANSWER = 2000  # Without any rows.


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "mcp",
        help="serve analyses to an agent as Model Context Protocol tools",
        description="Serve an agent that starts this program and speaks the Model "
        "Context Protocol over standard input and output (docs/cli.md). It reads only "
        "files below the roots, and writes none.",
    )
    add = Options(command)
    add(
        "--root DIR",
        "folder whose traces may be read; may be repeated",
        action="append",
        default=[],
    )
    add(
        "--max-text-bytes N",
        "refuse a trace with more, uncompressed",
        number(int, "number of bytes", 1, _MOST_BYTES),
        _LIMITS.text_bytes,
    )
    add(
        "--max-answer-bytes N",
        "limit of an answer; longer ones are cut, with a note",
        number(int, f"number of bytes, at least {_LEAST_ANSWER}", _LEAST_ANSWER),
        _LIMITS.answer_bytes,
    )
    add(
        "--skill",
        "print a skill page on this program for an agent, and exit",
    )


def run(options: argparse.Namespace) -> int:
    if options.skill:
        say(skill().rstrip("\n"))
        return OK
    if not options.root:
        raise Refused("name a folder whose traces may be read: --root DIR")
    limits = Limits(options.max_text_bytes, options.max_answer_bytes)
    try:
        reports = Reports(options.root, limits)
    except RootsError as error:
        raise Refused(f"--root: {error}") from error
    try:
        from torchtraceap.mcp_server.server import serve
    except ImportError as error:
        raise Refused(
            "the MCP server needs the official SDK. Install it with "
            f"pip install 'torchtraceap[mcp]' ({error})"
        ) from error

    # Nothing is written, so nothing is lost; and a thread that waits for standard input
    # would let no exception end the process.
    signal.signal(signal.SIGINT, _end)
    serve(reports)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(OK)  # A worker may still analyze a trace without a waiting client.


def skill() -> str:
    """Return the skill page, which the package carries."""
    folder = Path(torchtraceap.mcp_server.__file__).parent
    return (folder / "SKILL.md").read_text("utf-8")


def _end(*_: Any) -> None:
    os._exit(INTERRUPTED)
