#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""suite_table.py [--root ROOT] JUNIT...: tests, seconds and lines by folder.

Of runs as of

    pytest -n 2 --junitxml=build/pytest.xml
    ctest --preset dev -j 2 --output-junit build/ctest.xml
    python tests/suite_table.py build/*.xml

Seconds are those of the tests themselves, added up: about the CPU time of one core.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

CODE = {".py", ".cpp", ".h", ".cu", ".js", ".txt"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, default=Path(__file__).resolve().parents[1]
    )
    parser.add_argument("junit", nargs="*", type=Path)
    options = parser.parse_args()
    tests, seconds, lines = Counter[str](), Counter[str](), Counter[str]()
    for path in options.junit:
        for case in ElementTree.parse(path).iter("testcase"):
            folder = folder_of(case.get("classname", ""), case.get("name", ""))
            tests[folder] += 1
            seconds[folder] += float(case.get("time", 0))
    for path in (options.root / "tests").rglob("*"):
        if path.suffix in CODE and "data" not in path.parts:
            folder = path.parent.relative_to(options.root).as_posix()
            lines[folder] += len(path.read_text().splitlines())
    print(f"{'folder':28} {'tests':>7} {'seconds':>8} {'lines':>7}")
    for folder in sorted({*tests, *lines}):
        counts = f"{tests[folder]:7,} {seconds[folder]:8.1f} {lines[folder]:7,}"
        print(f"{folder:28} {counts}")
    whole = f"{tests.total():7,} {sum(seconds.values()):8.1f} {lines.total():7,}"
    print(f"{'all':28} {whole}")


def folder_of(classname: str, name: str) -> str:
    """Return the folder of a test: pytest names its module, ctest only its part."""
    where = classname or name  # Of a module that is skipped as a whole.
    if not where.startswith("tests."):
        return f"tests/cpp/{name.partition('.')[0]}"
    folders = takewhile(lambda part: not part.startswith("test_"), where.split("."))
    return "/".join(folders)


if __name__ == "__main__":
    main()
