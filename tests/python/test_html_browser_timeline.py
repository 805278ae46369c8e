# SPDX-License-Identifier: BSD-3-Clause
"""test_html_browser_timeline.py: the timeline of the page, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import Report
from torchtraceap.base.units import time_text
from torchtraceap.views.html.window_strip import window_strip

from .trace_builder import deep_trace

pytest.importorskip("selenium", reason="needs selenium")
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from . import page_reader
from .page_reader import Reader, is_, show

pytestmark = [page_reader.NEEDS_CHROMIUM, pytest.mark.verify]
browser, page, reader = page_reader.browser, page_reader.page, page_reader.reader


def held_by_cells(report: Report) -> list[range]:
    """Return which windows each cell of the strip holds: there may be more of them."""
    (lane,) = window_strip(report)
    return [range(cell.first, cell.last + 1) for cell in lane.cells]


def test_a_finding_is_shown_in_the_timeline(
    reader: Reader, slow_loader: Report
) -> None:
    before = reader.drawn()
    card = reader.all(".card")[4]
    card.find_element(By.TAG_NAME, "summary").click()
    assert is_(card, "selected")
    assert reader.drawn() != before  # Its windows are shaded.
    reader.run("scrollTo(0, document.body.scrollHeight)")
    card.find_element(By.CSS_SELECTOR, "button.show").click()
    reader.wait(lambda: reader.in_view(reader.one("#canvas")))
    finding = slow_loader.findings[4]
    event = finding.events[0]
    begin_us = event.start_us - slow_loader.trace.start_us - event.duration_us
    end_us = begin_us + 3 * event.duration_us
    assert reader.range().startswith(f"+{time_text(begin_us)} to +{time_text(end_us)}")
    lit = {i for i, cell in enumerate(reader.all(".cell")) if is_(cell, "lit")}
    assert lit == {
        i
        for i, held in enumerate(held_by_cells(slow_loader))
        if set(finding.windows) & set(held)
    }


def test_evidence_leads_to_its_time(reader: Reader, slow_loader: Report) -> None:
    link = reader.all(".card[open] .evidence .link")[2]
    event = slow_loader.findings[0].events[2]
    assert link.text == event.name
    link.click()
    begin_us = event.start_us - slow_loader.trace.start_us - event.duration_us
    assert reader.range().startswith(f"+{time_text(begin_us)} to ")


def test_a_mark_in_the_timeline_leads_to_its_finding(
    reader: Reader, slow_loader: Report
) -> None:
    """The loader's third batch is where its time says, in the row of findings."""
    canvas = reader.one("#canvas")
    reader.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    gutter = 132
    trace, event = slow_loader.trace, slow_loader.findings[0].events[1]
    middle = (event.start_us + event.duration_us / 2 - trace.start_us) / trace.span_us
    width, height = canvas.size["width"], canvas.size["height"]
    x = gutter + middle * (width - gutter)
    reader.run("document.querySelectorAll('.card')[0].open = false")
    mouse = ActionChains(reader.driver)
    mouse.move_to_element_with_offset(canvas, round(x - width / 2), 24 - height // 2)
    mouse.perform()
    assert "dataloader_bound" in reader.one("#tooltip").text
    mouse.click().perform()
    card = reader.all(".card")[0]
    reader.wait(lambda: card.get_attribute("open") is not None)
    assert is_(card, "selected")
    reader.wait(lambda: reader.in_view(card))


def test_a_window_leads_there_and_to_its_findings(
    reader: Reader, slow_loader: Report
) -> None:
    cell = reader.all(".cell")[16]
    held, following = held_by_cells(slow_loader)[16:18]
    windows, origin_us = slow_loader.windows, slow_loader.trace.start_us
    cell.click()
    begin_us = windows[held[0]].start_us - origin_us
    end_us = windows[held[-1]].end_us - origin_us
    assert reader.range().startswith(f"+{time_text(begin_us)} to +{time_text(end_us)}")
    marked = [i for i, card in enumerate(reader.all(".card")) if is_(card, "in-window")]
    findings = slow_loader.findings
    assert marked == [i for i, f in enumerate(findings) if set(held) & set(f.windows)]
    assert marked
    # And by keys: to the next window, which Enter chooses.
    reader.run("arguments[0].focus()", cell)
    reader.press(Keys.ARROW_RIGHT, Keys.ENTER)
    next_us = windows[following[0]].start_us - origin_us
    assert reader.range().startswith(f"+{time_text(next_us)} to ")


@pytest.mark.parametrize("focus", [".cell.chosen", "#canvas", "#zoom-in"])
def test_escape_ends_the_choice_of_a_window(reader: Reader, focus: str) -> None:
    reader.all(".cell")[16].click()
    (chosen,) = reader.all("[aria-current=true]")
    assert is_(chosen, "chosen") and reader.all(".in-window")
    reader.run("document.querySelector(arguments[0]).focus()", focus)
    reader.press(Keys.ESCAPE)
    assert not reader.all("[aria-current], .chosen, .in-window, .selected, .lit")


def test_evidence_in_the_last_row_is_drawn_framed_and_found(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """What is too deep for a row of its own lies in the last, across its callers."""
    report = torchtraceap.analyze(deep_trace(threads=1))
    report.to_html(tmp_path / "deep.html")
    show(browser, tmp_path / "deep.html")
    size = {"width": 1280, "height": 500, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    reader = Reader(browser)
    reader.record()
    finding = report.findings[0]
    name = "cudaStreamSynchronize"
    assert finding.pattern == "sync_stall" and finding.events[0].name == name
    for link in reader.all(".card[open] .evidence .link")[:3]:
        frames, written = reader.recorded(link.click)
        assert name in written
        ((left, top, width, _),) = [place for line, *place in frames if line == 3]
        assert width > 100
        low, high = reader.run(
            "const box = document.getElementById('lanes');"
            "return [box.scrollTop, box.scrollTop + box.clientHeight]"
        )
        assert low <= top and top + 15 <= high < 700  # Scrolled there.
        for x in (left + 2, left + width / 2, left + width - 2):
            said = reader.hover(x, top + 8)
            assert said.startswith(name) and "(scalar_read): click for" in said
            assert "took 2.9 ms" in said
        # Just beside it is what it lies in.
        for x in (left - 1.9, left + width + 4):
            assert not reader.hover(x, top + 8).startswith(name)
        assert reader.hover(100, top + 8) == ""
    # Of all evidence of the finding, the one that was clicked stands out.
    frames, _ = reader.recorded(reader.one("#zoom-all").click)
    assert sorted(line for line, *_ in frames) == [1] * (len(finding.events) - 1) + [3]
    canvas = reader.one("#canvas")
    frames, _ = reader.recorded(lambda: canvas.send_keys(Keys.ESCAPE))
    assert frames == []
    assert browser.get_log("browser") == []


def test_keys_and_buttons_zoom_and_move(reader: Reader) -> None:
    whole = reader.drawn()
    reader.run("document.getElementById('canvas').focus()")
    seen = [(reader.range(), whole)]
    for key in ("w", "+", "d", Keys.ARROW_LEFT, "a", "-"):
        reader.press(key)
        seen.append((reader.range(), reader.drawn()))
        assert seen[-1][0] != seen[-2][0], key
        assert seen[-1][1] != seen[-2][1], key
    reader.press(Keys.HOME)
    assert reader.range() == "All 1.07 s" and reader.drawn() == whole
    reader.one("#zoom-in").click()
    assert "(533 ms)" in reader.range()
    reader.run("document.getElementById('canvas').focus()")
    reader.press("w" * 60)
    assert "(0.2 µs)" in reader.range()
    reader.one("#zoom-all").click()
    assert reader.range() == "All 1.07 s"


def test_wheel_and_drag(reader: Reader) -> None:
    canvas = reader.one("#canvas")
    reader.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
    top = reader.run("return scrollY")
    mouse = ActionChains(reader.driver).key_down(Keys.CONTROL)
    mouse.scroll_from_origin(ScrollOrigin.from_element(canvas), 0, -400)
    mouse.key_up(Keys.CONTROL).perform()
    reader.wait(lambda: reader.range() != "All 1.07 s")
    zoomed = reader.range()
    assert reader.run("return scrollY") == top
    ActionChains(reader.driver).drag_and_drop_by_offset(canvas, 150, 0).perform()
    assert reader.range() != zoomed
    length = zoomed.partition("(")[2]
    assert reader.range().endswith(length)  # Moved, not zoomed.
