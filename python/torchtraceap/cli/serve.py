# SPDX-License-Identifier: BSD-3-Clause
"""serve.py: the command ``torchtraceap serve``."""

from __future__ import annotations

import argparse
import os
import sys

from torchtraceap.base.roots import RootsError
from torchtraceap.cli.options import Options, number, time
from torchtraceap.cli.output import OK, Commands, Refused, complain, say
from torchtraceap.service.settings import (
    TOKEN_VARIABLE,
    Settings,
    others_read,
    read_token,
)

EXAMPLES = (
    ("torchtraceap serve", "a page to drop traces on, for this machine"),
    ("torchtraceap serve --root runs --fleet results", "also traces and a data set"),
    (
        "torchtraceap serve --host 0.0.0.0 --token-file /run/secrets/token",
        "for others, who need the token",
    ),
)
_DEFAULTS = Settings()
_MOST_BYTES = 2**63 - 1


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "serve",
        help="serve analyses over HTTP: a page to drop traces on, and an API",
        description="Serve reports on traces that are sent, or that lie below the "
        "roots, and questions over a fleet's data set, to browsers and programs "
        "(docs/serve.md). Each analysis runs in a child process. SIGTERM ends it "
        "after what was begun.",
    )
    add = Options(command)
    add("--host HOST", "address to listen on", str, "127.0.0.1")
    add("--port N", "port; 0: a free one", number(int, "port", 0, 65535), 8000)
    add(
        "--root DIR",
        "folder whose traces may be named by their paths; may be repeated",
        action="append",
        default=[],
    )
    add("--fleet DIR", "data set of torchtraceap fleet, for questions over it")
    add(
        "--token-file FILE",
        "file with the token that clients must send (default: the environment "
        f"variable {TOKEN_VARIABLE}; without it, only this machine is served)",
    )
    limits = Options(command, "limits")
    limits(
        "--workers N",
        "analyses at a time (default: one a processor)",
        number(int, "number from 1 to 256", 1, 256),
    )
    limits(
        "--queue N",
        "requests that wait for one; more get 429",
        number(int, "number from 0 to 10000", 0, 10_000),
        _DEFAULTS.queue,
    )
    limits(
        "--max-upload-bytes N",
        "of a body, as it is sent",
        number(int, "number of bytes", 1, _MOST_BYTES),
        _DEFAULTS.upload_bytes,
    )
    limits(
        "--max-text-bytes N",
        "of a trace, uncompressed",
        number(int, "number of bytes", 1, _MOST_BYTES),
        _DEFAULTS.text_bytes,
    )
    limits("--max-seconds S", "of an analysis, and of an upload", time, 300.0)
    limits("--end-seconds S", "after SIGTERM, for what was begun", time, 30.0)


def run(options: argparse.Namespace) -> int:
    try:
        from torchtraceap.service.server import serve
    except ImportError as error:
        raise Refused(
            "the server needs its extra. Install it with pip install "
            f"'torchtraceap[server]' ({error})"
        ) from error
    if options.fleet is not None:
        _refuse_fleet(options.fleet)
    token = read_token(options.token_file, os.environ)
    os.environ.pop(TOKEN_VARIABLE, None)  # Not for the children, which read traces.
    if options.token_file is not None and others_read(options.token_file):
        complain(
            f"{options.token_file}: other users can read the token. Change that with "
            "chmod 600"
        )
    settings = Settings(
        roots=tuple(options.root),
        fleet=None if options.fleet is None else os.path.abspath(options.fleet),
        token=token,
        workers=options.workers or _DEFAULTS.workers,
        queue=options.queue,
        upload_bytes=options.max_upload_bytes,
        text_bytes=options.max_text_bytes,
        seconds=options.max_seconds,
    )
    try:
        serve(settings, options.host, options.port, options.end_seconds, _begun)
    except RootsError as error:
        raise Refused(f"--root: {error}") from error
    return OK


def _refuse_fleet(folder: str) -> None:
    """Raise ConfigError or Refused for another folder than that of a data set."""
    from torchtraceap.fleets.queries import connected

    try:
        connected(folder).close()
    except (ImportError, OSError) as error:
        raise Refused(f"--fleet: {error}") from error


def _begun(address: str) -> None:
    say(f"Serving on {address} (Ctrl-C ends it)")
    if sys.stdout is not None:
        sys.stdout.flush()  # Who started it may wait for the line.
