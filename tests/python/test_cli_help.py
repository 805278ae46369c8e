# SPDX-License-Identifier: BSD-3-Clause
"""test_cli_help.py: the program says what it takes, what is wrong, and why."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap.cli import program as cli_program
from torchtraceap.views.finding_text import gain_text

from .cli_commands import the_commands
from .conftest import Cli, python

TINY = "mi250-rocm62-tiny.json.gz"
LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"

# --- Help, mistakes, exit codes -------------------------------------------------------


def test_every_command_has_examples_that_it_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands = the_commands()
    names = set()
    for module in cli_program._COMMANDS:
        assert len(module.EXAMPLES) >= 3, module.__name__
        for line, what in module.EXAMPLES:
            found = re.search(r"torchtraceap ([^|>)]*)", line)
            assert found and what and len(line) <= 80
            words = shlex.split(found[1].rstrip())
            options = cli_program.make_parser().parse_args(words)
            assert callable(options.run)
            names.add(words[0])
            assert line in (commands[words[0]].epilog or "")
    assert names == set(commands)
    for name in ("", *commands):
        with pytest.raises(SystemExit, match="0"):
            cli_program.main([name, "--help"] if name else ["--help"])
        text = capsys.readouterr().out
        assert "examples:\n  # " in text
        assert max(map(len, text.splitlines())) <= 88
    assert "exit codes: 0 fine; 1 " in cli_program.make_parser().format_help()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "examples:"),
        (["trace.json"], "torchtraceap analyze trace.json\n"),
        (["my trace.json.gz", "--json", "x"], "analyze 'my trace.json.gz' --json x\n"),
        (["analize", "trace.json"], "did you mean analyze?"),
        (["what-if"], "did you mean whatif?"),
        (["frobnicate"], "there are: analyze, "),
        (["analyze", "x.json", "--jsn", "y"], "did you mean --json?"),
        (["whatif", "x.json", "--trace-uot=y"], "did you mean --trace-out?"),
        (["an\x1b[31m\u202e"], r"an\x1b[31m\u202e"),
        (["analyze"], "required: TRACE"),
        (["inspect", "x.json", "y.json"], "unknown arguments: y.json"),
        (
            ["analyze", "x.json", "--windows", "-1"],
            "'-1' is not a number of at least 0",
        ),
        (
            ["analyze", "x.json", "--windows", "many"],
            "'many' is not a number of at least 0",
        ),
        (["inspect", "x.json", "--step", "3:"], "'3:' is neither a step, such as 5"),
        (["inspect", "x.json", "--step", "-1"], "'-1' is neither a step, such as 5"),
        (["analyze", "x.json", "--step", "7:3"], "but 7 is after 3"),
        (["analyze", "x.json", "--skip-category", "gpu"], "'gpu' is not a category"),
        (["analyze", "x.json", "--threads", "0"], "threads must be at least 1"),
        (["inspect", "x.json", "--max-ratio", "nan"], "greater than 0, but is nan"),
        (["inspect", "x.json", "--max-text-bytes", "-5"], "at least 1, but is -5"),
    ],
)
def test_a_mistake_is_met_with_a_hint(
    cli: Cli, arguments: list[str], hint: str
) -> None:
    code, out, text = cli(*arguments)
    assert code == 2 and out == ""
    assert hint in text and "Traceback" not in text
    assert "\x1b" not in text and "\u202e" not in text


def test_a_file_without_an_ending_is_taken_for_a_trace(here: Path, cli: Cli) -> None:
    (here / "recorded").write_text("{}")
    assert "torchtraceap analyze recorded" in cli("recorded").err


def test_exit_codes_are_those_of_the_page(root: Path) -> None:
    from torchtraceap.cli import output

    page = (root / "docs" / "cli.md").read_text("utf-8")
    codes = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert [int(code) for code in codes] == [
        output.OK,
        output.BUDGET_BROKEN,
        output.BAD_INPUT,
        output.INTERRUPTED,
    ]
    commands = the_commands()
    assert all(f"| `{name} " in page for name in commands)
    known = {
        option
        for parser in commands.values()
        for action in parser._actions
        for option in action.option_strings
    }
    for name in ("cli", "detector", "dryrun", "reference/files"):
        page = (root / "docs" / f"{name}.md").read_text("utf-8")
        page = re.sub(r"--.*-->", "", page)  # An arrow.
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page))
        assert named <= known, f"{name}.md: {named - known}"


def test_ctrl_c_is_130() -> None:
    """Pressed while the program waits for the bytes of a trace; while it starts:
    test_interrupt.py."""
    code = "import sys; from torchtraceap.cli import main, analyze\n"
    code += "def stop(*a, **k): raise KeyboardInterrupt\n"
    code += "analyze.load = stop; sys.exit(main(['analyze', 'x.json']))"
    result = python("-c", code)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


# --- Targets are checked before any work ----------------------------------------------


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("analyze", ["--json", ""], "--json '' names no file"),
        ("analyze", ["--parquet", ""], "--parquet '' names no folder"),
        ("whatif", ["--trace-out", ""], "--trace-out '' names no file"),
        ("whatif", ["--json", ""], "--json '' names no file"),
        ("analyze", ["--json", "."], "cannot write .: Is a directory"),
        ("whatif", ["--json", "no/x.json"], "cannot write no/x.json: No such file"),
        ("whatif", ["--trace-out", "no/x.json"], "No such file"),
        ("analyze", ["--html", "no/x.html"], "cannot write no/x.html: No such file"),
        ("whatif", ["--trace-out", "-"], "cannot go to standard output"),
        ("analyze", ["--parquet", "-"], "cannot go to standard output"),
        ("analyze", ["--parquet", "file"], "cannot write file: Not a directory"),
        ("analyze", ["--parquet", "file/x/y"], "cannot write file/x/y: Not a dir"),
        ("analyze", ["--json", "file/x"], "cannot write file/x: Not a directory"),
        ("analyze", ["--parquet", "."], "holds file, which is none of the tables"),
        (
            "whatif",
            ["--json", "a", "--trace-out", "./a"],
            "--json and --trace-out name",
        ),
        ("analyze", ["--json", "new/a", "--parquet", "new"], "cannot write new/a"),
    ],
)
def test_targets_are_refused_before_the_trace_is_read(
    cli: Cli, here: Path, command: str, options: list[str], message: str
) -> None:
    (here / "file").write_text("mine")
    (here / "made").mkdir()
    code, out, text = cli(command, "not-there.json", *options)
    assert code == 2 and out == ""
    assert message in text and "not-there" not in text
    assert (here / "file").read_text() == "mine"
    assert sorted(path.name for path in here.iterdir()) == ["file", "made"]


def test_tables_by_the_program(cli: Cli, data: Path, tmp_path: Path) -> None:
    options = ["--parquet", tmp_path / "parquet"]
    cli("analyze", data / TINY, *options, "--json", "/dev/null").fine()
    assert (tmp_path / "parquet" / "events.parquet").exists()
    result = cli("analyze", data / TINY, data / LOADER, *options)
    assert "--parquet takes one trace" in result.err


# --- Messages -------------------------------------------------------------------------


def test_patterns_are_counted_as_the_readme_does(cli: Cli, root: Path) -> None:
    text = cli("patterns").fine()
    found = sum(pattern.user_finding for pattern in _core.patterns())
    aside = [p.name for p in _core.patterns() if not p.user_finding]
    assert text.startswith(f"{found} patterns, ")
    assert f"with {len(aside)} that only the balance has: {', '.join(aside)}" in text
    assert f"{found} patterns" in (root / "README.md").read_text("utf-8")


def test_a_file_is_no_place(cli: Cli, data: Path) -> None:
    file = "resnet50_profiler_api.py"
    code, _, err = cli("whatif", data / LOADER, "--drop", file)
    assert code == 2 and f"{file} is a file. Name a line of it" in err
    assert f": {file}:42, {file}:46" in err
    result = cli("whatif", data / LOADER, "--drop", "dataloader_bond")
    assert "did you mean 'dataloader_bound'?" in result.err


def test_an_edit_that_leaves_nothing_is_not_counted_on(
    slow_loader: torchtraceap.Report,
) -> None:
    everything = torchtraceap.what_if(slow_loader, torchtraceap.edits.hide("*"))
    assert everything.leaves_nothing and everything.gain is not None
    assert everything.gain.low_us == 0 < everything.gain.high_us
    assert "Gain       less than these" in everything.summary()
    some = torchtraceap.what_if(slow_loader, "dataloader_bound")
    assert not some.leaves_nothing and some.gain is not None and some.gain.low_us > 0
    assert re.search(r"Gain +about \d+ ms \(\d+ ms to \d+ ms\)", some.summary())


def test_the_reason_nothing_is_recoverable_is_reported(
    slow_loader: torchtraceap.Report,
) -> None:
    (kernels, *_) = [f for f in slow_loader.findings if f.idle_us == 0]
    nothing = kernels.replace(recoverable_us=0.0, recoverable_high_us=0.0)
    said = gain_text(nothing, slow_loader)
    assert said == "0 µs recoverable: the host is the limit"
