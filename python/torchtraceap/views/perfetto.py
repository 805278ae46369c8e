# SPDX-License-Identifier: BSD-3-Clause
"""perfetto.py: the trace with the report's tracks, for Perfetto.

``cpp/pipeline/drawing/label_tracks.h`` tells what the tracks are; docs/outputs.md is
for users.

Perfetto takes traces from pages that open it: the page sends "PING" until the opened
tab answers "PONG", then the trace (Perfetto's documentation, "Deep linking").
"""

from __future__ import annotations

import base64
import codecs
import gzip
import html
import json
import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

from torchtraceap.base.files import new_file, refuse_trace, write_text, writing
from torchtraceap.base.safe_text import printable

if TYPE_CHECKING:
    from torchtraceap.data.findings import Finding
    from torchtraceap.report_data import ReportData


def write_perfetto(report: ReportData, path: str | os.PathLike[str]) -> None:
    """Write the copy; see ``Report.to_perfetto``."""
    where = os.fspath(path)
    refuse_trace(where, report.trace.path)
    texts = [(_name(f), json.dumps(_args(f))) for f in report.rule_findings]
    with new_file(where) as new:
        plain = new + ".plain"
        try:
            report.core.write_perfetto(texts, plain)
        except ValueError as error:
            if plain not in str(error):
                raise
            raise ValueError(str(error).replace(plain, where)) from error
        with writing(where):
            _finish(plain, new, where.endswith(".gz"))


def _finish(plain: str, new: str, is_packed: bool) -> None:
    """Make of the core's copy the file that is asked for."""
    with open(plain, "rb") as source:
        # Which JSON must not begin with, whatever the trace does.
        has_mark = source.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        if has_mark or is_packed:
            if not has_mark:
                source.seek(0)
            _copy(source, new, is_packed)
            return
    os.replace(plain, new)


def _copy(source: BinaryIO, new: str, is_packed: bool) -> None:
    with ExitStack() as stack:
        out: Any = stack.enter_context(open(new, "wb"))
        if is_packed:
            # Without a name and time: the same report gives the same file.
            packed = gzip.GzipFile("", "wb", 5, out, mtime=0)
            out = stack.enter_context(packed)
        shutil.copyfileobj(source, out, 1 << 20)


def _name(finding: Finding) -> str:
    where = finding.location or finding.operator
    return f"{finding.kind}: {where}" if where else finding.kind


def _args(finding: Finding) -> dict[str, Any]:
    location = finding.location
    args = {
        "id": finding.id,
        "pattern": finding.pattern,
        "subtype": finding.subtype,
        "severity": finding.severity,
        "origin": finding.origin,
        "location": location.text if location else "",
        "operator": finding.operator,
        "count": finding.count,
        "wasted_us": finding.wasted_us,
        "recoverable_us": finding.recoverable_us,
        "message": finding.message,
        "advice": finding.advice,
    }
    # Readers of traces make little of a null or an empty text.
    return {key: value for key, value in args.items() if value not in (None, "")}


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>__TITLE__</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto;
padding: 0 1rem; overflow-wrap: anywhere } button { font: inherit; padding: .5em 1em }
</style>
<h1>__TITLE__</h1>
<p><button id="open">Open in Perfetto</button></p>
<p id="state" role="status">Perfetto opens in a new tab and is handed the trace by this
page. It stays in your browser.</p>
<script id="trace" type="application/octet-stream">__DATA__</script>
<script>
"use strict";
const page = __SETTINGS__;
const say = (text) => { document.getElementById("state").textContent = text; };
document.getElementById("open").onclick = async () => {
  const tab = window.open(page.origin);
  if (!tab) return say("The browser kept the tab from opening: allow pop-ups here.");
  say("Waiting for " + page.origin + " to answer ...");
  const data = document.getElementById("trace").textContent;
  const answered = new Promise((resolve) => {
    const listen = (event) => {
      if (event.source !== tab || event.origin !== page.origin) return;
      if (event.data !== "PONG") return;
      window.removeEventListener("message", listen);
      resolve(true);
    };
    window.addEventListener("message", listen);
    setTimeout(() => {
      window.removeEventListener("message", listen);
      resolve(false);
    }, page.patience_ms);
  });
  const ping = setInterval(() => tab.postMessage("PING", page.origin), 50);
  const open = await answered;
  clearInterval(ping);
  if (!open) return say("No answer from " + page.origin +
    ". Is there a network? A page opened as a file may not talk to others: serve it.");
  const buffer = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer;
  const trace = { buffer, title: page.title, fileName: page.file };
  tab.postMessage({ perfetto: trace }, page.origin);
  say("Perfetto has the trace.");
};
</script>
</html>"""
_ORIGIN = re.compile(r"https?://[a-z0-9.\-_\[\]:]+/?", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")


def origin_of(text: str) -> str:
    """Return an origin as browsers write it, for they compare the texts.

    Raises ValueError if it is none.
    """
    from ipaddress import IPv4Address, IPv6Address
    from urllib.parse import urlsplit

    try:
        if not _ORIGIN.fullmatch(text):
            raise ValueError
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        if ":" in host:
            host = f"[{IPv6Address(host).compressed}]"
        elif not _HOST.fullmatch(host):
            raise ValueError
        elif host.rpartition(".")[2][0].isdigit():
            host = str(IPv4Address(host))
    except (TypeError, ValueError):
        raise ValueError(
            "origin must be like https://ui.perfetto.dev, without a path, but is "
            f"{text!r}"
        ) from None
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if port in (None, usual) else f":{port}")


def write_page(report: ReportData, path: str | os.PathLike[str], origin: str) -> None:
    """Write the page; see ``Report.perfetto_page``."""
    origin = origin_of(origin)
    where = os.fspath(path)
    refuse_trace(where, report.trace.path)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "trace.json.gz")
        write_perfetto(report, copy)
        with open(copy, "rb") as file:
            data = base64.b64encode(file.read()).decode("ascii")
    name = os.path.basename(report.trace.path) or "trace"
    title = printable(f"{name} with torchtraceap's findings")
    settings = {
        "origin": origin,
        "title": title,
        "file": "torchtraceap.json.gz",
        "patience_ms": 60_000,
    }
    parts = {
        "SETTINGS": json.dumps(settings).replace("<", "\\u003c"),
        "TITLE": html.escape(title),
        "DATA": data,
    }
    page = re.sub("__([A-Z]+)__", lambda mark: parts[mark[1]], _PAGE)
    write_text(where, page)
