#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".ci/check_budgets.py [--table] [ROOT]: checks the size of each part against a budget.

A part that grows beyond its budget fails the check. Raising a budget takes a commit
that says why; lower it when the part has shrunk. --table prints the size, the budget
and the goal of each part as a Markdown table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "python/torchtraceap"
CODE = (".py", ".cpp", ".h", ".cu")


@dataclass(frozen=True)
class Budget:
    """A part and its allowed size in a unit: lines, files or pages."""

    name: str
    budget: int
    goal: int
    folders: tuple[str, ...]
    suffixes: tuple[str, ...] = CODE
    unit: str = "lines"
    deep: bool = True  #: With the folders inside.

    def size(self, root: Path) -> int:
        """Return the size of the part below a root."""
        files = [p for f in self.folders for p in files_in(root / f, self.deep)]
        files = [path for path in files if path.suffix in self.suffixes]
        if self.unit != "lines":
            return len(files)
        return sum(path.read_bytes().count(b"\n") for path in files)


def files_in(folder: Path, deep: bool) -> Iterator[Path]:
    """Yield the files of a folder; links are not followed."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif deep:
            yield from files_in(path, deep)


def package(name: str, budget: int, goal: int) -> Budget:
    """Return the budget of a package inside torchtraceap."""
    return Budget(f"{PACKAGE}/{name}", budget, goal, (f"{PACKAGE}/{name}",))


PARTS = [
    package("base", 1_410, 800),
    package("checking", 1_750, 1_400),
    package("cli", 3_200, 1_800),
    package("data", 2_090, 1_200),
    package("detection", 420, 400),
    package("explain", 3_220, 2_000),
    package("fleets", 2_850, 1_800),
    package("gate", 2_610, 1_500),
    package("integrations", 1_160, 800),
    package("mcp_server", 940, 400),
    package("profiling", 1_850, 1_600),
    package("ranks", 1_900, 1_000),
    package("service", 1_800, 1_200),
    package("views", 5_750, 2_900),
    package("waits", 990, 800),
]
BUDGETS = [
    Budget(PACKAGE, 33_700, 19_000, (PACKAGE,)),
    *PARTS,
    Budget(f"{PACKAGE}/*.py", 1_740, 1_200, (PACKAGE,), deep=False),
    Budget(
        "torchtraceap_dryrun, torchtraceap_train",
        13_200,
        11_500,
        ("python/torchtraceap_dryrun", "python/torchtraceap_train"),
    ),
    Budget("cpp", 67_240, 48_000, ("cpp",)),
    Budget("cpp", 492, 350, ("cpp",), unit="files"),
    Budget("tests", 71_300, 50_000, ("tests",)),
    Budget("benchmarks", 35_100, 30_000, ("benchmarks",)),
    Budget("docs", 71, 55, ("docs",), (".md",), "pages"),
    Budget("docs/*.md", 16, 14, ("docs",), (".md",), "pages", deep=False),
    Budget("benchmarks/results", 16, 16, ("benchmarks/results",), (".md",), "pages"),
]


def check(root: Path) -> Iterator[str]:
    """Yield a message for each part that is too large or has no budget."""
    for part in BUDGETS:
        size = part.size(root)
        if size > part.budget:
            yield f"{part.name}: {size:,} {part.unit}, {part.budget:,} allowed"
    known = {part.name.rpartition("/")[2] for part in PARTS}
    for path in sorted((root / PACKAGE).glob("*/*.py")):
        if path.parent.name not in known:
            yield f"{PACKAGE}/{path.parent.name}: has no budget"


def table(root: Path) -> str:
    """Return the sizes, budgets and goals as a Markdown table."""
    lines = ["| part | | now | budget | goal |", "|---|---|--:|--:|--:|"]
    for part in BUDGETS:
        numbers = (part.size(root), part.budget, part.goal)
        cells = [part.name, part.unit, *(f"{number:,}" for number in numbers)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    root = Path(next((a for a in sys.argv[1:] if a not in options), "."))
    if "--table" in options:
        print(table(root))
        return 0
    wrong = list(dict.fromkeys(check(root)))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
