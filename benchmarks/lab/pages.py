# SPDX-License-Identifier: BSD-3-Clause
"""pages.py: result pages, and which of them are older than what they measure.

    python -m benchmarks.lab.pages               # lists pages to be remade
    python -m benchmarks.lab.pages render [NAME...]  # writes pages from kept figures

A page, ``results/NAME.md``, is the template ``pages/NAME.md.jinja`` filled with the
figures of ``results/NAME.json``. TOML between the lines ``+++`` of the template says
what the page is::

    title     its heading
    command   what makes it, of the modules in benchmarks
    measures  files and folders, from the root: a change in them makes the page stale
    figures   the JSON, if it is of another name; "" for none
    context   MODULE:FUNCTION, which returns more names for it from the figures
    historical  why it cannot be remade here; such a page never is stale

A page says at which commit it was made, and keeps a digest of what it measures. That of
Python and C++ leaves out comments, white space, imports and names of files, so that
moving or explaining code makes no page stale. Exit codes: 0 none is stale, 1 some.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2
import tomllib

from benchmarks import RESULTS, ROOT

TEMPLATES = ROOT / "benchmarks" / "pages"
#: The last line of a page.
MARK = "<!-- measured code: {} -->"
#: Pages that another command has just written are not changes.
_NO_RESULTS = ":!benchmarks/results"
_SOURCES = {".py", ".cpp", ".h", ".cu"}
_CPP_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|#\s*include[^\n]*", re.DOTALL)

Figures = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """What is asked of a figure; at least, or at most if it is to be `below`."""

    what: str
    measured: float | None  #: None: not measured in this run, see note.
    accept: float
    goal: float
    below: bool = False
    unit: str = ""
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        sign = -1 if self.below else 1
        for limit, word in ((self.goal, "goal"), (self.accept, "accept")):
            if sign * self.measured >= sign * limit:
                return word
        return "missed"

    def as_row(self) -> Figures:
        """Return it as kept figures have it."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True)
class Page:
    """A template's facts about its page; the fields are described above."""

    name: str
    title: str
    command: str
    measures: tuple[str, ...]
    body: str
    figures: str = ""
    context: str = ""
    historical: str = ""

    @property
    def path(self) -> Path:
        return RESULTS / f"{self.name}.md"

    @property
    def kept(self) -> Path | None:
        """The figures; None for a page that is made from none."""
        return RESULTS / self.figures if self.figures else None

    @property
    def digest(self) -> str:
        """What is measured, as it is now."""
        return digest_of(ROOT / path for path in self.measures)

    @property
    def stale(self) -> bool:
        if self.historical:
            return False
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        return not text.endswith(MARK.format(self.digest) + "\n")


def page(name: str) -> Page:
    """Read a template."""
    text = (TEMPLATES / f"{name}.md.jinja").read_text("utf-8")
    _, head, body = text.split("+++\n", 2)
    said = {"figures": f"{name}.json"} | tomllib.loads(head)
    return Page(name, body=body, **said | {"measures": tuple(said["measures"])})


def pages() -> Iterator[Page]:
    for path in sorted(TEMPLATES.glob("*.md.jinja")):
        yield page(path.name.removesuffix(".md.jinja"))


# --- Writing ---------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return when and where figures are made, to be called before they are."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": git("rev-parse", "--short=10", "HEAD"),
        "dirty": bool(git("status", "--porcelain", "-uno", "--", ".", _NO_RESULTS)),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def write(name: str, figures: Figures) -> str:
    """Write figures, and the page from them; returns its text.

    ``figures["machine"]`` is what `machine` returned.
    """
    of = page(name)
    made = figures["machine"]
    made |= {"load_after": os.getloadavg()[0], "measured": of.digest}
    if of.kept:
        of.kept.write_text(as_json(figures), "utf-8")
        figures = json.loads(of.kept.read_text("utf-8"))
    text = render(of, figures)
    of.path.write_text(text, "utf-8")
    return text


