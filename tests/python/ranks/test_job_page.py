# SPDX-License-Identifier: BSD-3-Clause
"""test_job_page.py: the ranks of a job as one page.

Used in a browser: test_job_page_browser.py.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from torchtraceap.data.job import JobData
from torchtraceap.views.html.job_page import job_page
from torchtraceap.views.job_drawing import drawing_of

from .sample_jobs import data_parallel_job
from .small_job import LOADER, even, late, slow_loader

HOSTILE = "</script><script>alert(1)</script>\"'<!--\\\u202e\u0000\n&amp;"


def data_of(page: str) -> Any:
    """What the page's script draws."""
    (text,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(text)


def slices_of(rank: Any) -> list[tuple[int, int, int, int]]:
    """Begin, end, wait and collective of what a rank was in."""
    out, begin, place = [], 0, 0
    columns = (rank[name] for name in ("start", "length", "wait", "collective"))
    for start, length, wait, collective in zip(*columns, strict=True):
        begin, place = begin + start, place + collective
        out.append((begin, begin + length, wait, place))
    return out


def test_it_says_who_was_late_and_why() -> None:
    page = job_page(slow_loader())
    assert "Slowdown 1.5" in page
    assert "Late most was rank 3: dataloader_bound at data.py:41 load" in page
    assert LOADER.message in page and LOADER.advice in page
    assert "8 of 8 ranks" in page and "462 ms" in page
    assert 'id="ranks"' in page and 'id="collectives"' in page
    assert "worst rank end within 12.5 µs" in page


def test_nobody_is_named_where_ranks_are_even() -> None:
    page = job_page(even())
    assert "No stragglers" in page and "Late most" not in page


def test_every_rank_is_a_row_on_the_common_clock() -> None:
    job = data_parallel_job(8, slow=5)
    data = data_of(job_page(job))
    assert [rank["label"] for rank in data["ranks"]] == [f"rank {r}" for r in range(8)]
    for place, rank in enumerate(data["ranks"]):
        drawn = slices_of(rank)
        assert len(drawn) == len(job.joined_collectives)
        for begin, end, wait, collective in drawn:
            arrival = job.joined_collectives[collective].arrivals[place]
            there = (arrival.begin_us, arrival.end_us, arrival.wait_us)
            assert [x / 1000 for x in (begin, end, wait)] == pytest.approx(there)
        assert len(rank["steps"]) == 2 * job.facts.steps
    assert [number for number, *_ in data["steps"]] == [0, 1, 2, 3]
    assert {data["ranks"][m["last"]]["label"] for m in data["collectives"]} == {
        "rank 5"
    }
    for collective in data["collectives"]:
        assert collective["own"] and collective["late"] > 1e6
        text, _ = collective["why"][0]
        assert data["names"][text].startswith("rank 5: kernels in compute")


def test_a_rank_that_another_made_late_is_told_apart() -> None:
    job = slow_loader()
    (cause,) = job.causes
    data = data_of(job_page(replace(job, causes=(cause.replace(rank=2),))))
    assert [collective["own"] for collective in data["collectives"]] == [False]


def test_the_shortest_collectives_are_left_out_and_counted() -> None:
    job = data_parallel_job(8, slow=5)
    length = [
        sum(a.end_us - a.begin_us for a in m.arrivals) for m in job.joined_collectives
    ]
    drawing = drawing_of(job, 8 * 10)
    kept = {drawn.place for drawn in drawing.collectives}
    assert len(kept) == 10 and drawing.left_out == len(job.joined_collectives) - 10
    left = [us for place, us in enumerate(length) if place not in kept]
    assert max(left) <= min(length[place] for place in kept)
    assert drawing.left_out_us == pytest.approx(sum(left))


def test_512_ranks_make_a_page_of_bounded_size() -> None:
    page = job_page(data_parallel_job(512, slow=300, steps=2, collectives=4))
    assert len(page) < 500_000
    assert "rank 300" in page


def hostile_job() -> JobData:
    job = slow_loader()
    finding = LOADER.replace(pattern=HOSTILE, message=HOSTILE, advice=HOSTILE)
    rows = [r.replace(host=HOSTILE, device=HOSTILE, path=HOSTILE) for r in job.ranks]
    collectives = tuple(
        m.replace(name=HOSTILE, group=HOSTILE) for m in job.joined_collectives
    )
    lates = (late(finding=finding, location=None, name=HOSTILE, collective=HOSTILE),)
    job = replace(job, ranks=tuple(rows), joined_collectives=collectives, late=lates)
    return job.with_facts(source=HOSTILE, recording=HOSTILE)


def test_names_are_no_markup() -> None:
    page = job_page(hostile_job())
    assert len(re.findall("<script", page)) == 2 == len(re.findall("</script", page))
    assert "<!--" not in page and "\u202e" not in page and "\0" not in page
    assert "alert(1)" in page


def test_it_needs_nothing_else() -> None:
    page = job_page(slow_loader())
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)=["'](?!#)|url\(|@import""", page)
    assert page == job_page(slow_loader())
