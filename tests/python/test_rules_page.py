# SPDX-License-Identifier: BSD-3-Clause
"""test_rules_page.py: the code of docs/rules.md runs, and its settings are settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from torchtraceap.config import read_changes
from torchtraceap.rule_view import RuleView


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "rules.md").read_text("utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_code_runs(
    page: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One block after the other, in one namespace, as a reader would."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(root / "tests")
    (tmp_path / "settings.toml").write_text(blocks(page, "toml")[0])
    assert read_changes("settings.toml", {}) == {
        "sync_stall": {"min_share": 0.02},
        "gc_pause": {"enabled": False},
    }
    namespace: dict[str, Any] = {}
    found = blocks(page, "python")
    assert len(found) == 4
    for code in found:
        exec(compile(code, "docs/rules.md", "exec"), namespace)
    # The last report is that of two rules on a real trace.
    memset, gaps = namespace["report"].rules
    assert memset.claims > 0 and memset.claimed_us > 0
    assert gaps.claims > 0
    assert namespace["report"].settings["long_gaps"] == {
        "min_us": 300,
        "min_share": 0.001,
    }


def test_the_view_is_described(page: str) -> None:
    named = set(re.findall(r"`view\.(\w+)", page))
    public = {name for name in vars(RuleView) if not name.startswith("_")}
    assert named == public | {"trace", "thresholds"}


def test_the_entry_points_have_the_name_looked_for(page: str) -> None:
    from torchtraceap.rules import ENTRY_POINTS

    assert f'[project.entry-points."{ENTRY_POINTS}"]' in page


def test_links_lead_somewhere(page: str, root: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (root / "docs" / target).exists(), target
