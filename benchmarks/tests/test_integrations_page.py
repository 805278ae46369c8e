# SPDX-License-Identifier: BSD-3-Clause
"""test_integrations_page.py: the page of what integrations cost is what was found."""

from __future__ import annotations

import json

import pytest

from benchmarks import RESULTS

pytest.importorskip("torch")

pytestmark = pytest.mark.verify


from benchmarks.integrations import integrations_page
from benchmarks.integrations.pair_cost import Case, Cost, added, measured, ratio


def test_the_page_is_that_of_the_figures() -> None:
    results = json.loads((RESULTS / "integrations.json").read_text())
    page = (RESULTS / "integrations.md").read_text()
    assert page == integrations_page.page(results)
    assert not results["machine"]["dirty"]


def test_pairs_alternate_and_the_first_is_left_out() -> None:
    asked: list[bool] = []

    def run(has_it: bool) -> dict[str, float]:
        asked.append(has_it)
        return {"outside": 3.0 if has_it else 2.0}

    found = measured(Case("x", "", "", run), 2)
    assert asked == [False, True, True, False, False, True]
    assert found == {"outside": [(2.0, 3.0)] * 2}


def test_an_interval_is_as_wide_as_the_pairs_differ() -> None:
    assert ratio([(2.0, 3.0)] * 9) == Cost(1.5, 1.5, 1.5)
    cost = added([(1.0, 1.0 + extra) for extra in (0, 0, 1, 1, 2, 2, 2)])
    assert (cost.low, cost.median, cost.high) == (0, 1, 2)
