# SPDX-License-Identifier: BSD-3-Clause
"""test_perfetto_page.py: the page hands its trace to the tab it opens, in a browser.

A page of ours stands in for ui.perfetto.dev: it answers as Perfetto's documentation
says, late as Perfetto does, and keeps what it is handed.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.views.perfetto import origin_of

from .real_traces import DATA

STUB = b"""<!doctype html><script>
if (self !== top) setInterval(() => parent.postMessage("PONG", "*"), 5);
setTimeout(() => addEventListener("message", async (event) => {
  if (event.data === "PING") return event.source.postMessage("PONG", "*");
  const trace = event.data.perfetto;
  const inflate = new DecompressionStream("gzip");
  const stream = new Blob([trace.buffer]).stream().pipeThrough(inflate);
  const text = await new Response(stream).text();
  window.got = {title: trace.title, fileName: trace.fileName, text};
}), 400);
</script>"""


@contextmanager
def served(html: bytes) -> Iterator[str]:
    """Serve one page, whatever is asked for; an origin of its own."""

    class Stub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with served(STUB) as where:
        yield where


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from . import page_reader  # Needs selenium, of which most tests here need nothing.

    if not (page_reader.DRIVER and page_reader.CHROME):
        pytest.skip("needs chromium and chromedriver")
    with page_reader.chromium() as found:
        yield found


def hand_over(browser: Any, page: Path, before: str = "") -> dict[str, str]:
    """Open the page, press its button, and return what the stub was handed."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    # Perfetto's documentation wants the page served: browsers may keep a page that was
    # opened as a file from talking to others.
    with served(page.read_bytes()) as where:
        browser.get(where)
        browser.execute_script(before)
    first = browser.current_window_handle
    browser.find_element(By.ID, "open").click()
    wait = WebDriverWait(browser, 20)
    wait.until(lambda b: len(b.window_handles) == 2)
    status = browser.find_element(By.ID, "state")
    wait.until(lambda b: status.text == "Perfetto has the trace.")
    (tab,) = set(browser.window_handles) - {first}
    browser.switch_to.window(tab)
    got = wait.until(lambda b: b.execute_script("return window.got"))
    browser.close()
    browser.switch_to.window(first)
    assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
    return got


@pytest.mark.verify
def test_the_tab_gets_the_trace(browser: Any, origin: str, tmp_path: Path) -> None:
    report = torchtraceap.analyze(DATA / "h100-vit-nsfw-inference.json.gz")
    page = tmp_path / "page.html"
    report.perfetto_page(page, origin=origin)
    got = hand_over(browser, page)
    report.to_perfetto(tmp_path / "copy.json")
    assert got["text"] == (tmp_path / "copy.json").read_text("utf-8")
    assert got["title"].startswith("h100-vit-nsfw-inference.json.gz")


@pytest.mark.verify
def test_hostile_file_names_do_nothing(
    browser: Any, origin: str, tmp_path: Path
) -> None:
    name = "<img src=x onerror=alert(1)>__DATA__&<script>'\"`${1}.json"
    trace = tmp_path / name
    source = DATA / "mi250-rocm62-tiny.json.gz"
    trace.write_bytes(gzip.decompress(source.read_bytes()))
    page = tmp_path / "page.html"
    torchtraceap.analyze(trace).perfetto_page(page, origin=origin)
    got = hand_over(browser, page)
    assert got["title"].startswith(name)
    assert json.loads(got["text"])["traceEvents"]


ORIGINS = {
    "https://UI.Perfetto.dev": "https://ui.perfetto.dev",
    "HTTPS://ui.perfetto.dev:443/": "https://ui.perfetto.dev",
    "http://localhost:0080": "http://localhost",
    "http://[0:0:0:0:0:0:0:1]:8080": "http://[::1]:8080",
    "http://127.0.0.1:443": "http://127.0.0.1:443",
}


@pytest.mark.parametrize("text", ORIGINS)
def test_origins_are_written_one_way(text: str) -> None:
    assert origin_of(text) == ORIGINS[text]


@pytest.mark.verify
def test_origins_are_as_browsers_write_them(browser: Any) -> None:
    for text, origin in ORIGINS.items():
        script = "return new URL(arguments[0]).origin"
        assert browser.execute_script(script, text) == origin


@pytest.mark.verify
def test_a_name_that_would_end_the_script(
    browser: Any, origin: str, tmp_path: Path
) -> None:
    trace = tmp_path / "x<!--<script>.json.gz"
    trace.write_bytes((DATA / "mi250-rocm62-tiny.json.gz").read_bytes())
    page = tmp_path / "page.html"
    torchtraceap.analyze(trace).perfetto_page(page, origin=origin)
    assert hand_over(browser, page)["title"].startswith(trace.name)


@pytest.mark.verify
def test_only_the_tab_it_opened_is_listened_to(
    browser: Any, origin: str, tmp_path: Path
) -> None:
    """Not another page of the same origin, which answers before the tab can."""
    page = tmp_path / "page.html"
    torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz").perfetto_page(
        page, origin=origin
    )
    frame = "const f = document.createElement('iframe'); f.src = '%s'; document.body"
    before = f"{frame % origin}.append(f)"
    assert hand_over(browser, page, before)["text"]


def test_the_page_is_one_file_that_asks_perfetto_only(tmp_path: Path) -> None:
    report = torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz")
    page = tmp_path / "page.html"
    report.perfetto_page(page)
    text = page.read_text("utf-8")
    assert '"origin": "https://ui.perfetto.dev"' in text
    assert text.count("http") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    "origin",
    [
        *("javascript:alert(1)", "https://x/y", "ui.perfetto.dev", "", 5, "*"),
        *("https://...", "http://:", "https://[", "https://[::g]", "https://x:99999"),
        *("https://1.2.3", "https://x\n", "https://a..b"),
    ],
)
def test_an_origin_that_is_none(origin: Any, tmp_path: Path) -> None:
    report = torchtraceap.analyze(DATA / "mi250-rocm62-tiny.json.gz")
    with pytest.raises(ValueError, match="origin must be like"):
        report.perfetto_page(tmp_path / "page.html", origin=origin)
