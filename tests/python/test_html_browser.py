# SPDX-License-Identifier: BSD-3-Clause
"""test_html_browser.py: the page in a browser, used as a reader uses it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.units import time_text

from .deep_trace import deep_trace

selenium = pytest.importorskip("selenium", reason="needs selenium")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

DRIVER = shutil.which("chromedriver")
CHROME = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    not (DRIVER and CHROME), reason="needs chromium and chromedriver"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """A chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROME or ""
    for name in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{name}")
    # What the page would fetch is in here, whether it succeeds or not.
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(
    tmp_path_factory: pytest.TempPathFactory, slow_loader: torchtraceap.Report
) -> Path:
    """The report of the slow loader as a file."""
    path = tmp_path_factory.mktemp("html") / "report.html"
    slow_loader.to_html(path)
    return path


class Reader:
    """Somebody with a page before them."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def drawn(self) -> str:
        """Return the picture of the timeline, once all is drawn."""
        return str(
            self.driver.execute_async_script(
                "const done = arguments[0]; requestAnimationFrame(() => "
                "requestAnimationFrame(() => done(canvas.toDataURL())))"
            )
        )

    def record(self) -> None:
        """From now on note what is framed, how broadly, and what is written."""
        self.run(
            "window.frames_ = []; window.written_ = [];"
            "const pen = CanvasRenderingContext2D.prototype;"
            "pen.strokeRect = function (...a) {"
            "  frames_.push([this.lineWidth, ...a]); };"
            "pen.fillText = function (text) { written_.push(text); };"
        )

    def recorded(self, action: Callable[[], object]) -> tuple[list[Any], list[str]]:
        """Act; return the frames then drawn (line, x, y, width, height), and texts."""
        self.drawn()
        self.run("frames_ = []; written_ = []")
        action()
        self.drawn()
        frames, written = self.run("return [frames_, written_]")
        return frames, written

    def hover(self, x: float, y: float) -> str:
        """Point to a place of the canvas; return what is said of it."""
        return str(
            self.run(
                "const c = document.getElementById('canvas');"
                "const r = c.getBoundingClientRect(), t = tooltip;"
                "c.dispatchEvent(new PointerEvent('pointermove',"
                "  {clientX: r.left + arguments[0], clientY: r.top + arguments[1]}));"
                "return t.hidden ? '' : t.textContent",
                x,
                y,
            )
        )

    def range(self) -> str:
        return self.one("#range").text

    def wait(self, condition: Callable[[], object]) -> None:
        WebDriverWait(self.driver, 5).until(lambda _: condition())

    def in_view(self, element: WebElement) -> bool:
        return bool(
            self.run(
                "const r = arguments[0].getBoundingClientRect();"
                "return r.bottom > 0 && r.top < innerHeight && r.width > 0",
                element,
            )
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()


def is_(element: WebElement, name: str) -> bool:
    """Tell whether an element has a class."""
    return name in str(element.get_attribute("class")).split()


@pytest.fixture
def reader(browser: webdriver.Chrome, page: Path) -> Iterator[Reader]:
    """A reader with the page just opened; nothing may be complained of."""
    show(browser, page)
    yield Reader(browser)
    assert browser.get_log("browser") == []


def show(
    browser: webdriver.Chrome, page: Path, width: int = 1280, theme: str = "light"
) -> None:
    """Open a page at a width and in a theme."""
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # Scrolls at once.
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())


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


def test_a_finding_is_shown_in_the_timeline(
    reader: Reader, slow_loader: torchtraceap.Report
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
    assert lit == set(finding.windows)


def test_evidence_leads_to_its_time(
    reader: Reader, slow_loader: torchtraceap.Report
) -> None:
    link = reader.all(".card[open] .evidence .link")[2]
    event = slow_loader.findings[0].events[2]
    assert link.text == event.name
    link.click()
    begin_us = event.start_us - slow_loader.trace.start_us - event.duration_us
    assert reader.range().startswith(f"+{time_text(begin_us)} to ")


def test_a_mark_in_the_timeline_leads_to_its_finding(
    reader: Reader, slow_loader: torchtraceap.Report
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
    reader: Reader, slow_loader: torchtraceap.Report
) -> None:
    cell = reader.all(".cell")[16]
    window = slow_loader.windows[16]
    cell.click()
    begin_us = window.start_us - slow_loader.trace.start_us
    assert reader.range().startswith(
        f"+{time_text(begin_us)} to +{time_text(begin_us + window.duration_us)}"
    )
    marked = [i for i, card in enumerate(reader.all(".card")) if is_(card, "in-window")]
    findings = slow_loader.findings
    assert marked == [i for i, f in enumerate(findings) if 16 in f.windows] != []
    # And by keys: to the next window, which Enter chooses.
    reader.run("arguments[0].focus()", cell)
    reader.press(Keys.ARROW_RIGHT, Keys.ENTER)
    next_us = slow_loader.windows[17].start_us - slow_loader.trace.start_us
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


def test_an_event_of_no_length_is_framed(reader: Reader) -> None:
    frames = reader.run(
        "const lane = {label: 'x', rows: 1, start: [400, 100], length: [100, 0],"
        "  name: [0, 0], color: [0, 0], row: [0, 0], event: [6, 7], merged: {}};"
        "const finding = {color: 'wait', kind: 'x', cells: [], events: [[7, 500, 0]]};"
        "const line = new Timeline(document.getElementById('canvas'), {span: 1000,"
        "  lanes: [lane], details: [], names: ['x'], steps: [], cells: [],"
        "  findings: [finding]}, () => {}, () => {});"
        "const frames = [], pen = CanvasRenderingContext2D.prototype;"
        "pen.strokeRect = (...a) => frames.push(a);"
        "line.selected = 0; line.draw(); return frames"
    )
    ((x, _, width, _),) = frames
    canvas = reader.one("#canvas").size["width"]
    assert x == pytest.approx(132 + (canvas - 132) / 2, abs=1) and width == 3


def test_slices_are_found_by_time(reader: Reader) -> None:
    """Against a look at each, in rows whose slices overlap or have no length."""
    draw = random.Random(7)
    for _ in range(20):
        begins = sorted(draw.choices(range(300), k=40))
        lengths = [draw.choice([0, 1, 3, draw.randrange(80)]) for _ in begins]
        steps = [b - a for a, b in zip([0, *begins], begins, strict=False)]
        found = reader.run(
            "const [start, length] = arguments, none = start.map(() => 0);"
            "const [row] = readRows({rows: 1, start, length, name: none, color: none,"
            "  row: none, event: start.map((_, i) => i), merged: {}}, ['']);"
            "const times = [...Array(400).keys()];"
            "return [times.map(t => firstAfter(row, t)),"
            "  times.map(t => sliceAt(row, t, 0.5, new Set([9]))?.event ?? -1)]",
            steps,
            lengths,
        )
        ends = [b + n for b, n in zip(begins, lengths, strict=True)]
        for time, (first, shown) in enumerate(zip(*found, strict=True)):
            later = [i for i, end in enumerate(ends) if end > time]
            assert first == (later[0] if later else len(ends))
            there = [i for i in range(40) if begins[i] <= time <= ends[i]]
            expected = 9 if 9 in there else there[-1] if there else -1
            assert shown == expected


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
