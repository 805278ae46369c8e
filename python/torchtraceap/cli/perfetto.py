# SPDX-License-Identifier: BSD-3-Clause
"""perfetto.py: the command ``torchtraceap perfetto``: a finding in Perfetto's page."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from torchtraceap.analysis import analyze_one
from torchtraceap.base.units import counted
from torchtraceap.cli.options import Options, analysis_parsers, number, quiet_option
from torchtraceap.cli.output import OK, Commands, Refused, about, say, stage
from torchtraceap.data.detector_choice import OFF
from torchtraceap.report import Report
from torchtraceap.views.perfetto_link import ORIGIN, PORT, perfetto_link, served_path

_from_1 = number(int, "number of at least 1", 1)
EXAMPLES = (
    ("torchtraceap perfetto trace.json.gz", "the first finding, in the browser"),
    ("torchtraceap perfetto trace.json.gz --finding 3", "the third one"),
    ("torchtraceap perfetto trace.json.gz --no-browser", "only print the address"),
)


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "perfetto",
        parents=analysis_parsers(),
        help="open Perfetto in the browser, at a finding",
        description="Serve a trace with its findings as tracks to Perfetto's page in "
        "a browser of this machine, until Ctrl-C. Nothing is uploaded: the page reads "
        f"it from 127.0.0.1:{PORT}. While this runs, the links to Perfetto in a report "
        "of the same trace (--html) work.",
    )
    command.add_argument("trace", metavar="TRACE", help=".json[.gz] or .pftrace[.gz]")
    add = Options(command)
    add("--finding N", "the N-th finding of the report", _from_1, 1)
    add("--no-browser", "print the address instead of opening it")
    quiet_option(command)


def run(options: argparse.Namespace) -> int:
    with about(options.trace):
        given = {**options.loading, **options.analysis}
        report = analyze_one(options.trace, "perfetto", detector=OFF, **given)
        found = len(report.findings)
        if options.finding > max(1, found):
            there = counted(found, "finding")
            raise Refused(f"--finding {options.finding}: the report has {there}.")
        finding = report.findings[options.finding - 1] if found else None
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # Leaves no copy.
        with tempfile.TemporaryDirectory(prefix="torchtraceap-") as folder:
            copy = os.path.join(folder, "copy.json")
            with stage("writing the copy for Perfetto", options.quiet):
                report.to_perfetto(copy)
            with serve(report, copy) as server:
                link = perfetto_link(report.trace, finding)
                say(link)
                if not options.quiet:
                    say("Serving it to Perfetto; Ctrl-C ends.")
                if not options.no_browser:
                    webbrowser.open(link)
                server.serve_forever()
    return OK


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a browser may go away at any moment."""


def serve(report: Report, copy: str, port: int = PORT) -> ThreadingHTTPServer:
    """Return a server, not yet started, of one file to Perfetto's page alone.

    Raises Refused if the port is taken."""
    try:
        return _Server(("127.0.0.1", port), _handler(served_path(report.trace), copy))
    except OSError as error:
        why = error.strerror or str(error)
        raise Refused(
            f"cannot serve at 127.0.0.1:{port}, the only address that Perfetto's page "
            f"reads from: {why}. End the other program there, or write a copy with "
            "`torchtraceap analyze TRACE --perfetto FILE` and open it in Perfetto."
        ) from error


def _handler(path: str, copy: str) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self._is_asked_by_perfetto():
                return
            with open(copy, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._head(200, ("Content-Length", str(size)))
                shutil.copyfileobj(file, self.wfile, 1 << 20)

        def do_OPTIONS(self) -> None:
            # A browser asks before a public page may read from this machine.
            if self._is_asked_by_perfetto():
                self._head(204, ("Access-Control-Allow-Private-Network", "true"))

        def _is_asked_by_perfetto(self) -> bool:
            host = (self.headers.get("Host") or "").partition(":")[0]
            is_known = host == "127.0.0.1" and self.path == path
            if is_known and self.headers.get("Origin") == ORIGIN:
                return True
            self.send_error(404)
            return False

        def _head(self, code: int, more: tuple[str, str]) -> None:
            self.send_response(code)
            self.send_header("Access-Control-Allow-Origin", ORIGIN)
            self.send_header("Content-Type", "application/json")
            self.send_header("Cache-Control", "no-store")
            self.send_header(*more)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
