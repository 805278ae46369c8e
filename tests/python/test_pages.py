# SPDX-License-Identifier: BSD-3-Clause
"""test_pages.py: the README's and the docs' code runs, what they show as printed is
printed, their links lead on."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.checking.device import has_gpu
from torchtraceap.data.config import read_changes
from torchtraceap.data.rule_view import RuleView
from torchtraceap.views.table_columns import TABLES

from .conftest import Cli, python
from .pages import DOCS, ROOT, blocks, page

README = (ROOT / "README.md").read_text("utf-8")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_links_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        text = without_code(path.read_text("utf-8"))
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {
            re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings
        }
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = target.partition("#")
            found = "://" in target or (path.parent / file).exists()
            found = found and (bool(file) or anchor in anchors)
            assert found, f"{path.relative_to(ROOT)}: {target}"


def test_sources_name_pages_that_are_there() -> None:
    """A comment, a message or a page of results that leads to docs/X.md."""
    found = 0
    for folder in ("python", "cpp", "benchmarks", "notebooks", ".ci", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in (".py", ".h", ".cpp", ".md", ".ipynb", ".json"):
                continue
            named = re.findall(
                r"\bdocs/([a-z_]+(?:/[a-z_]+)?)\.md", path.read_text("utf-8")
            )
            found += len(named)
            for name in named:
                there = (DOCS / f"{name}.md").exists()
                assert there, f"{path.relative_to(ROOT)}: docs/{name}.md"
    assert found > 40


def test_pages_of_results_lead_somewhere() -> None:
    """Each is named by one page of docs; its links, and those in READMEs, lead on."""
    told = page("measured")
    for path in (ROOT / "benchmarks").rglob("*.md"):
        if path.parent.name == "results":
            assert f"(../benchmarks/results/{path.name})" in told, path.name
        for target in re.findall(
            r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", path.read_text("utf-8")
        ):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_output_shown_is_the_programs(
    monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    pytest.importorskip("torch")
    monkeypatch.delenv("TORCHTRACEAP_DETECTOR")  # as for a user of the command
    monkeypatch.chdir(ROOT)
    (block,) = blocks(README, "console")
    command, _, shown = block.partition("\n")
    program, *arguments = shlex.split(command.removeprefix("$ "))
    assert program == "torchtraceap"
    printed = cli(*arguments).fine() + cli(*arguments, "--full").fine()
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert f"DEMO_TRACE ?= {arguments[-1]}\n" in makefile
    for excerpt in (shown, *blocks(page("reading"), "text")):
        rest = printed
        for part in filter(None, excerpt.split("...\n")):
            before, found, rest = rest.partition(part)
            assert found and (not before or before.endswith("\n")), part


# --- Code: one block after the other, in one namespace, as a reader would -------------


def run(text: str, file: str, fixture: Any = None) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    found = blocks(text, "python")
    assert len(found) >= 3
    for code in found:
        before = set(namespace)
        exec(compile(code, file, "exec"), namespace)
        for name in set(namespace) - before:
            if name.startswith("test_"):
                # As the plugin does of a test that asks for the fixture by its name.
                with nullcontext() if has_gpu() else torchtraceap.dry_run():
                    namespace[name](fixture)
    return namespace


@pytest.fixture
def folder(here: Path) -> Path:
    """An empty working directory, except for the traces."""
    (here / "tests").symlink_to(ROOT / "tests")
    return here


def test_the_code_of_the_readme(folder: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("torch")
    run(README, "README.md", request.getfixturevalue("no_sync_stalls"))


def test_the_code_for_those_who_come_from_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    run(page("reference/coming_from"), "coming_from.md")
    assert "events of over 50 ms" in capsys.readouterr().out


def test_the_code_that_takes_data_out(folder: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    text = page("reference/outputs")
    assert set(TABLES) <= set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    run(text, "outputs.md")
    assert (folder / "findings.csv").exists()


def test_the_code_of_rules(folder: Path) -> None:
    text = page("reference/rules")
    (folder / "settings.toml").write_text(blocks(text, "toml")[0])
    assert read_changes("settings.toml", {}) == {
        "sync_stall": {"min_share": 0.02},
        "gc_pause": {"enabled": False},
    }
    report = run(text, "rules.md")["report"]
    # The last report is that of two rules on a real trace.
    memset, gaps = report.rules
    assert memset.claims > 0 and memset.claimed_us > 0
    assert gaps.claims > 0
    assert report.settings["long_gaps"] == {"min_us": 300, "min_share": 0.001}


def test_the_page_of_rules_describes_the_view_and_how_rules_are_found() -> None:
    text = page("reference/rules")
    public = {name for name in vars(RuleView) if not name.startswith("_")}
    described = set(re.findall(r"`view\.(\w+)", text))
    assert described == public | {"trace", "thresholds"}


def test_every_pattern_of_torchtidy_has_its_row() -> None:
    matcher = pytest.importorskip("torch.profiler._pattern_matcher")
    patterns = {p for p in vars(matcher).values() if inspect.isclass(p)}
    patterns -= {matcher.Pattern, matcher.NamePattern}
    for pattern in patterns:
        if issubclass(pattern, matcher.Pattern):
            assert f"`{pattern.__name__}`" in page("reference/coming_from")


LIVE = blocks(page("live"), "python")


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
@pytest.mark.parametrize("number", range(len(LIVE)))
def test_the_code_of_live_profiling(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = LIVE[number]
    monkeypatch.chdir(tmp_path)
    torch = pytest.importorskip("torch")
    batch = torch.ones(8, 8)

    def train_step(batch: Any) -> None:
        (batch @ batch).relu().sum().item()

    names: dict[str, Any] = {
        "torch": torch,
        "torchtraceap": torchtraceap,
        "batch": batch,
        "loader": [batch] * 12,
        "train_step": train_step,
        "train": lambda: train_step(batch),
    }
    exec(compile(code, f"live.md, example {number}", "exec"), names)
    if "handler.reports" in code:
        assert len(names["handler"].reports) == 2
        assert len(list((tmp_path / "reports").iterdir())) == 4
    if "torchtraceap.profile() as prof" in code:
        assert capsys.readouterr().out == str(names["prof"].report) + "\n\n"


# --- Patterns -------------------------------------------------------------------------

NAMES = [pattern.name for pattern in _core.patterns()]
HEADINGS = [
    *("## In a trace", "## Why it costs", "## Rule"),
    *("## Fix", "## What it is not"),
]
MOST_LINES = 100  # Without code.


@pytest.mark.parametrize("name", NAMES)
def test_the_page_of_a_pattern(name: str) -> None:
    """It has the usual form, the thresholds of the code, the sub-types, code to fix."""
    text = page(f"patterns/{name}")
    lines = text.splitlines()
    of_code = text.count("\n") - without_code(text).count("\n")
    assert len(lines) - of_code < MOST_LINES
    headings = re.findall(r"^##? .*$", without_code(text), re.MULTILINE)
    assert headings == [f"# {name}", *HEADINGS]
    assert len(lines[2]) > 20, "a sentence under the title"
    expected = [t for t in _core.thresholds() if t.pattern == name]
    rule = text.partition("\n## Rule\n")[2].partition("\n## ")[0]
    listed = list(thresholds(rule))
    assert listed == [(t.name, t.default, t.unit) for t in expected]
    (pattern,) = [p for p in _core.patterns() if p.name == name]
    for subtype in pattern.subtypes:
        assert f"`{subtype}`" in text, subtype
    fix = text.partition("\n## Fix\n")[2].partition("\n## ")[0]
    examples = blocks(fix, "python")
    assert examples or not pattern.user_finding
    for code in examples:
        ast.parse(code)


def thresholds(rule: str) -> Iterator[tuple[str, float, str]]:
    """Read the table of name, default, unit and why."""
    rows = [
        [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        for line in rule.splitlines()
        if line.startswith("|")
    ]
    start = rows.index(["threshold", "default", "unit", "why"])
    for name, default, unit, why in rows[start + 2 :]:
        assert why, name
        yield name, float(default.replace(",", "")), unit


def test_no_other_patterns_have_pages() -> None:
    pages = {path.stem for path in (DOCS / "patterns").glob("*.md")}
    assert pages - {"README"} <= set(NAMES)


def test_the_list_of_patterns_is_that_of_the_code() -> None:
    out = python(ROOT / ".ci" / "pattern_index.py", check=True).stdout
    assert page("patterns/README") == out, "run: python .ci/pattern_index.py --write"


def test_every_threshold_says_why() -> None:
    first: dict[str, str] = {}
    for row in _core.thresholds():
        assert row.why and row.unit, (row.pattern, row.name)
        first.setdefault(row.pattern, row.name)
    assert first == dict.fromkeys(NAMES, "min_share")
