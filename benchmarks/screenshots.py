#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""screenshots.py TRACE FOLDER: pictures of a trace's HTML report, for review.

Writes the page wide and narrow, light and dark, with a finding shown in the timeline,
and as printed, and what a notebook shows. Needs selenium, chromium and chromedriver.

    python -m benchmarks.screenshots --jupyterlab docs/images
    python -m benchmarks.screenshots --page docs/images
    python -m benchmarks.screenshots --server docs/images

write pictures for the docs: what JupyterLab shows for a report, a job and a comparison;
the page of the README's trace; a server's page with the report on it, and that of
a fleet.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

import torchtraceap
from benchmarks.serve.load import serving
from notebooks.jupyter_lab import RESULTS, jupyter_lab
from tests.python.fleets.conftest import starved
from tests.python.ranks.rank_folder import put

# Relative, as a page shows it.
README_TRACE = "tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz"
WIDE, NARROW = 1360, 360
# Around what a notebook shows: the marks by which JupyterLab tells its theme.
NOTEBOOK = """<!DOCTYPE html><meta charset="utf-8"><title>A notebook</title>
<body data-jp-theme-light="{light}" style="--jp-layout-color0: {page}; margin: 16px;
background: {page}; color: {text}">{shown}"""
THEMES = {"light": ("true", "#fff", "#212121"), "dark": ("false", "#111", "#e0e0e0")}
# Without the marks of the cell that is selected.
PLAIN = """const style = document.createElement('style');
style.textContent = '.jp-cell-toolbar, .jp-Collapser { display: none !important }';
document.head.append(style)"""


def main(trace: str, folder: str) -> None:
    """Write the pictures and say which."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    report = torchtraceap.analyze(trace)
    driver = browser()
    try:
        with tempfile.TemporaryDirectory() as pages:
            page = Path(pages) / "report.html"
            report.to_html(page)
            for theme in THEMES:
                for width in (WIDE, NARROW):
                    visit(driver, page, theme, width)
                    picture(driver, out / f"page-{width}-{theme}.png", width, 5000)
                    if shows := driver.find_elements(By.CSS_SELECTOR, ".card .show"):
                        resize(driver, width, 900)
                        shows[0].click()
                        time.sleep(1)  # It scrolls there.
                        picture(driver, out / f"finding-{width}-{theme}.png")
                light, back, text = THEMES[theme]
                shown = Path(pages) / f"{theme}.html"
                shown.write_text(
                    NOTEBOOK.format(
                        light=light, page=back, text=text, shown=report._repr_html_()
                    ),
                    encoding="utf-8",
                )
                visit(driver, shown, theme, 1000)
                picture(driver, out / f"notebook-{theme}.png", 1000, 1400)
            visit(driver, page, "light", WIDE)
            printed: Any = driver.execute_cdp_cmd("Page.printToPDF", {})
            (out / "printed.pdf").write_bytes(base64.b64decode(printed["data"]))
    finally:
        driver.quit()


def of_page(folder: str) -> None:
    """Write the top of a page, as far as a screen shows it, and say where. Run it in
    the root of the repository."""
    path, driver = Path(folder) / "page.png", browser()
    try:
        with tempfile.TemporaryDirectory() as pages:
            page = Path(pages) / "report.html"
            torchtraceap.analyze(README_TRACE).to_html(page)
            visit(driver, page, "light", WIDE)
            picture(driver, path, WIDE, 1100)
        small(path)
    finally:
        driver.quit()


def of_server(folder: str) -> None:
    """Write the page of a server with a report, and the page of a fleet of small traces
    and of one program that gets slower, and say where. Run it in the root of the
    repository."""
    driver, out, trace = browser(), Path(folder), Path(README_TRACE)
    try:
        with tempfile.TemporaryDirectory() as files:
            nights, results = Path(files) / "nightly", Path(files) / "results"
            for night, slow in enumerate((1.0, 1.02, 0.99, 1.01, 1.6, 1.62)):
                top = {"commit": f"{0xA1B2C3 * (night // 2 + 1):07x}", "model": "vit-l"}
                path = nights / f"2026-09-{14 + night}" / "train/trace.json"
                put(path, starved(day=night, slow=slow, **top))
            torchtraceap.fleet([nights, trace.parent], results)
            with serving("--fleet", str(results)) as (_, port):
                address = f"http://127.0.0.1:{port}/"
                resize(driver, WIDE, 900)
                driver.get(f"{address}v1/fleet?form=html")
                driver.execute_script(  # Not where it lies on this machine.
                    "document.querySelector('.path').remove()"
                )
                picture(driver, out / "fleet.png", WIDE, 1100)
                driver.get(address)
                chosen = driver.find_element(By.ID, "files")
                chosen.send_keys(str(trace.resolve()))
                chosen.submit()
                shown = driver.find_element(By.ID, "report")
                WebDriverWait(driver, 60).until(lambda _: shown.is_displayed())
                time.sleep(2)  # Its script draws.
                picture(driver, out / "drop.png", WIDE, 1100)
                for name in ("fleet", "drop"):
                    small(out / f"{name}.png")
    finally:
        driver.quit()


def small(path: Path) -> None:
    """Write a picture again with a palette, a third of the size."""
    Image.open(path).convert("RGB").quantize().save(path, optimize=True)


def in_jupyterlab(folder: str) -> None:
    """Write a picture of each result with its cell, and say which."""
    script = Path(__file__).parents[1] / "tests/python/ranks/train_ranks.py"
    driver = browser()
    try:
        with tempfile.TemporaryDirectory() as files, jupyter_lab(Path(files)) as lab:
            job = Path(files) / "job"
            job.mkdir()
            command = [sys.executable, str(script), str(job), "4", "2", "11"]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            lab.take_files(job)
            resize(driver, 1180, 2000)
            lab.run(driver, "results", RESULTS.values())
            driver.execute_script(PLAIN)
            cells = driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")
            for name, cell in zip(RESULTS, cells, strict=True):
                path = Path(folder) / f"notebook-{name}.png"
                cell.screenshot(str(path))
                small(path)
                print(path)
    finally:
        driver.quit()


def browser() -> webdriver.Chrome:
    """Start a chromium without a window."""
    options = webdriver.ChromeOptions()
    for option in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{option}")
    options.add_argument("--disable-dev-shm-usage")
    return webdriver.Chrome(options, Service(shutil.which("chromedriver")))


def visit(driver: webdriver.Chrome, page: Path, theme: str, width: int) -> None:
    """Open a page in a theme and at a width."""
    feature = {"name": "prefers-color-scheme", "value": theme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    resize(driver, width, 900)
    driver.get(page.as_uri())


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """Give the page a size that a window of a desktop may not have."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def picture(
    driver: webdriver.Chrome, path: Path, width: int = 0, most: int = 0
) -> None:
    """Write what is in view as a picture; with a width, the page up to a height."""
    if width:
        height = driver.execute_script("return document.documentElement.scrollHeight")
        resize(driver, width, min(height, most))
    # Two frames: one to see the new size, one to draw for it.
    driver.execute_async_script(
        "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
    )
    driver.save_screenshot(str(path))
    print(path)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].startswith("--"):
        made = {"--jupyterlab": in_jupyterlab, "--page": of_page, "--server": of_server}
        made[sys.argv[1]](sys.argv[2])
        sys.exit()
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
