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

from .conftest import Cli

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]

TINY = "mi250-rocm62-tiny.json.gz"
LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"


def refusal(result: subprocess.CompletedProcess[bytes]) -> str:
    """Return the message of a refusal, which must be one and no traceback."""
    text = result.stderr.decode()
    assert result.returncode == 2, text
    assert "Traceback" not in text
    assert text.startswith("torchtraceap: ")
    assert 15 <= len(text) <= 2000
    return text


def test_analyze_prints_findings_and_windows(program: Run, data: Path) -> None:
    result = program("analyze", data / LOADER, "--windows", 2)
    assert result.returncode == 0 and result.stderr == b""
    report = torchtraceap.analyze(data / LOADER)
    assert result.stdout.decode() == report.summary(windows=2) + "\n"
    assert "(2 of " in result.stdout.decode()


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
    program: Run, data: Path, tmp_path: Path
) -> None:
    target = tmp_path / "report.json"
    result = program("analyze", data / TINY, "--json", target)
    assert result.returncode == 0
    assert result.stdout.decode().startswith(str(data / TINY))
    form = json.loads(target.read_text())
    assert form == torchtraceap.analyze(data / TINY).to_dict()
    result = program("analyze", data / TINY, "--json", "-")
    assert json.loads(result.stdout) == form


def test_several_traces(program: Run, data: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    other = data / "cpu-macos-resnet18.json.gz"
    result = program(
        "analyze", data / TINY, bad, other, "--json", tmp_path / "all.json"
    )
    text = refusal(result)
    assert "1 of 3 traces failed: " in text and str(bad) in text
    out = result.stdout.decode()
    assert str(data / TINY) in out and str(other) in out
    forms = json.loads((tmp_path / "all.json").read_text())
    assert [form["trace"]["path"] for form in forms] == [str(data / TINY), str(other)]


@pytest.mark.parametrize("command", ["analyze", "inspect"])
def test_bad_files_are_refused(program: Run, tmp_path: Path, command: str) -> None:
    """All of them: test_faults.py."""
    assert "folder" in refusal(program(command, tmp_path))
    path = tmp_path / "bad.json"
    path.write_bytes(b'{"traceEvents": [{"ph": "X", "ts": 1, "du')
    assert str(path) in refusal(program(command, path))
    assert "Check the path" in refusal(program(command, tmp_path / "gone.json"))
    text = refusal(program(command, tmp_path / "gone\x1b[31m\u202e.json"))
    assert "\x1b" not in text and "\u202e" not in text


def inspected(result: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert result.returncode == 0, result.stderr.decode()
    facts: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return facts


def test_both_commands_load_the_given_files(program: Run, data: Path) -> None:
    path = data / LOADER
    options = ["--step", "6:7", "--skip-category", "cpu_op", "--threads", 2]
    options += ["--skip-category", "Trace", "--max-ratio", "inf"]
    trace = torchtraceap.load(path, steps=(6, 7), skip_categories=["cpu_op", "Trace"])
    facts = inspected(program("inspect", path, "--json", *options))
    assert (facts["events"], facts["left_out"]) == (len(trace), trace.left_out)
    assert "cpu_op" not in facts["categories"] and facts["left_out"] > 0
    text = program("inspect", path, *options).stdout.decode()
    assert f"left out     {trace.left_out:,} events" in text
    result = program("analyze", path, "--json", "-", *options)
    assert json.loads(result.stdout)["trace"]["events"] == len(trace)
    one = inspected(program("inspect", path, "--json", "--step", 6))
    assert one["events"] == len(torchtraceap.load(path, steps=6))


def test_steps_that_are_not_there(program: Run, data: Path) -> None:
    text = refusal(program("analyze", data / LOADER, "--step", 4))
    assert "no ProfilerStep#4" in text and "Its steps are 5 to 10" in text


def test_limits_on_gzip(program: Run, data: Path, tmp_path: Path) -> None:
    result = program("inspect", data / LOADER, "--max-text-bytes", 1000)
    assert "limit of 1000 bytes" in refusal(result)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b"[" + b" " * 90_000_000 + b"]"))
    refusal(program("analyze", bomb))
    assert inspected(program("inspect", bomb, "--json", "--max-ratio", 2000))


def test_recover_is_passed_on(program: Run, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "n')
    assert inspected(program("inspect", cut, "--json", "--recover"))["events"] == 1


def test_a_refusal_is_short_whatever_the_name(program: Run, tmp_path: Path) -> None:
    name = "\u202e" * 80 + ".json"  # 6 characters each where it is shown
    folder = tmp_path.joinpath(*["\U000e0001" * 60] * 8)
    refusal(program("inspect", folder / name))
    refusal(program("analyze", tmp_path / ("x" * 3000)))


def test_targets_that_cannot_be_written(
    program: Run, data: Path, tmp_path: Path
) -> None:
    for target in (tmp_path / "no" / "x.json", tmp_path):
        result = program("analyze", data / TINY, "--json", target)
        assert str(target) in refusal(result)
        assert result.stdout == b""  # It is reported before any work is done.


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_target_on_a_full_disk(program: Run, data: Path) -> None:
    result = program("analyze", data / TINY, "--json", "/dev/full")
    assert "cannot write /dev/full: No space left" in refusal(result)
    assert result.stdout  # The text is not lost for it.


@pytest.mark.parametrize("kind", ["itself", "hard link", "symbolic link", "other way"])
def test_a_trace_is_not_overwritten(
    program: Run, data: Path, tmp_path: Path, kind: str
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
    result = program("analyze", data / TINY, trace, "--json", target)
    assert f"would overwrite {trace}" in refusal(result)
    assert result.stdout == b"" and trace.read_bytes() == content


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk(own_process: Run, data: Path) -> None:
    with open("/dev/full", "wb") as full:
        result = own_process(
            "analyze", data / TINY, stdout=full, stderr=subprocess.PIPE
        )
    assert "standard output" in refusal(result)


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
        ([], "<= 8.9 %"),
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
