# SPDX-License-Identifier: BSD-3-Clause
"""test_gallery.py: each public trace still gets the verdict that people judged."""

from __future__ import annotations

import pytest

import torchtraceap
from benchmarks import RESULTS, ROOT, TRACES

tomllib = pytest.importorskip("tomllib")
pytestmark = pytest.mark.verify

JUDGED = tomllib.loads((ROOT / "benchmarks" / "gallery.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", JUDGED)
def test_the_costliest_finding_is_the_judged_one(name: str) -> None:
    path = TRACES / f"{name}.json.gz"
    if not path.exists():
        pytest.skip("the public traces are not beside this checkout")
    report = torchtraceap.analyze(path)
    judged = JUDGED[name]["top"]
    if judged == "unusable":
        assert report.quality.verdict == "unusable"
        assert not report.findings
    else:
        found = [finding.pattern for finding in report.findings[:1]]
        assert found == ([judged] if judged else [])


def test_the_page_tells_of_every_trace() -> None:
    page = (RESULTS / "gallery.md").read_text("utf-8")
    for name, judged in JUDGED.items():
        assert f"\n## {name}\n" in page
        assert judged["right"] in ("yes", "partly", "no")
        assert judged["right"] == "yes" or judged["missing"], name
