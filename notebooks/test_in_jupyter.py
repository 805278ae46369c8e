# SPDX-License-Identifier: BSD-3-Clause
"""test_in_jupyter.py: results as JupyterLab shows them, and nbconvert's pages.

One server, one kernel and one browser serve all tests. Places and colors are measured
as the browser draws them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import sleep
from typing import Any

import pytest

pytest.importorskip("jupyterlab")
pytest.importorskip("nbconvert")
pytest.importorskip("selenium")
pytest.importorskip("torch")
import nbconvert
from selenium import webdriver

from notebooks.jupyter_lab import RESULTS, Lab, jupyter_lab
from tests.python import page_reader
from tests.python.ranks.conftest import slow_job as slow_job

pytestmark = [
    page_reader.NEEDS_CHROMIUM,
    pytest.mark.verify,
    # Jupyter's own packages warn.
    pytest.mark.filterwarnings("default"),
]
browser = page_reader.browser

SHOWN = (  # The program, its template or none, the page's theme, the system's.
    ("jupyterlab", "", "light", "dark"),
    ("jupyterlab", "", "dark", "light"),
    ("nbconvert", "lab", "light", "dark"),
    ("nbconvert", "lab", "dark", "light"),
    ("nbconvert", "classic", "light", "light"),
    ("nbconvert", "classic", "light", "dark"),
)
NUMBER = re.compile(r"[≤×]? ?[\d.,]+ ?(%|ms|µs|s|×)?")

# Each form: its verdict, its tables' cells and all its text as the browser draws them.
MEASURE = """
const bottom = e => Math.round(e.bottom);
function box(of) {
  const range = document.createRange();
  range.selectNodeContents(of);
  const walk = document.createTreeWalker(of, NodeFilter.SHOW_TEXT), rects = [];
  while (walk.nextNode()) {
    range.selectNodeContents(walk.currentNode);
    if (walk.currentNode.data.trim()) rects.push(...range.getClientRects());
  }
  return {
    lines: new Set(rects.map(bottom)).size,
    left: Math.min(...rects.map(r => r.left)), top: Math.min(...rects.map(r => r.top)),
    right: Math.max(...rects.map(r => r.right)),
    bottom: Math.max(...rects.map(r => r.bottom)),
  };
}
const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
function paint(color, alpha = 1) {
  pen.globalAlpha = alpha;
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const light = c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
  const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map(c => light(c / 255));
  return .2126 * r + .7152 * g + .0722 * b;
}
function contrast(element) {
  let around = [], opacity = 1, ground = paint('#fff');
  for (let e = element; e; e = e.parentElement) around.unshift(getComputedStyle(e));
  for (const style of around) {
    ground = paint(style.backgroundColor);
    opacity *= style.opacity;
  }
  const text = paint(around.at(-1).color, opacity);
  return (Math.max(text, ground) + .05) / (Math.min(text, ground) + .05);
}
return [...document.querySelectorAll('.torchtraceap')].map(form => {
  form.querySelectorAll('details').forEach(d => { d.open = true; });
  form.scrollIntoView({block: 'start', behavior: 'instant'});
  const texts = [...form.querySelectorAll('*')].filter(e =>
    !e.closest('style, svg') && e.getClientRects().length &&
    [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()));
  const area = form.closest('.jp-OutputArea-output, .output_subarea');
  const panel = form.closest('.jp-WindowedPanel-outer')?.getBoundingClientRect();
  return {
    first: texts[0].className,
    verdict: box(form.querySelector('.headline')),
    view: panel ?? {top: 0, bottom: innerHeight},
    page: document.documentElement.scrollWidth,
    area: [area.scrollWidth - area.clientWidth, area.scrollHeight - area.clientHeight],
    beyond: texts.filter(e => (e.matches('.message') || !e.closest('.scroll, pre')) &&
      box(e).right > area.getBoundingClientRect().right + 1).map(e => e.textContent),
    scrolled: [...form.querySelectorAll('.scroll')]
      .filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText.slice(0, 40)),
    faint: texts.map(e => [contrast(e), e.textContent.trim()]).filter(c => c[0] < 4.5),
    rows: [...form.querySelectorAll('tr')].map(row => [...row.cells].map(cell => {
      const style = getComputedStyle(cell), r = cell.getBoundingClientRect();
      return {
        text: cell.innerText.trim(), spans: cell.colSpan > 1,
        heads: cell.tagName == 'TH', ranges: cell.matches('.saves'), ...box(cell),
        swatch: cell.querySelector('.swatch')?.getBoundingClientRect().left ?? null,
        inner: [r.left + parseFloat(style.paddingLeft),
                r.right - parseFloat(style.paddingRight)],
      };
    })),
    code: form.querySelectorAll('pre .here').length,
  };
});
"""

Measured = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, slow_job: Path) -> Iterator[Lab]:
    with jupyter_lab(tmp_path_factory.mktemp("jupyter")) as server:
        server.take_files(slow_job)
        # Of this name, in the traces. Its lines are shown beside the findings.
        program = server.folder / "resnet50_profiler_api.py"
        program.write_text("".join(f"line_{n} = {n}\n" for n in range(1, 60)), "utf-8")
        yield server


@pytest.fixture(scope="module")
def notebook(lab: Lab, browser: webdriver.Chrome) -> Path:
    """The notebook, open in JupyterLab, as it was saved there."""
    # nbconvert's pages ask for scripts from elsewhere, which they can do without.
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["https://*"]})
    size(browser, 1400)
    return lab.run(browser, "results", RESULTS.values())


@pytest.fixture(scope="module", params=SHOWN, ids=" ".join)
def shown(
    request: pytest.FixtureRequest,
    lab: Lab,
    browser: webdriver.Chrome,
    notebook: Path,
) -> Callable[[int], Measured]:
    """Measures the forms at a width, in a program and a theme."""
    program, template, theme, system = request.param
    feature = {"name": "prefers-color-scheme", "value": system}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    if program == "jupyterlab":
        lab.theme(browser, theme)
    else:
        page = notebook.with_name(f"{template}-{theme}.html")
        exporter = nbconvert.HTMLExporter(template_name=template, theme=theme)
        page.write_text(exporter.from_filename(notebook)[0], "utf-8")
        browser.get(page.as_uri())

    measured: dict[int, Measured] = {}

    def measure(width: int) -> Measured:
        if width not in measured:
            size(browser, width)
            measured[width] = settled(browser)
        return measured[width]

    return measure


def settled(browser: webdriver.Chrome) -> Measured:
    """Measure the forms once they stay as they are.

    JupyterLab answers before the sheets of a theme are there, and before it has laid
    out its panels at a new size.
    """
    last = None
    for _ in range(40):
        measured: Measured = browser.execute_script(MEASURE)
        if measured == last:
            return measured
        last = measured
        sleep(0.25)
    raise AssertionError("the forms still move after 10 s")


def size(browser: webdriver.Chrome, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def test_each_form_starts_with_its_verdict(shown: Callable[[int], Measured]) -> None:
    forms = shown(1400)
    assert len(forms) == len(RESULTS)
    for form in forms:
        assert form["first"] == "headline"
        verdict, view = form["verdict"], form["view"]
        assert view["top"] <= verdict["top"] and verdict["bottom"] <= view["bottom"]


def test_nothing_is_wider_than_the_output(shown: Callable[[int], Measured]) -> None:
    for width in (1400, 900):
        for form in shown(width):
            assert form["page"] <= width
            assert form["area"] == [0, 0] and form["beyond"] == []
    assert [form["scrolled"] for form in shown(1400)] == [[]] * len(RESULTS)


@pytest.mark.parametrize(("width", "lines"), [(1400, 2), (900, 3)])
def test_cells_are_not_squeezed(
    shown: Callable[[int], Measured], width: int, lines: int
) -> None:
    for form in shown(width):
        head = [cell["text"] for row in form["rows"][:1] for cell in row]
        assert head and "" not in head
        for row in form["rows"]:
            for cell in row:
                if not (cell["spans"] and form["code"]):  # Code has its own lines.
                    assert cell["lines"] <= lines, cell["text"]


def is_figure(cell: dict[str, Any]) -> bool:
    return bool(NUMBER.fullmatch(cell["text"])) and not cell["ranges"]


def is_word(cell: dict[str, Any]) -> bool:
    return not re.search(r"\d|^[-–]$", cell["text"])


def test_figures_are_flush_right_and_words_left(
    shown: Callable[[int], Measured],
) -> None:
    figures = words = 0
    for form in shown(1400):
        head: list[dict[str, Any]] = []
        for row in form["rows"]:
            if row[0]["heads"]:
                head = row
            elif not row[0]["spans"]:
                for title, cell in zip(head, row, strict=True):
                    begins = cell["left"] if cell["swatch"] is None else cell["swatch"]
                    if is_figure(cell):
                        figures += 1
                        assert abs(cell["right"] - cell["inner"][1]) <= 1, cell
                        assert abs(cell["right"] - title["right"]) <= 1, cell
                    elif is_word(cell):
                        words += 1
                        assert abs(cell["left"] - cell["inner"][0]) <= 1, cell
                        assert abs(begins - title["left"]) <= 1, cell
    assert figures > 60 and words > 20


def test_columns_are_apart(shown: Callable[[int], Measured]) -> None:
    for width in (1400, 900):
        for cell, after in (
            pair
            for form in shown(width)
            for row in form["rows"]
            for pair in pairwise(row)
        ):
            begins = after["left"] if after["swatch"] is None else after["swatch"]
            assert begins - cell["right"] >= 10, (cell["text"], after["text"])


def test_text_stands_out(shown: Callable[[int], Measured]) -> None:
    assert [form["faint"] for form in shown(1400)] == [[]] * len(RESULTS)
    assert shown(1400)[0]["code"] > 0
