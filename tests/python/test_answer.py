# SPDX-License-Identifier: BSD-3-Clause
"""The first screen: ten lines with what, where, what to do and what it gains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap.cli import main
from torchtraceap.detection.model import BUNDLED
from torchtraceap.views.answer_text import WIDTH, answer_line, answer_lines

from .conftest import Run
from .real_traces import PATHS, summed_up
from .trace_builder import launched, report_of

LOADER = "kineto2021-v100-resnet50-workers0-memory.json.gz"
TINY = "mi250-rocm62-tiny.json.gz"
#: The longest screen allowed of any trace; the median is 11.
MOST_LINES = 30


@pytest.mark.parametrize("name", summed_up())
def test_every_trace_has_a_screen_that_fits(name: str) -> None:
    recover = name.startswith("truncated")
    report = torchtraceap.analyze(PATHS[name], detector="off", recover=recover)
    lines = answer_lines(report)
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH
    answer = report.answer
    assert len(answer.rows) <= 5
    assert bool(answer.rows) != bool(answer.otherwise)
    text = "\n".join(lines)
    for row in answer.rows:
        assert row.pattern in text and row.fix and row.problem
        costliest = report.findings[row.findings[0]]
        assert (costliest.pattern, costliest.subtype) == (row.pattern, row.subtype)
        for share in (row.low_fraction, row.middle_fraction, row.high_fraction):
            assert share is None or 0 <= share <= 1
    shown = sum(len(row.findings) for row in answer.rows)
    rules = [f for f in report.findings if f.origin != "model"]
    assert shown + answer.rest == len(rules)
    if report.quality.verdict != "ok":
        assert f"Recording {report.quality.verdict}" in text


def test_a_narrow_screen_keeps_files_and_functions(
    slow_loader: torchtraceap.Report,
) -> None:
    lines = answer_lines(slow_loader, 50)
    places = [line for line in lines if line.startswith("      resnet50_profiler")]
    assert places[:2] == [
        "      resnet50_profiler_api.py:42",
        "      resnet50_profiler_api.py:46 (+4)",
    ]
    assert len(places) == len(slow_loader.answer.rows)


def test_the_facts_say_what_was_left_out_and_whose_mean_it_is(data: Path) -> None:
    part = torchtraceap.analyze(data / TINY, skip_categories=["kernel"])
    assert re.search(r"\d+ events? left out$", answer_lines(part)[1])
    rows = (launched(d + 1, 10 * d, 100, 50, device=d) for d in (0, 1))
    both = report_of(*chain.from_iterable(rows))
    assert answer_lines(both)[1].endswith("busy 33.3 % (mean of 2 devices)")


def test_one_line_a_trace(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = [str(data / LOADER), str(data / TINY)]
    assert main(["analyze", "--brief", *traces]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [answer_line(torchtraceap.analyze(path)) for path in traces]
    assert lines[0].endswith(
        ": The program waited for the next batch, 33.4 % of the time, at "
        "resnet50_profiler_api.py:42. Load in the background. A fix saves 30 % (17 "
        "to 35)."
    )


def test_options_of_the_whole_report_print_it(
    data: Path, capsys: pytest.CaptureFixture[str], program: Run
) -> None:
    path = str(data / TINY)
    for more in (["--full"], ["--windows", "3"], ["--tables"]):
        assert main(["analyze", path, "--no-detector", *more]) == 0
        text = capsys.readouterr().out
        assert "\nFindings, " in text and "\nWhat helps:" in text
    assert program("analyze", path, "--brief", "--full").returncode == 2
    refused = program("analyze", path, "--brief", "--tables")
    assert refused.returncode == 2 and b"--brief is one line" in refused.stderr


def test_the_words_of_a_rule_of_ones_own_are_whole(data: Path) -> None:
    @torchtraceap.rule(
        side="cpu",
        summary="torch.load took long",
        advice="Read less",
        before="profiler_artifact",
    )
    def reads_files(view: torchtraceap.RuleView) -> Iterable[torchtraceap.Claim]:
        for row in view.rows(name=re.compile("^enumerate.DataLoader")):
            yield torchtraceap.Claim(row)

    report = torchtraceap.analyze(data / LOADER, detector="off", rules=[reads_files])
    (row,) = [row for row in report.answer.rows if row.pattern == "reads_files"]
    assert (row.problem, row.fix) == ("torch.load took long", "Read less")


def test_named_weights_have_a_line(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    trace = str(data / LOADER)
    assert main(["analyze", trace, "--detector", str(BUNDLED)]) == 0
    named = capsys.readouterr().out
    assert main(["analyze", trace]) == 0
    assert named.startswith(capsys.readouterr().out)
    assert "\nDetector (torchtraceap " in named


def test_the_json_has_the_same_rows(slow_loader: torchtraceap.Report) -> None:
    form = json.loads(slow_loader.to_json())
    rows = [row["pattern"] for row in form["answer"]["rows"]]
    assert rows == [row.pattern for row in slow_loader.answer.rows]
    first = form["answer"]["rows"][0]
    assert form["findings"][first["findings"][0]]["pattern"] == first["pattern"]
