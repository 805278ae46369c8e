# SPDX-License-Identifier: BSD-3-Clause
"""test_pair_cost.py: costs from pairs of runs."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.verify


from benchmarks.device.pair_cost import Cost, added, ratio


def test_an_interval_is_as_wide_as_the_pairs_differ() -> None:
    assert ratio([(2.0, 3.0)] * 9) == Cost(1.5, 1.5, 1.5)
    cost = added([(1.0, 1.0 + extra) for extra in (0, 0, 1, 1, 2, 2, 2)])
    assert (cost.low, cost.median, cost.high) == (0, 1, 2)