def render(of: Page, figures: Figures) -> str:
    """Return the text of a page."""
    more = {}
    if of.context:
        module, _, function = of.context.partition(":")
        more = getattr(importlib.import_module(module), function)(figures)
    body = filled(of.body, figures | more)
    made = figures["machine"]
    parts = [f"# {of.title}", made_by(of, made), body.strip("\n")]
    parts.append(MARK.format(made.get("measured", "unknown")))
    return "\n\n".join(part for part in parts if part) + "\n"


def filled(template: str, names: Figures) -> str:
    """Fill a template."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {
        "f": number,
        "median": statistics.median,
        "percent": percent,
        "table": table,
    }
    return environment.from_string(template).render(names)


def made_by(of: Page, made: Mapping[str, Any]) -> str:
    """Return by what, when and where a page was made."""
    changed = ", with changes" if made.get("dirty") else ""
    where = ""
    if "processor" in made:
        load = f"{made['load_before']:.1f}"
        if "load_after" in made:
            load += f" before and {made['load_after']:.1f} after"
        where = f" {made['processor']}, {made['cores']} cores; load average {load}."
    text = f"Written by `{of.command}`; not edited by hand."
    if "date" in made:
        text += f"\n\n{made['date']}, commit {made['commit']}{changed}.{where}"
    return f"{text}\n\n**Historical**: {of.historical}" if of.historical else text


def as_json(figures: Figures) -> str:
    """Return figures as JSON, a line for each entry of a part."""

    def part(of: Any) -> str:
        if isinstance(of, list) and any(isinstance(v, dict | list) for v in of):
            return "[\n" + ",\n".join(map(line, of)) + "\n]"
        if isinstance(of, dict) and any(
            isinstance(v, dict | list) for v in of.values()
        ):
            lines = (f"{json.dumps(name)}: {line(one)}" for name, one in of.items())
            return "{\n" + ",\n".join(lines) + "\n}"
        return line(of)

    def line(of: Any) -> str:
        return json.dumps(of, separators=(",", ":"))

    parts = (f"{json.dumps(name)}: {part(of)}" for name, of in figures.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first are numbers."""
    marks = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def number(value: float | None, form: str = "", scale: float = 1) -> str:
    """Write a number, "-" for one that is not known."""
    if value is None or value != value:
        return "-"
    return format(value * scale if scale != 1 else value, form)


def percent(value: float | None, form: str = ".0f") -> str:
    """Write a share in percent."""
    return "-" if value is None else f"{100 * value:{form}} %"


# --- What is measured --------------------------------------------------------------


def digest_of(paths: Iterable[Path]) -> str:
    """Return a digest of files, and of the sources in folders.

    Raises:
        FileNotFoundError: There is no such path.
    """
    files: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(path)
        found = path.rglob("*") if path.is_dir() else [path]
        files |= {
            p for p in found if p.suffix in _SOURCES or (p == path and p.is_file())
        }
    parts = sorted(hashlib.sha256(_meaning(file)).hexdigest() for file in files)
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def _meaning(file: Path) -> bytes:
    """Return what of a file decides about figures."""
    if file.suffix not in _SOURCES:
        return file.read_bytes()
    text = file.read_text("utf-8")
    if file.suffix != ".py":
        return "".join(_CPP_NOISE.sub("", text).split()).encode()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        node.body = [  # type: ignore[attr-defined]
            one
            for one in body
            if not isinstance(one, ast.Import | ast.ImportFrom)
            and not (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            )
        ]
    return ast.dump(tree).encode()


def git(*arguments: str) -> str:
    """Return git's output for this tree; "" if git or a repository is missing."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


def main(arguments: Sequence[str] | None = None) -> int:
    """List stale pages, or render."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("check", "render"), default="check")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args(arguments)
    known = [of for of in pages() if not given.names or of.name in given.names]
    if given.what == "render":
        for of in known:
            if of.kept:
                figures = json.loads(of.kept.read_text("utf-8"))
                of.path.write_text(render(of, figures), "utf-8")
        return 0
    stale = [of for of in known if of.stale]
    for of in stale:
        print(
            f"{of.path.relative_to(ROOT)} is older than what it measures: {of.command}"
        )
    if not stale:
        print(f"pages: {len(known)}, none older than what it measures")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
