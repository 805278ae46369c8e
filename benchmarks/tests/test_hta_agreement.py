# SPDX-License-Identifier: BSD-3-Clause
"""test_hta_agreement.py: our figures against those that HTA gave for the same traces.

``benchmarks/agreement/hta.py`` ran HTA and recorded its figures, and which of its
rules make a difference (results/agreement.md). Without these, ours must equal
HTA's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import DATA, RESULTS
from benchmarks.agreement.ours import ours
from tests.python.real_traces import PATHS

pytestmark = pytest.mark.verify

RECORDED: dict[str, Any] = json.loads((RESULTS / "hta.json").read_text())["traces"]
TIMES = ("busy", "idle", "compute")
NEAR_US = 0.6  # HTA adds up doubles of absolute microseconds
NEAR_PERCENT = 0.1  # points; HTA rounds to 0.01


def test_the_traces_of_the_repository_are_recorded() -> None:
    names = {path.name for path in DATA.glob("*.json.gz")}
    assert names <= set(RECORDED)
    read = [r for r in RECORDED.values() if "busy" in r["runs"]["same"]["theirs_us"]]
    assert len(read) > 30


@pytest.mark.parametrize("name", sorted(set(RECORDED) & set(PATHS)))
def test_what_hta_says_is_what_we_say(name: str) -> None:
    found, row = ours(PATHS[name]), RECORDED[name]
    for run in row["runs"].values():
        theirs, changes = run["theirs_us"], run["changes_us"]
        assert not run["unexplained_us"]
        for figure in TIMES:
            if figure in theirs:
                its_rules = sum(of.get(figure, 0.0) for of in changes.values())
                expected = found[figure] / 1e3 + its_rules
                assert theirs[figure] == pytest.approx(expected, abs=NEAR_US), figure
    same = row["runs"]["same"]
    plain = not {rule for rule in same["changes_us"] if rule != "rounding"}
    for kernel, us in same["kernels_us"].items() if plain else ():
        assert us == pytest.approx(found["kernels"][kernel] / 1e3, abs=NEAR_US)
    overlap = same["theirs_us"].get("overlap_percent")
    if plain and overlap is not None:
        share = 100 * found["overlap"] / found["communication"]
        assert overlap == pytest.approx(share, abs=NEAR_PERCENT)
