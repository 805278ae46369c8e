# SPDX-License-Identifier: BSD-3-Clause
"""test_budgets.py: the check of sizes (`make lint`) finds a part that has grown."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.verify

CHECK = Path(__file__).with_name("check_budgets.py")
PACKAGE = "python/torchtraceap"


def check(*arguments: object) -> tuple[int, str]:
    command = [sys.executable, CHECK, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def write(root: Path, file: str, lines: int) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x\n" * lines)


@pytest.mark.parametrize(
    ("file", "lines", "said"),
    [
        (f"{PACKAGE}/base/a/b.py", 10_000, f"{PACKAGE}/base: 10,000 lines, "),
        (f"{PACKAGE}/a.py", 10_000, f"{PACKAGE}/*.py: 10,000 lines, "),
        (f"{PACKAGE}/base/a.py", 99_000, f"{PACKAGE}: 99,000 lines, "),
        (f"{PACKAGE}/utils/a.py", 1, f"{PACKAGE}/utils: has no budget"),
        ("cpp/trace/a.h", 99_000, "cpp: 99,000 lines, "),
        ("tests/cpp/a.cpp", 99_000, "tests: 99,000 lines, "),
    ],
)
def test_a_part_that_has_grown(
    tmp_path: Path, file: str, lines: int, said: str
) -> None:
    write(tmp_path, file, lines)
    code, out = check(tmp_path)
    assert code == 1 and said in out


def test_too_many_pages_and_files(tmp_path: Path) -> None:
    for number in range(600):
        write(tmp_path, f"docs/{number}.md", 1)
        write(tmp_path, f"cpp/{number}.h", 1)
    (tmp_path / "docs" / "linked").symlink_to(tmp_path / "cpp")
    code, out = check(tmp_path)
    assert code == 1
    assert {line.partition(",")[0] for line in out.splitlines()} == {
        "docs: 600 pages",
        "docs/*.md: 600 pages",
        "cpp: 600 files",
    }


def test_parts_within_their_budgets(tmp_path: Path) -> None:
    write(tmp_path, f"{PACKAGE}/base/a.py", 100)
    write(tmp_path, f"{PACKAGE}/base/a.json", 99_000)
    assert check(tmp_path) == (0, "")
    code, out = check("--table", tmp_path)
    assert code == 0 and f"| {PACKAGE}/base | lines | 100 | " in out


def test_this_repository() -> None:
    assert check(CHECK.parents[1]) == (0, "")
