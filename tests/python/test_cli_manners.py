# SPDX-License-Identifier: BSD-3-Clause
"""test_cli_manners.py: the program at a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.base.text_table import align, marked
from torchtraceap.cli.output import say_lines

from .conftest import Cli, python
from .terminal import on_terminal

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
TINY = "mi250-rocm62-tiny.json.gz"
LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
# What decides whether colors and progress are shown.
DECIDING = ("CI", "NO_COLOR", "FORCE_COLOR", "PYTEST_CURRENT_TEST", "TERM")
BOLD, RED, YELLOW, END = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"


def environment(**more: str) -> dict[str, str]:
    """Return the environment as at a terminal; CI="1" keeps progress away."""
    kept = {k: v for k, v in os.environ.items() if k not in DECIDING}
    return kept | {"TERM": "xterm-256color"} | more


def analyze(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "torchtraceap", "analyze", *map(str, arguments)]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]+m", "", text)


# --- Colors ---------------------------------------------------------------------------


def test_a_terminal_shows_colors_and_a_pipe_the_same_text(
    data: Path, slow_loader: torchtraceap.Report, own_process: Run
) -> None:
    code, shown = on_terminal(analyze(data / LOADER, "--full"), environment(CI="1"))
    piped = own_process(
        "analyze", data / LOADER, "--full", env=environment()
    ).stdout.decode()
    assert code == 0 and plain(shown) == piped
    assert "\x1b" not in piped and piped == slow_loader.summary(windows=5) + "\n"
    lines = shown.splitlines()
    begin = next(i for i, line in enumerate(lines) if "Findings, what" in line) + 1
    colors = {"high": RED, "medium": YELLOW, "low": ""}
    seen = set()
    for line, finding in zip(lines[begin:], slow_loader.findings, strict=False):
        color = colors[finding.severity]
        assert (f"{color}{finding.kind}{END}" in line) == bool(color), line
        assert ("\x1b" in line) == bool(color)
        seen.add(finding.severity)
    assert seen == {"high", "low"}
    assert f"{BOLD}Windows, largest saving first, similar neighbors" in shown
    assert f"{BOLD}Limit:{END} the host." in shown


def test_a_style_is_that_of_a_cell_not_of_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place may be called as the finding, and hold what a style is written with."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    place = "sync_stall.py:3 [red]sync_stall[/red] :smile: " + 200 * "x"
    rows = [("where", "what"), (place, marked("sync_stall", "high"))]
    say_lines(align(rows, right=(1,), indent="  "))
    _, shown = capsys.readouterr().out.splitlines()
    assert shown == f"  {place}  {RED}sync_stall{END}"


@pytest.mark.parametrize(
    ("more", "colored"),
    [
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": ""}, True),  # As no-color.org has it: empty is not set.
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_who_wants_no_colors_gets_none(
    data: Path, more: dict[str, str], colored: bool
) -> None:
    _, shown = on_terminal(analyze(data / TINY), environment(CI="1", **more))
    assert ("\x1b" in shown) == colored


def test_colors_can_be_forced_into_a_pipe_but_not_into_json(
    data: Path, own_process: Run
) -> None:
    env = environment(FORCE_COLOR="1")
    assert BOLD in own_process("analyze", data / TINY, env=env).stdout.decode()
    json.loads(own_process("analyze", data / TINY, "--json", "-", env=env).stdout)


def test_a_bad_recording_is_marked(data: Path) -> None:
    path = data / "a100-cupti-range-no-kernels.json.gz"
    _, shown = on_terminal(analyze(path), environment(CI="1"))
    (line,) = [line for line in shown.splitlines() if "Recording " in line]
    assert line.startswith("\x1b[1;31mRecording unusable:\x1b[0m The program launched")


# --- Progress and quiet ---------------------------------------------------------------

IMPATIENT = """
import sys
from torchtraceap.base import progress
from torchtraceap.cli import main, output
output.PATIENCE_S = 0.002
sys.exit(main(sys.argv[1:]))
"""


def test_a_terminal_shows_long_work(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", IMPATIENT, "analyze", str(data / LOADER)]
    command += ["--html", str(tmp_path / "out")]
    code, shown = on_terminal(command, environment())
    assert code == 0
    assert "analyzing kineto2021" in shown and "writing " in shown
    # Each is erased before the next is shown, and nothing is left in the end.
    _, quiet = on_terminal([*command, "--quiet"], environment())
    assert quiet == ""
    drawn = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h\r\x1b\[1A\x1b\[2K", re.DOTALL)
    text = plain(drawn.sub("", shown))
    assert text.startswith(str(data / LOADER)) and "writing" not in text
    assert "\r" not in text and "\x1b" not in text


def test_a_pipe_or_a_ci_machine_shows_no_progress(data: Path) -> None:
    command = ["-c", IMPATIENT, "analyze", str(data / LOADER)]
    result = python(*command, env=environment())
    assert result.returncode == 0 and result.stderr == ""
    _, shown = on_terminal([sys.executable, *command], environment(CI="1"))
    assert "\r" not in shown


@pytest.mark.parametrize("command", ["analyze", "whatif"])
def test_quiet(cli: Cli, data: Path, tmp_path: Path, command: str) -> None:
    target = tmp_path / "out.json"
    assert cli(command, data / LOADER, "--quiet", "--json", target) == (0, "", "")
    assert json.loads(target.read_text())["trace"]["path"] == str(data / LOADER)
    # Asked for by name, so it is printed.
    assert json.loads(cli(command, data / LOADER, "-q", "--json", "-").fine())
    code, out, err = cli(command, tmp_path / "gone.json", "--quiet")
    assert code == 2 and out == "" and "gone.json" in err


def test_a_quiet_check_says_it_by_its_code(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    budget = tmp_path / "budget.toml"
    check = ("check", data / TINY, "-q")
    assert cli(*check, "--write-budget", budget).out == ""
    assert cli(*check, "--budget", budget) == (0, "", "")
    assert cli("check", data / LOADER, "-q", "--budget", budget) == (1, "", "")
    worse = cli("compare", data / TINY, data / LOADER, "-q", "--fail-on", "new")
    assert (worse.code, worse.out) == (1, "")
