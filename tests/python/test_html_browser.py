# SPDX-License-Identifier: BSD-3-Clause
"""test_html_browser.py: the page in a browser, used as a reader uses it.

Its timeline: test_html_browser_timeline.py.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.base.units import time_text

pytest.importorskip("selenium", reason="needs selenium")
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from . import page_reader
from .page_reader import Reader, show

pytestmark = [page_reader.NEEDS_CHROMIUM, pytest.mark.verify]
browser, page, reader = page_reader.browser, page_reader.page, page_reader.reader


def test_it_opens_and_asks_for_nothing_else(reader: Reader, page: Path) -> None:
    assert reader.one("h1").text == "kineto2021-v100-resnet50-workers0-memory.json.gz"
    assert reader.one("#canvas").size["width"] > 1000
    assert reader.range() == "All 1.07 s"
    asked = [
        entry["message"]
        for entry in reader.driver.get_log("performance")
        if 'Network.requestWillBeSent"' in entry["message"]
    ]
    assert len(asked) == 1 and page.as_uri() in asked[0]
    assert len(set(reader.drawn())) > 20


def test_columns_are_sorted(reader: Reader) -> None:
    table = reader.one("#operators + .scroll table")
    heads = table.find_elements(By.TAG_NAME, "th")

    def column(number: int) -> list[str]:
        cells = f"return [...arguments[0].tBodies[0].rows].map(r => r.cells[{number}]"
        return list(reader.run(f"{cells}.textContent)", table))

    count = [int(text.replace(",", "")) for text in column(1)]
    assert count != sorted(count, reverse=True)
    button = heads[1].find_element(By.TAG_NAME, "button")
    button.click()
    assert heads[1].get_attribute("aria-sort") == "descending"
    assert [int(text.replace(",", "")) for text in column(1)] == sorted(count)[::-1]
    button.send_keys(Keys.ENTER)
    assert heads[1].get_attribute("aria-sort") == "ascending"
    assert [int(text.replace(",", "")) for text in column(1)] == sorted(count)
    heads[0].find_element(By.TAG_NAME, "button").click()
    assert column(0)[0] < column(0)[-1]
    assert heads[1].get_attribute("aria-sort") is None


def test_dark_and_light(reader: Reader, page: Path) -> None:
    def background() -> list[int]:
        color = reader.run("return getComputedStyle(document.body).backgroundColor")
        return [int(part) for part in color[4:-1].split(",")]

    assert min(background()) > 200
    light = reader.drawn()
    show(reader.driver, page, theme="dark")
    assert max(background()) < 60
    assert reader.drawn() != light


@pytest.mark.parametrize("width", [360, 768, 1920])
def test_nothing_is_wider_than_the_screen(
    reader: Reader, page: Path, width: int
) -> None:
    show(reader.driver, page, width=width)
    reader.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert reader.run("return document.documentElement.scrollWidth") <= width
    assert reader.run("return document.body.getBoundingClientRect().width") <= width


def test_it_reads_without_script(
    reader: Reader, page: Path, slow_loader: torchtraceap.Report
) -> None:
    off = "Emulation.setScriptExecutionDisabled"
    reader.driver.execute_cdp_cmd(off, {"value": True})
    try:
        show(reader.driver, page)
        text = reader.one("body").text
        assert "needs JavaScript" in text
        assert slow_loader.findings[0].advice in text
        assert not reader.one("#viewer").is_displayed()
        assert not any(button.is_displayed() for button in reader.all("button"))
        summary = reader.all(".card summary")[1]
        summary.click()
        assert slow_loader.findings[1].message in reader.one("#findings").text
    finally:
        reader.driver.execute_cdp_cmd(off, {"value": False})


def test_headings_and_names_for_those_who_do_not_see(reader: Reader) -> None:
    levels = [int(h.tag_name[1]) for h in reader.all("h1, h2, h3, h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    for selector in ("nav", "section", "svg", "canvas", ".long"):
        for element in reader.all(selector):
            assert element.accessible_name, (selector, element.get_attribute("class"))
    # A toolbar promises that arrows go from button to button.
    assert not reader.all("[role=toolbar]")
    unnamed = (
        "return [...document.querySelectorAll('button')].filter(b => !b.innerText)"
    )
    assert not [button for button in reader.run(unnamed) if button.is_displayed()]
    # The first thing to be reached by Tab leads past everything else.
    reader.press(Keys.TAB)
    assert reader.run("return document.activeElement.className") == "skip"


def test_times_are_written_as_everywhere(reader: Reader) -> None:
    times = [0, 0.13, 412.4, 999.4, 999.5, 1_000, 12_400, 99_951, 999_500, 1_234_567]
    times += [43_425_400, 1e10, *(1.0371**n for n in range(300))]
    assert reader.run("return arguments[0].map(timeText)", times) == [
        time_text(us) for us in times
    ]


def test_all_is_open_on_paper(reader: Reader) -> None:
    reader.run("dispatchEvent(new Event('beforeprint'))")
    assert all(
        reader.run("return [...document.querySelectorAll('details')].map(d => d.open)")
    )


def test_a_link_to_a_finding_opens_it(
    reader: Reader, page: Path, slow_loader: torchtraceap.Report
) -> None:
    name = slow_loader.findings[3].id
    reader.driver.get("about:blank")
    reader.driver.get(f"{page.as_uri()}#{name}")
    assert reader.one(f"#{name}").get_attribute("open") is not None


def test_a_row_of_the_answer_opens_its_finding(reader: Reader) -> None:
    links = reader.driver.find_elements(By.CSS_SELECTOR, ".answer a")
    assert len(links) > 2
    target = links[2].get_attribute("href").partition("#")[2]
    card = reader.driver.find_element(By.ID, target)
    assert card.get_attribute("open") is None
    links[2].send_keys(Keys.ENTER)
    assert card.get_attribute("open")


def test_a_hash_that_cannot_be_decoded_does_no_harm(reader: Reader, page: Path) -> None:
    reader.driver.get("about:blank")
    reader.driver.get(f"{page.as_uri()}#%E0%A4%A")
    assert reader.all("th button") and not reader.all(".scripted[hidden]")


def test_markup_could_do_nothing(browser: webdriver.Chrome, page: Path) -> None:
    """Should a name ever become markup: nothing of it runs, is loaded or styled."""
    show(browser, page)
    browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', "
        '\'<img id=evil src=file:///x.png onerror="window.hacked = 1" '
        'style="position:fixed"><a id=link href="javascript:window.hacked=1">x</a>\');'
        "const s = document.createElement('script'); s.textContent = 'hacked = 1';"
        "document.body.append(s); document.getElementById('link').click()"
    )
    browser.execute_async_script("setTimeout(arguments[0], 200)")
    assert browser.execute_script("return window.hacked") is None
    position = "return getComputedStyle(document.getElementById('evil')).position"
    assert browser.execute_script(position) == "static"
    refused = [entry["message"] for entry in browser.get_log("browser")]
    assert len(refused) >= 3 and all("Content Security" in text for text in refused)


def test_what_a_notebook_shows_fits_and_follows_its_theme(
    browser: webdriver.Chrome, slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    """JupyterLab marks its theme on the body; the system's may be the other one."""
    reader, colors = Reader(browser), []
    for light, theme in (("true", "dark"), ("false", "light")):
        path = tmp_path / f"{light}.html"
        path.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><body data-jp-theme-light="{light}">'
            f"{slow_loader._repr_html_()}",
            encoding="utf-8",
        )
        show(browser, path, theme=theme)
        assert reader.one(".torchtraceap table").is_displayed()
        fill = "return getComputedStyle(document.querySelector('rect.c-input')).fill"
        colors.append(reader.run(fill))
    assert colors == ["rgb(183, 71, 4)", "rgb(240, 160, 48)"]
    assert browser.get_log("browser") == []
