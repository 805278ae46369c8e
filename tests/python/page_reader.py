# SPDX-License-Identifier: BSD-3-Clause
"""page_reader.py: a chromium without a window, and somebody who reads a report in it.

A test file takes the fixtures it needs by their names: ``reader = page_reader.reader``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import torchtraceap

pytest.importorskip("selenium", reason="needs selenium")
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

DRIVER = shutil.which("chromedriver")
CHROME = shutil.which("chromium") or shutil.which("google-chrome")
NEEDS_CHROMIUM = pytest.mark.skipif(
    not (DRIVER and CHROME), reason="needs chromium and chromedriver"
)


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """Yield a chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROME or ""
    for name in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{name}")
    options.add_argument("--disable-popup-blocking")
    # What the page would fetch is in here, whether it succeeds or not.
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    driver = webdriver.Chrome(options, Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """A chromium without a window."""
    with chromium() as driver:
        yield driver


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
        """Point to a place of the canvas; return its tooltip."""
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
    log = browser.get_log("browser")
    assert log == [], log


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
