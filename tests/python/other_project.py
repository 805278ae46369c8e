# SPDX-License-Identifier: BSD-3-Clause
"""other_project.py: somebody else's project, whose tests use the plugin.

One run of pytest a file of ours, of many tests of theirs; ours look at what came of
each of them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from .torch_forks import Ended, TorchForks

# A warning fails; the second is of an editable install's hook, see pyproject.toml.
STRICT = ["-Werror", "-Wignore:Module already imported so cannot be rewritten"]
# What torch needs to end in an orderly way takes longer than most tests.
PYTEST = """
import os, pytest, sys
code = pytest.main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.flush()
os._exit(code)
"""
ENVIRONMENT = {"COLUMNS": "200", "PY_COLORS": "0"}
HEADING = re.compile(r"^_{2,} (?:ERROR at \w+ of )?(\S+) _{2,}$|^=+ .* =+$", re.M)


# What becomes of each test, and lines that are shown of it, in this order.
Table = dict[str, tuple[str, list[str]]]
PASSED: tuple[str, list[str]] = ("passed", [])


def passed(*names: str) -> Table:
    """Return that tests pass, of which nothing need be shown."""
    return dict.fromkeys(names, PASSED)


def failed(*lines: str) -> tuple[str, list[str]]:
    """Return that a test fails, and what is shown of it."""
    return ("failed", list(lines))


class Ran(NamedTuple):
    """What became of the tests of a project, by their names (with that of a class)."""

    text: str  # What pytest printed.
    outcomes: dict[str, str]
    shown: dict[str, str]  # Under each test's own heading.
    properties: dict[str, dict[str, str]]  # Of the JUnit file, those of ours.

    def says(self, *lines: str) -> None:
        """See that lines come in this order, as fnmatch has it."""
        pytest.LineMatcher(self.text.splitlines()).fnmatch_lines(lines)

    def is_as(self, table: Table) -> None:
        """See that of the tests in a table, which are all, that became what it says."""
        expected = {name: outcome for name, (outcome, _) in table.items()}
        wrong = sorted(self.outcomes.items() ^ expected.items())
        assert not wrong, f"{wrong}\n{self.text}"
        for name, (_, lines) in table.items():
            if lines:
                shown = pytest.LineMatcher(self.shown[name].splitlines())
                shown.fnmatch_lines(lines)


def start(
    forks: TorchForks, folder: Path, files: Mapping[str, str], *options: str
) -> Ended:
    """Write a project into a folder and run its tests."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.strip() + "\n", encoding="utf-8")
    always = ("-p", "no:cacheprovider", "-p", "no:anyio")  # That one imports much.
    return forks.run(PYTEST, *always, *options, cwd=folder, env=ENVIRONMENT)


def run(
    forks: TorchForks,
    folder: Path,
    files: Mapping[str, str],
    *options: str,
    strict: bool = True,
) -> Ran:
    """Write and run tests, and return what became of each; if strict, a warning is an
    error."""
    options = (*(STRICT if strict else ()), "--junitxml=out.xml", *options)
    ended = start(forks, folder, files, *options)
    assert ended.code in (0, 1), ended.out + ended.err
    cases = {
        _name(case): case for case in ET.parse(folder / "out.xml").iter("testcase")
    }
    return Ran(
        ended.out,
        {name: _outcome(case) for name, case in cases.items()},
        _by_test(ended.out),
        {name: _properties(case) for name, case in cases.items()},
    )


def _name(case: ET.Element) -> str:
    """Return how pytest's headings call a test."""
    classes = [p for p in case.attrib["classname"].split(".") if p[:1].isupper()]
    return ".".join([*classes, case.attrib["name"]])


def _outcome(case: ET.Element) -> str:
    for one in case:
        if one.tag == "skipped" and one.attrib.get("type") == "pytest.xfail":
            return "xfailed"
        if one.tag in ("failure", "error", "skipped"):
            return {"failure": "failed"}.get(one.tag, one.tag)
    return "passed"


def _properties(case: ET.Element) -> dict[str, str]:
    return {
        one.attrib["name"].removeprefix("torchtraceap."): one.attrib["value"]
        for one in case.iter("property")
    }


def _by_test(text: str) -> dict[str, str]:
    """Return what follows each heading; of several of one test, all."""
    shown: dict[str, str] = {}
    headings = [*HEADING.finditer(text)]
    ends = [one.start() for one in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=True):
        if heading[1]:
            before = shown.get(heading[1], "")
            shown[heading[1]] = before + text[heading.end() : end]
    return shown
