# SPDX-License-Identifier: BSD-3-Clause
"""perfetto_page.py: a page that hands a trace to Perfetto's user interface.

Perfetto takes traces from pages that open it: the page sends "PING" until the opened
tab answers "PONG", then the trace (Perfetto's documentation, "Deep linking").
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import tempfile
from typing import TYPE_CHECKING

from torchtraceap.safe_text import printable
from torchtraceap.target_file import refuse_trace, write_text

if TYPE_CHECKING:
    from torchtraceap.report import Report

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


def write_page(report: Report, path: str | os.PathLike[str], origin: str) -> None:
    """Write the page; see ``Report.perfetto_page``."""
    origin = origin_of(origin)
    where = os.fspath(path)
    refuse_trace(where, report.trace.path)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "trace.json.gz")
        report.to_perfetto(copy)
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
