# SPDX-License-Identifier: BSD-3-Clause
"""test_words.py: the check of words (`make lint`) finds phrases of the list."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.verify

CI = Path(__file__).parent
FILES = {"md": "docs/A.md", "py": "python/torchtraceap/base/a.py", "h": "cpp/trace/a.h"}


def check(root: Path, *options: str) -> tuple[int, str]:
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    command = [sys.executable, CI / "check_words.py", *options, root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the list of words, and no hit allowed."""
    (tmp_path / ".ci").mkdir()
    words = (CI / "words.txt").read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in words if line.startswith("#") or "->" in line]
    (tmp_path / ".ci" / "words.txt").write_text("".join(kept), "utf-8")
    return tmp_path


def write(root: Path, suffix: str, text: str) -> str:
    path = root / FILES[suffix]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return FILES[suffix]


@pytest.mark.parametrize(
    ("suffix", "text", "line", "phrase"),
    [
        ("md", "A report\nis told.\n", 2, "is told"),
        ("md", "It cannot be\ntold.\n", 1, "cannot be told"),
        ("md", "1. a\n\nIt hangs on\nthe GPU.\n", 3, "hangs on"),
        ("md", "A table | Of a report, all |\n", 1, "Of a"),
        ("py", '"""Says.\n\nIt stands\nfor that.\n"""\n', 3, "stands for"),
        ("py", "x = 1  # Whoever asks.\n", 1, "Whoever"),
        ("py", "# It cannot be\n# told.\n", 1, "cannot be told"),
        ("py", 'raise ValueError(f"{x} is no trace")\n', 1, "is no"),
        ("h", "/// So many\n/// of them.\nint a;\n", 1, "So many"),
        ("h", "/* nobody\n * knows */\n", 1, "nobody"),
        ("h", 'fail("it is told");\n', 1, "is told"),
    ],
)
def test_a_phrase_of_the_list(
    root: Path, suffix: str, text: str, line: int, phrase: str
) -> None:
    file = write(root, suffix, text)
    code, out = check(root)
    assert code == 1
    assert f"{file}:{line}: {phrase} -> " in out


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("md", "`whoever`\n\n```text\nIt is told.\n```\n[a](whoever.md)\n"),
        ("md", "They can be told apart.\n"),
        ("py", 'nobody = {"nobody": whoever}\n'),
        ("py", 'print(f"{nobody} waits")\n'),
        ("h", "int nobody = 'n';  // A number.\n"),
    ],
)
def test_code_is_no_prose(root: Path, suffix: str, text: str) -> None:
    write(root, suffix, text)
    assert check(root) == (0, "")


def test_hits_of_a_folder_may_only_fall(root: Path) -> None:
    words = root / ".ci" / "words.txt"
    write(root, "py", "# Nobody, whoever.\n")
    code, out = check(root)
    assert code == 1 and "python/torchtraceap/base: 2 hits, 0 allowed" in out
    with words.open("a") as file:
        file.write("cpp/trace 1\npython/torchtraceap/base 3\n")
    assert check(root) == (0, "")
    assert check(root, "--list")[1].count("torchtraceap/base/a.py:1: ") == 2
    assert check(root, "--lower") == (0, "")
    assert words.read_text("utf-8").endswith("\npython/torchtraceap/base 2\n")
    write(root, "py", "# Nobody, whoever, and so many.\n")
    assert check(root, "--lower")[0] == 1
    assert words.read_text("utf-8").endswith("\npython/torchtraceap/base 2\n")


def test_this_repository() -> None:
    command = [sys.executable, CI / "check_words.py", CI.parent]
    assert subprocess.run(command, check=False).returncode == 0
