# SPDX-License-Identifier: BSD-3-Clause
"""test_job_page_browser.py: the page of a job in a browser, as a reader uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchtraceap.views.html.job_page import job_page

from .sample_jobs import data_parallel_job

pytest.importorskip("selenium", reason="needs selenium")
from selenium.webdriver.common.keys import Keys

from .. import page_reader
from ..page_reader import Reader, show

pytestmark = [page_reader.NEEDS_CHROMIUM, pytest.mark.verify]
browser = page_reader.browser
reader = page_reader.reader


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("job") / "job.html"
    path.write_text(job_page(data_parallel_job(64, slow=40)), "utf-8")
    return path


def test_what_is_pointed_to_is_told(reader: Reader) -> None:
    reader.run("byId('by-lateness').click()")
    reader.drawn()
    gutter = reader.run(
        "return parseFloat(getComputedStyle(canvas).getPropertyValue('--gutter'))"
    )
    told = [reader.hover(gutter + x, 56) for x in range(4, 60, 3)]
    late = next(text for text in told if text.startswith("rank 40, "))
    assert "late by" in late and "rank 40: kernels in compute" in late
    below = [reader.hover(gutter + x, 56 + 12 * 5) for x in range(4, 60, 3)]
    assert any("waited 2" in text for text in below)


def test_keys_go_from_late_rank_to_late_rank(reader: Reader) -> None:
    reader.run("canvas.focus()")
    reader.press("n")
    first = reader.one("#chosen").text
    assert "rank 40 came last" in first and reader.range() != "All 83.7 ms"
    # Its row was scrolled into view.
    assert reader.run("return byId('lanes').scrollTop") > 0
    reader.press("n", "p")
    assert reader.one("#chosen").text == first
    reader.press(Keys.ESCAPE)
    assert reader.one("#chosen").text == ""


def test_a_card_leads_to_its_collective(reader: Reader) -> None:
    before = reader.range()
    reader.one(".card .show").click()
    assert reader.range() != before and "rank 40" in reader.one("#chosen").text
    assert reader.in_view(reader.one("#canvas"))


def test_light_and_dark_and_narrow(reader: Reader, page: Path) -> None:
    light = reader.drawn()
    show(reader.driver, page, theme="dark", width=360)
    assert reader.drawn() != light
    reader.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert reader.run("return document.documentElement.scrollWidth") <= 360
