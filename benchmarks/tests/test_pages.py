# SPDX-License-Identifier: BSD-3-Clause
"""test_pages.py: result pages match their figures, and none is stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import RESULTS, ROOT
from benchmarks.dryrun import apis_page
from benchmarks.lab import pages

pytestmark = pytest.mark.verify

KNOWN = {of.name: of for of in pages.pages()}
KEPT = {name: of for name, of in KNOWN.items() if of.kept}
TEMPLATE = """\
+++
title = "A page"
command = "python -m benchmarks.a"
measures = ["code", "more.toml"]
+++
{{ f(value, ".1f") }}
"""


@pytest.mark.parametrize("name", KEPT)
def test_a_page_is_what_its_figures_give(name: str) -> None:
    figures = json.loads(KEPT[name].kept.read_text("utf-8"))
    text = KEPT[name].path.read_text("utf-8")
    assert text == pages.render(KEPT[name], figures)
    assert figures["machine"]["commit"] in text
    assert pages.as_json(figures) == KEPT[name].kept.read_text("utf-8")


def test_which_calls_wait_is_what_the_probes_say() -> None:
    of = KNOWN["dryrun_apis"]
    text = pages.render(of, apis_page.page())
    said = of.path.read_text("utf-8")
    assert text.rpartition("<!--")[0] == said.rpartition("<!--")[0]


def test_every_page_is_made_or_says_that_it_is_historical() -> None:
    for path in RESULTS.glob("*.md"):
        assert path.stem in KNOWN or "**Historical**" in path.read_text("utf-8"), path


def test_docs_say_of_which_commit_a_historical_page_is() -> None:
    told = " ".join((ROOT / "docs" / "measured.md").read_text("utf-8").split())
    for of in KEPT.values():
        commit = json.loads(of.kept.read_text("utf-8"))["machine"]["commit"]
        link = f"(../benchmarks/results/{of.name}.md) (at {commit})"
        assert (link in told) == bool(of.historical), of.name


def test_no_page_is_older_than_what_it_measures() -> None:
    stale = [f"{of.name}: {of.command}" for of in KNOWN.values() if of.stale]
    assert not stale, "to be remade: " + "; ".join(stale)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one page."""
    for name in ("ROOT", "RESULTS", "TEMPLATES"):
        monkeypatch.setattr(pages, name, tmp_path)
    (tmp_path / "a.md.jinja").write_text(TEMPLATE)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text('"""What a is."""\nimport b\n\na = 1\n')
    (tmp_path / "code" / "b.cpp").write_text("int b() { return 1; }\n")
    (tmp_path / "code" / "notes.md").write_text("words")
    (tmp_path / "more.toml").write_text("c = 1\n")
    return tmp_path


def test_a_page_is_written_with_what_was_measured(tree: Path) -> None:
    text = pages.write("a", {"machine": pages.machine(), "value": 1.26})
    assert text.startswith("# A page\n\nWritten by `python -m benchmarks.a`;")
    assert "\n\n1.3\n\n" in text and text == (tree / "a.md").read_text()
    assert json.loads((tree / "a.json").read_text())["value"] == 1.26
    assert not pages.page("a").stale and pages.main([]) == 0


@pytest.mark.parametrize(
    ("file", "text", "stale"),
    [
        ("code/a.py", '"""Other words."""\nfrom b import c\n\na = 1  # one\n', False),
        ("code/b.cpp", '#include "c.h"\nint b() {\n  return 1;  // one\n}\n', False),
        ("code/notes.md", "other words", False),
        ("code/a.py", "a = 2\n", True),
        ("code/b.cpp", "int b() { return 2; }\n", True),
        ("code/c.h", "int c();\n", True),
        ("more.toml", "c = 2\n", True),
    ],
)
def test_what_makes_a_page_stale(tree: Path, file: str, text: str, stale: bool) -> None:
    pages.write("a", {"machine": pages.machine(), "value": 1})
    (tree / file).write_text(text)
    assert pages.page("a").stale == stale and pages.main([]) == int(stale)
    historical = TEMPLATE.replace("measures", 'historical = "it took hours."\nmeasures')
    (tree / "a.md.jinja").write_text(historical)
    assert not pages.page("a").stale


def test_code_that_moves_makes_no_page_stale(tree: Path) -> None:
    pages.write("a", {"machine": pages.machine(), "value": 1})
    (tree / "code" / "inner").mkdir()
    (tree / "code" / "a.py").rename(tree / "code" / "inner" / "z.py")
    assert not pages.page("a").stale


def test_what_is_measured_is_there() -> None:
    for of in KNOWN.values():
        assert of.digest


@pytest.mark.parametrize(
    ("measured", "below", "verdict"),
    [(4, True, "accept"), (2, True, "goal"), (6, True, "missed"), (6, False, "goal")],
)
def test_targets(measured: float, below: bool, verdict: str) -> None:
    assert pages.Target("x", measured, 5, 3, below).verdict == verdict
    assert pages.Target("x", None, 5, 3, below).verdict == "not measured"
