#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".ci/check_words.py [--list | --lower] [ROOT]: checks prose against words.txt.

Prose is Markdown without its code, and comments and strings with a space in Python and
C++. Each hit in Markdown is an error, `file:line: phrase -> what to write`. A
folder of code may have as many hits as words.txt allows: --list prints them, --lower
lowers the numbers to the hits that are left.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MARKDOWN_CODE = re.compile(
    r"^```.*?^```$|`[^`\n]+`|\]\([^)]*\)|<!--.*?-->", re.M | re.S
)
CPP = re.compile(
    r"""R"\((?:.|\n)*?\)"|'(?:\\.|[^'\\\n])'"""
    r"""|(?P<prose>//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*")"""
)
PYTHON = re.compile(
    r'''(?P<prose>#[^\n]*|"""(?:\\.|[^\\])*?"""'''
    r"""|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.DOTALL,
)
MARK = re.compile(r"(?m)^\s*(#:?|//+<?|\*)")  # Of a line of a comment.
FILLED_IN = re.compile(r"\{[^{}\n]*\}|[\"']")
SUFFIXES = (".md", ".py", ".cpp", ".h", ".cu", ".toml")
# Generated pages: their text is in the code and data of benchmarks/.
WRITTEN = (
    "benchmarks/results/",
    "docs/patterns/README.md",
    "docs/reference/features.md",
)


def read_words(path: Path) -> tuple[list[tuple[re.Pattern[str], str]], dict[str, int]]:
    """Return the phrases, and the allowed number of hits of each folder."""
    words, allowed = [], {}
    for line in path.read_text("utf-8").splitlines():
        pattern, arrow, instead = line.rpartition(" -> ")
        if arrow:
            spaced = pattern.replace(" ", r"\s+")
            words.append((re.compile(spaced, re.IGNORECASE), instead))
        elif line and not line.startswith("#"):
            folder, _, count = line.rpartition(" ")
            allowed[folder] = int(count)
    return words, allowed


def blank(match: re.Match[str] | str) -> str:
    text = match if isinstance(match, str) else match[0]
    return " " + "\n" * text.count("\n")


def prose_of(path: Path) -> str:
    """Return the prose of a file, line by line, without the rest."""
    text = path.read_text("utf-8")
    if path.suffix in (".md", ".toml"):
        return MARKDOWN_CODE.sub(blank, text)
    out, at = [], 0
    for match in (PYTHON if path.suffix == ".py" else CPP).finditer(text):
        piece = match["prose"] or ""
        if piece.startswith(("#", "/")):
            piece = MARK.sub("", piece)
        elif " " in piece:
            piece = FILLED_IN.sub(" ", piece)
        else:
            continue
        out += [blank(text[at : match.start()]), piece]
        at = match.end()
    return "".join(out)


def folder_of(file: str) -> str:
    """Return the folder that counts a file; "" for Markdown."""
    parts = file.split("/")[:-1]
    deep = 3 if parts[:2] == ["python", "torchtraceap"] else 2
    return "" if file.endswith(".md") else "/".join(parts[:deep]) or "."


def hits_by_folder(root: Path) -> dict[str, list[str]]:
    """Return a line for each hit in the files that git tracks."""
    words, allowed = read_words(root / ".ci" / "words.txt")
    command = ["git", "-C", str(root), "ls-files", "-z"]
    files = subprocess.check_output(command, text=True).split("\0")
    found: dict[str, list[str]] = {folder: [] for folder in ("", *allowed)}
    for file in files:
        if not file.endswith(SUFFIXES) or file.startswith(WRITTEN):
            continue
        if not (root / file).is_file():
            continue
        prose = prose_of(root / file)
        hits = found.setdefault(folder_of(file), [])
        for pattern, instead in words:
            for match in pattern.finditer(prose):
                line = prose.count("\n", 0, match.start()) + 1
                hits.append(f"{file}:{line}: {' '.join(match[0].split())} -> {instead}")
    return found


def lower(path: Path, found: dict[str, list[str]]) -> None:
    """Write the lower numbers of hits."""
    out = []
    for line in path.read_text("utf-8").splitlines():
        folder, _, count = line.rpartition(" ")
        if folder and folder in found and "->" not in line:
            left = min(int(count), len(found[folder]))
            out += [f"{folder} {left}"] if left else []
        else:
            out.append(line)
    path.write_text("\n".join(out) + "\n", "utf-8")


def main() -> int:
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    root = Path(next((a for a in sys.argv[1:] if a not in options), "."))
    path = root / ".ci" / "words.txt"
    found = hits_by_folder(root)
    if "--list" in options:
        print(*(hit for hits in found.values() for hit in hits), sep="\n")
        return 0
    if "--lower" in options:
        lower(path, found)
    _, allowed = read_words(path)
    wrong = found.pop("")
    for folder, hits in found.items():
        if len(hits) > allowed.get(folder, 0):
            wrong += hits
            wrong.append(
                f"{folder}: {len(hits)} hits, {allowed.get(folder, 0)} allowed"
            )
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
