# SPDX-License-Identifier: BSD-3-Clause
"""test_cli.py: the program: what it is asked for, and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.cli import analyze as cli_analyze
from torchtraceap.cli.targets import write_report

from .conftest import Cli, Done

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
TINY = "mi250-rocm62-tiny.json.gz"
LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"


def refusal(result: Done) -> str:
    """Return the message of a refusal, which must be one and no traceback."""
    assert result.code == 2, result.err
    assert "Traceback" not in result.err
    assert result.err.startswith("torchtraceap: ")
    assert 15 <= len(result.err) <= 2000
    return result.err


def test_analyze_prints_findings_and_windows(cli: Cli, data: Path) -> None:
    text = torchtraceap.analyze(data / LOADER).summary(windows=2)
    assert cli("analyze", data / LOADER, "--windows", 2) == (0, text + "\n", "")
    assert "(2 of " in text


def test_the_script_is_the_same_program(data: Path) -> None:
    script = Path(sys.executable).with_name("torchtraceap")
    if not script.exists():
        pytest.skip("the package is not installed, only on the path")
    out = subprocess.run([script, "--version"], capture_output=True, check=True)
    assert out.stdout.decode() == f"torchtraceap {torchtraceap.__version__}\n"


def test_version(own_process: Run) -> None:
    assert own_process("--version").stdout.decode() == (
        f"torchtraceap {torchtraceap.__version__}\n"
    )


def test_json_to_a_file_and_to_standard_output(
    cli: Cli, data: Path, tmp_path: Path
) -> None:
    target = tmp_path / "report.json"
    out = cli("analyze", data / TINY, "--json", target).fine()
    assert out.startswith(str(data / TINY))
    form = json.loads(target.read_text())
    assert form == torchtraceap.analyze(data / TINY).to_dict()
    assert json.loads(cli("analyze", data / TINY, "--json", "-").fine()) == form


def test_several_traces(cli: Cli, data: Path, tmp_path: Path) -> None:
    bad, target = tmp_path / "bad.json", tmp_path / "all.json"
    bad.write_text("{}")
    other = data / "cpu-macos-resnet18.json.gz"
    result = cli("analyze", data / TINY, bad, other, "--json", target)
    text = refusal(result)
    assert "1 of 3 traces failed: " in text and str(bad) in text
    assert str(data / TINY) in result.out and str(other) in result.out
    forms = json.loads(target.read_text())
    assert [form["trace"]["path"] for form in forms] == [str(data / TINY), str(other)]


@pytest.mark.parametrize("command", ["analyze", "inspect"])
def test_bad_files_are_refused(cli: Cli, tmp_path: Path, command: str) -> None:
    """All of them: test_faults.py."""
    assert "folder" in refusal(cli(command, tmp_path))
    path = tmp_path / "bad.json"
    path.write_bytes(b'{"traceEvents": [{"ph": "X", "ts": 1, "du')
    assert str(path) in refusal(cli(command, path))
    assert "Check the path" in refusal(cli(command, tmp_path / "gone.json"))
    text = refusal(cli(command, tmp_path / "gone\x1b[31m\u202e.json"))
    assert "\x1b" not in text and "\u202e" not in text


def inspected(result: Done) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(result.fine().splitlines()[-1])
    return facts


def test_both_commands_load_the_given_files(cli: Cli, data: Path) -> None:
    path = data / LOADER
    options = ["--step", "6:7", "--skip-category", "cpu_op", "--threads", 2]
    options += ["--skip-category", "Trace", "--max-ratio", "inf"]
    trace = torchtraceap.load(path, steps=(6, 7), skip_categories=["cpu_op", "Trace"])
    facts = inspected(cli("inspect", path, "--json", *options))
    assert (facts["events"], facts["left_out"]) == (len(trace), trace.left_out)
    assert "cpu_op" not in facts["categories"] and facts["left_out"] > 0
    text = cli("inspect", path, *options).fine()
    assert f"left out     {trace.left_out:,} events" in text
    form = json.loads(cli("analyze", path, "--json", "-", *options).fine())
    assert form["trace"]["events"] == len(trace)
    one = inspected(cli("inspect", path, "--json", "--step", 6))
    assert one["events"] == len(torchtraceap.load(path, steps=6))


def test_steps_that_are_not_there(cli: Cli, data: Path) -> None:
    text = refusal(cli("analyze", data / LOADER, "--step", 4))
    assert "no ProfilerStep#4" in text and "Its steps are 5 to 10" in text


def test_limits_on_gzip(cli: Cli, data: Path, tmp_path: Path) -> None:
    result = cli("inspect", data / LOADER, "--max-text-bytes", 1000)
    assert "limit of 1000 bytes" in refusal(result)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * 90_000_000 + b"]"))
    refusal(cli("analyze", bomb))
    assert inspected(cli("inspect", bomb, "--json", "--max-ratio", 2000))


def test_recover_is_passed_on(cli: Cli, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "n')
    assert inspected(cli("inspect", cut, "--json", "--recover"))["events"] == 1


def test_a_refusal_is_short_whatever_the_name(cli: Cli, tmp_path: Path) -> None:
    name = "\u202e" * 80 + ".json"  # 6 characters each where it is shown
    folder = tmp_path.joinpath(*["\U000e0001" * 60] * 8)
    refusal(cli("inspect", folder / name))
    refusal(cli("analyze", tmp_path / ("x" * 3000)))


def test_targets_that_cannot_be_written(cli: Cli, data: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "no" / "x.json", tmp_path):
        result = cli("analyze", data / TINY, "--json", target)
        assert str(target) in refusal(result)
        assert result.out == ""  # It is reported before any work is done.


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_target_on_a_full_disk(cli: Cli, data: Path) -> None:
    result = cli("analyze", data / TINY, "--json", "/dev/full")
    assert "cannot write /dev/full: No space left" in refusal(result)
    assert result.out  # The text is not lost for it.


@pytest.mark.parametrize("kind", ["itself", "hard link", "symbolic link", "other way"])
def test_a_trace_is_not_overwritten(
    cli: Cli, data: Path, tmp_path: Path, kind: str
) -> None:
    trace, target = tmp_path / "trace.json.gz", tmp_path / "report.json"
    content = (data / TINY).read_bytes()
    trace.write_bytes(content)
    if kind == "itself":
        target = trace
    elif kind == "hard link":
        target.hardlink_to(trace)
    elif kind == "symbolic link":
        target.symlink_to(trace)
    else:
        (tmp_path / "folder").mkdir()
        target = tmp_path / "folder" / ".." / trace.name
    result = cli("analyze", data / TINY, trace, "--json", target)
    assert f"would overwrite {trace}" in refusal(result)
    assert result.out == "" and trace.read_bytes() == content


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk(own_process: Run, data: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = own_process(
            "analyze", data / TINY, stdout=full, stderr=subprocess.PIPE
        )
    assert "standard output" in refusal(
        Done(result.returncode, "", result.stderr.decode())
    )


def test_a_reader_that_stops_early(data: Path) -> None:
    """As `| head` does; the pipe is closed before anything is written."""
    command = [sys.executable, "-m", "torchtraceap", "analyze", str(data / LOADER)]
    command += ["--json", "-"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_closed_output(data: Path) -> None:
    script = f'exec "{sys.executable}" -m torchtraceap analyze "{data / TINY}" >&-'
    result = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, check=False)
    assert b"Traceback" not in result.stderr
    assert result.returncode in (0, 2)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_terminals_of_other_encodings(
    own_process: Run, data: Path, encoding: str
) -> None:
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    for options, said in (
        (["--full"], "×6" if encoding != "ascii" else "x6"),
        ([], "<= 14.3 %"),
    ):
        result = own_process("analyze", data / LOADER, *options, env=environment)
        assert result.returncode == 0 and result.stderr == b""
        assert said in result.stdout.decode(encoding)


def test_the_page_tells_of_every_form(root: Path) -> None:
    from torchtraceap.views.outputs import OUTPUTS

    page = (root / "docs" / "cli.md").read_text("utf-8")
    for output in OUTPUTS:
        assert f"`--{output.name} {output.metavar}`" in page


def test_what_ends_making_a_text_leaves_the_old_file(
    slow_loader: torchtraceap.Report, tmp_path: Path
) -> None:
    from dataclasses import replace

    from torchtraceap.views.outputs import OUTPUTS, write_output

    def end(*_: object) -> str:
        raise KeyboardInterrupt

    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_output(replace(OUTPUTS[1], text=end), [slow_loader], str(target))
    assert target.read_text() == "old"


@pytest.mark.parametrize("form", ["json", "html", "perfetto"])
def test_a_trace_that_is_gone_when_a_file_is_written(
    form: str, cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is needed once more: for lines of code, to be copied."""
    path, target = tmp_path / "trace.json.gz", tmp_path / "out"
    path.write_bytes((data / TINY).read_bytes())

    def remove_and_write(*given: Any) -> None:
        path.unlink()
        write_report(*given)

    monkeypatch.setattr(cli_analyze, "write_report", remove_and_write)
    code, _, err = cli("analyze", path, "-q", f"--{form}", target)
    assert (code, target.exists()) == (2, False)
    assert err.startswith(f"torchtraceap: --{form} {target}: {path}: cannot be opened")
    assert "restore it, or load a copy that stays" in err
    assert "folder" not in err  # That is not what is wrong.
