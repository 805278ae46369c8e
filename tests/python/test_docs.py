# SPDX-License-Identifier: BSD-3-Clause
"""test_docs.py: the reference is complete, the site builds without a warning and shows
everything, and each line that the skill page gives an agent runs."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli import main
from torchtraceap.cli.mcp import skill

from .cli_commands import the_commands
from .conftest import Cli, python
from .pages import DOCS, blocks, page

INTEGRATIONS = "torchtraceap.integrations."


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does: warnings, such as dead links, are errors."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d"]
    trees, out = folder / "doctrees", folder / "html"
    built = python(*command, trees, DOCS, out, timeout=None)
    assert built.returncode == 0, built.stderr
    return out


def documented() -> dict[str, Any]:
    """What the reference shows, by name."""
    pytest.importorskip("torch")  # of which dry_run is made
    found = re.findall(r"^\.\. auto\w+:: (\S+)$", page("reference/api"), re.MULTILINE)
    names = [
        name.removeprefix("torchtraceap.")
        for name in found
        if not name.startswith(INTEGRATIONS)
    ]
    assert not [name for name in names if "." in name], "none by where its module lies"
    return {name: getattr(torchtraceap, name) for name in names}


def test_every_public_name_is_in_the_reference() -> None:
    public = {*torchtraceap.__all__} - {"__version__"}
    # Importing all must not need torch; without dry_run it does not.
    assert {*documented()} == public | {"dry_run"} <= {*dir(torchtraceap)}


def test_what_pages_of_integrations_import_is_in_the_reference() -> None:
    reference = page("reference/api")
    imports = rf"^from ({INTEGRATIONS}\w+) import (\w+)$"
    found = re.findall(imports, page("integrations"), re.M)
    assert len(found) >= 8
    for module, name in found:
        assert re.search(rf"^\.\. auto\w+:: {module}\.{name}$", reference, re.M), name


def test_what_the_reference_shows_is_told() -> None:
    reference = page("reference/api")
    for name, thing in documented().items():
        # A dataclass without words of its own gets its signature for a docstring.
        told = inspect.getdoc(thing)
        assert told and not told.startswith(f"{thing.__name__}("), name
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            shown = callable(value) or isinstance(value, property)
            if shown and not member.startswith("_"):
                by_hand = re.search(rf"^   \.\. py:\w+:: {member}\b", reference, re.M)
                assert by_hand or inspect.getdoc(getattr(thing, member)), (name, member)


def test_types_of_a_report_are_in_the_reference() -> None:
    """The type of each attribute of a report is in the reference."""
    shown = {getattr(thing, "__name__", "") for thing in documented().values()}
    for member, value in vars(torchtraceap.Report).items():
        getter = getattr(value, "func", getattr(value, "fget", None))
        if getter is None or member.startswith(("_", "core_")):
            continue
        returns = str(inspect.signature(getter).return_annotation)
        for name in re.findall(r"[A-Z]\w+", returns):
            assert name in shown, f"Report.{member}: {name}"


@pytest.mark.verify
def test_every_page_and_notebook_is_shown(site: Path) -> None:
    sources = [page.relative_to(DOCS) for page in DOCS.rglob("*.md")]
    sources += [page.relative_to(DOCS) for page in (DOCS / "results").glob("*.md")]
    sources += [page.relative_to(DOCS) for page in (DOCS / "notebooks").glob("*.ipynb")]
    assert len(sources) > 70
    for source in sources:
        assert (site / source.with_suffix(".html")).is_file(), source
    measured = (site / "measured.html").read_text("utf-8")
    assert 'href="results/gallery.html"' in measured and "_downloads" in measured


@pytest.mark.verify
def test_reference_has_signatures_and_fields(site: Path) -> None:
    text = (site / "reference" / "api.html").read_text("utf-8")
    for anchor in ("torchtraceap.analyze", "torchtraceap.Report.summary"):
        assert f'id="{anchor}"' in text
    assert "several lines match" in text  # the comment on a field


@pytest.mark.verify
def test_notebooks_are_shown_with_outputs(site: Path) -> None:
    text = (site / "notebooks" / "dynamic_shapes.html").read_text("utf-8")
    assert 'href="quickstart.html"' in text
    assert "(aten::nonzero) and 1 more wait for the GPU" in text
    assert "No time here was measured" in text


@pytest.mark.verify
def test_site_needs_no_network(site: Path) -> None:
    asks = re.compile(
        r"""<(?:script|img|iframe)[^>]+src=["'](?:https?:)?//|"""
        r"""<link[^>]+rel=["'](?:stylesheet|preload|icon)["'][^>]+href=["']https?://|"""
        r"""@import\s+(?:url\()?["']?https?://|url\(["']?https?://"""
    )
    for file in site.rglob("*"):
        if file.suffix in (".html", ".css"):
            found = asks.search(file.read_text("utf-8"))
            assert found is None, f"{file.relative_to(site)}: {found}"


# --- The page for agents --------------------------------------------------------------

PAGE = skill()
TRACES = {
    "trace.json.gz": "kineto2021-v100-resnet50-workers0-memory.json.gz",
    "before.json.gz": "kineto2021-v100-resnet50-workers0-memory.json.gz",
    "after.json.gz": "kineto2021-v100-resnet50-workers4.json.gz",
}
#: The program after the change still has findings that were hidden before.
BROKEN = "torchtraceap check after.json.gz --baseline before.json.gz"


def test_the_front_matter_is_a_skills() -> None:
    head, _, _ = PAGE.removeprefix("---\n").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "torchtraceap"
    assert 100 < len(fields["description"]) <= 1024


def test_its_lines_run(data: Path, here: Path, capfd: Any) -> None:
    for name, source in TRACES.items():
        shutil.copy(data / source, name)
    lines = [line for block in blocks(PAGE, "bash") for line in block.splitlines()]
    assert len(lines) > 10
    named = set()
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "torchtraceap"
        named.add(words[0])
        assert main(words) == (1 if line == BROKEN else 0), line
    assert named >= {"analyze", "inspect", "explain", "whatif", "compare", "check"}
    for name in ("report.json", "gain.json", "comparison.json", "budget.toml"):
        assert Path(name).stat().st_size > 100


def test_its_options_and_members_are_there(slow_loader: torchtraceap.Report) -> None:
    known = {
        option
        for parser in the_commands().values()
        for action in parser._actions
        for option in action.option_strings
    }
    named = {*re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE)}
    assert named <= known
    form: Any = slow_loader.to_dict()
    for member in re.findall(r"`([a-z_]+)(?:\[\]|\.)", PAGE):
        assert member in {*form, "gain", "location", "train", "torch"}, member
    finding = form["findings"][0]
    for name in ("id", "wasted_us", "recoverable_us", "basis", "origin", "message"):
        assert name in finding and name in PAGE


def test_its_loop_runs(here: Path) -> None:
    torch = pytest.importorskip("torch")
    names = {
        "loader": [torch.ones(8, 8)] * 8,
        "train_step": lambda batch: batch @ batch,
    }
    exec(compile(blocks(PAGE, "python")[0], "SKILL.md", "exec"), names)
    assert [*Path("profile").glob("*.pt.trace.json.gz")]


def test_its_test_runs(no_sync_stalls: Callable[..., Any]) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {"train_step": lambda: torch.ones(8, device="cuda") * 2}
    exec(compile(blocks(PAGE, "python")[1], "SKILL.md", "exec"), names)
    names["test_training_step"](no_sync_stalls)


def test_it_is_printed(cli: Cli) -> None:
    assert cli("mcp", "--skill").fine() == PAGE
