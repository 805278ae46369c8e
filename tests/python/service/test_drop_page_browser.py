# SPDX-License-Identifier: BSD-3-Clause
"""test_drop_page_browser.py: the page of a server, used in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="needs selenium")
from selenium.webdriver.support.wait import WebDriverWait

from .. import page_reader
from .conftest import Server, serving

pytestmark = [page_reader.NEEDS_CHROMIUM, pytest.mark.verify]
browser = page_reader.browser
TRACE = "kineto2021-v100-resnet50-workers4.json.gz"
TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    scratch = tmp_path_factory.mktemp("scratch")
    with serving(scratch, token=TOKEN) as one:
        yield one


@pytest.fixture
def reader(browser: page_reader.webdriver.Chrome, server: Server) -> page_reader.Reader:
    browser.get_log("performance"), browser.get_log("browser")
    browser.get(server.url)
    return page_reader.Reader(browser)


def said(reader: page_reader.Reader) -> str:
    """Wait until the page is done with a request, and return what it says."""
    wait = WebDriverWait(reader.driver, 60)
    wait.until(lambda _: not reader.one("#cancel").is_enabled())
    return reader.one("#state").text


def test_a_trace_that_is_chosen(reader: page_reader.Reader, data: Path) -> None:
    reader.one("#files").send_keys(str(data / TRACE))
    reader.one("#token").send_keys("wrong")
    reader.one("button[type=submit]").click()
    assert said(reader).startswith("Unauthorized: this server needs its token")
    reader.one("#token").clear()
    reader.one("#token").send_keys(TOKEN)
    reader.one("button[type=submit]").click()
    assert said(reader) == ""
    assert reader.one("#save").get_attribute("href").startswith("blob:")
    driver = reader.driver
    driver.switch_to.frame(reader.one("#report"))
    try:
        WebDriverWait(driver, 20).until(lambda _: reader.all("h1"))
        assert reader.one("h1").text == TRACE
        assert reader.one("#range").text.startswith("All ")  # Its script runs.
        assert len(set(reader.drawn())) > 20
        # It cannot reach the page around it, which has the token.
        outside = "try { return parent.document.title } catch (e) { return e.name }"
        assert reader.run(outside) == "SecurityError"
    finally:
        driver.switch_to.default_content()
    asked = [e["message"] for e in driver.get_log("performance")]
    asked = [one for one in asked if 'Network.requestWillBeSent"' in one]
    assert asked and all("127.0.0.1" in one or "about:srcdoc" in one for one in asked)
    log = [entry["message"] for entry in driver.get_log("browser")]
    assert not [one for one in log if "401" not in one], log


def test_traces_that_are_dropped(reader: page_reader.Reader) -> None:
    reader.one("#token").send_keys(TOKEN)
    drop = """
        const data = new DataTransfer();
        for (const name of arguments[0]) data.items.add(new File(["{}"], name));
        dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
    """
    reader.run(drop, ["one.json"])
    assert said(reader).startswith("Unprocessable Entity: one.json: ")
    reader.run(drop, ["rank0.json", "rank1.json"])
    assert "rank0.json" in said(reader)
    assert not reader.one("#result").is_displayed()


def test_an_error_that_is_no_json(reader: page_reader.Reader) -> None:
    reader.run("""
        fetch = async () => new Response("Bad gateway", {status: 502});
        const data = new DataTransfer();
        data.items.add(new File(["{}"], "one.json"));
        dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
    """)
    assert said(reader) == "502: Bad gateway"


def test_its_parts_have_names_and_fit(
    reader: page_reader.Reader, server: Server
) -> None:
    for element in ("#files", "#token", "#drop"):
        assert reader.one(element).accessible_name
    for width in (360, 1280):
        reader.driver.set_window_size(width, 800)
        assert reader.run("return document.documentElement.scrollWidth") <= max(
            width, reader.run("return innerWidth")
        )
    headers = server.client.get("/").headers
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
