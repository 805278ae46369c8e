# SPDX-License-Identifier: BSD-3-Clause
"""test_explainer.py: explanations of findings and windows without a model."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import torchtraceap
from torchtraceap import _core
from torchtraceap._core import Finding, Label, Location
from torchtraceap.explain.digest import Digest
from torchtraceap.explain.explainer import check_of, explained, explained_window
from torchtraceap.explain.explanation import (
    CodeChange,
    Explanation,
    Opinion,
    explanation_text,
)
from torchtraceap.explain.pattern_pages import pattern_page

from ..conftest import python

TRACE = "kineto2021-v100-resnet50-workers0-memory.json.gz"
DEGRADED = "nccl-rank000of128-sampled.json.gz"
DIGEST = Digest(subject="", facts="", told="", candidates=())
WORDS = re.compile(r"\\x|\bnan\b|\binf\b|\bNone\.| {2}|(?<!\.)\.\.(?!\.)")


@pytest.fixture(scope="module")
def report(data: Path) -> torchtraceap.Report:
    return torchtraceap.analyze(data / TRACE)


@pytest.fixture(scope="module")
def explanation(report: torchtraceap.Report) -> Explanation:
    return explained(report, report.findings[0], DIGEST)


def test_a_finding_is_explained(
    report: torchtraceap.Report, explanation: Explanation
) -> None:
    first = report.findings[0]
    page = pattern_page(first.pattern, first.subtype)
    assert page and explanation.subject == first.id
    assert (explanation.pattern, explanation.origin) == ("dataloader_bound", "rule")
    assert first.message in explanation.what and "py:42" in explanation.what
    assert explanation.why == (
        f"{page.why} 221 ms are lost to it, 20.8 % of the devices' time; in all of it "
        "the device stood still. What limits this trace: The host."
    )
    assert explanation.fix == first.advice and explanation.docs == first.docs
    assert explanation.change == page.example  # The file is missing.
    assert explanation.gain == (
        "about 319 ms (177 ms to 378 ms) of 1.07 s, about 29.9 %, by a replay of "
        "the recording with this alone fixed. That is more than the 221 ms lost to "
        "it: lost time is counted once, so what a fix of missed_cuda_graph, "
        "zero_grad_fill would save "
        "too is divided between them, and this fix alone gains all of it."
    )
    assert 'check.no("dataloader_bound")' in explanation.check


def test_an_estimate_says_so(report: torchtraceap.Report) -> None:
    (one,) = [f for f in report.findings if f.pattern == "tensor_core_unused"]
    told = explained(report, one, DIGEST)
    assert "At most 152 ms are lost to it, 14.3 %" in told.why
    assert "the device was busy then" in told.why
    assert told.gain.startswith("about 14.6 ms (0 to 16.2 ms) of")
    assert told.change and "GradScaler" in told.change.after  # A V100 has no TF32.


def test_more_gained_than_lost_is_explained(report: torchtraceap.Report) -> None:
    alone = report.findings[0].replace(shares_gain_with=())
    assert "comes sooner to what follows" in explained(report, alone, DIGEST).gain
    less = alone.replace(recoverable_us=100e3, recoverable_low_us=0.0)
    assert "more than" not in explained(report, less, DIGEST).gain


def test_without_a_device_that_is_said(data: Path) -> None:
    report = torchtraceap.analyze(data / "cpu-laptop-vae-python-stacks.json.gz")
    told = explained(report, report.findings[0], DIGEST)
    assert told.why.startswith("No work of a device was recorded here:")


def test_a_gain_that_is_not_known_says_why(data: Path) -> None:
    report = torchtraceap.analyze(data / DEGRADED)
    told = explained(report, report.findings[0], DIGEST)
    assert told.gain == f"Not known: {report.recovery.refusal}."
    assert "What limits" not in told.why  # Not reported for such a recording.


def test_the_limit_is_a_whole_sentence(data: Path) -> None:
    report = torchtraceap.analyze(data / "mi300-torch-compile-triton.json.gz")
    told = explained(report, report.findings[0], DIGEST)
    assert re.search(r"idle for only \d+\.\d %\.", told.why)


def test_what_the_detector_points_at_is_not_explained_away(
    report: torchtraceap.Report,
) -> None:
    guess = report.findings[0].replace(
        pattern="unexplained",
        origin="model",
        basis="model",
        docs="docs/detector.md",
        recoverable_us=None,
    )
    told = explained(report, guess, DIGEST)
    assert (told.pattern, told.change, told.check) == ("unexplained", None, "")
    assert "no rule fits" in told.why and "not proven" in told.gain
    assert told.docs == "docs/detector.md"


def test_every_finding_and_window_of_real_traces_reads_well(data: Path) -> None:
    for path in sorted(data.glob("*.json.gz")):
        report = torchtraceap.analyze(path)
        told = [explained(report, finding, DIGEST) for finding in report.findings]
        told += [explained_window(report, w, DIGEST) for w in report.windows[:20]]
        for one in told:
            assert one.what and one.gain and one.docs
            for said in (one.what, one.why, one.fix, one.gain):
                assert not WORDS.search(said), said
            assert one.pattern == "none" or (one.why and one.fix)
            text = explanation_text(one)
            assert text == explanation_text(one)


def test_the_page_shows_what_is_said(data: Path, root: Path) -> None:
    page = (root / "docs" / "explain.md").read_text("utf-8")
    for trace, pattern in ((TRACE, "dataloader_bound"), (DEGRADED, "comm_exposed")):
        report = torchtraceap.analyze(data / trace)
        first = next(f for f in report.findings if f.pattern == pattern)
        assert explanation_text(explained(report, first, DIGEST)) in page


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
def test_the_page_shows_what_is_said_of_its_own_script(root: Path, here: Path) -> None:
    """Figures aside, which go with the version of torch."""
    page = (root / "docs" / "explain.md").read_text("utf-8")
    section = page.partition("\n### Three examples\n")[2]
    script, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)[:2]
    (here / "train.py").write_text(script)
    command = "-m torchtraceap dryrun -q --steps 0 --trace-out trace.json train.py"
    python(*command.split(), check=True)
    trace = (here / "trace.json").read_text("utf-8")
    trace = trace.replace(str(Path("train.py").absolute()), "train.py")
    (here / "trace.json").write_text(trace)
    report = torchtraceap.analyze("trace.json")
    told = explained(report, report.findings[0], DIGEST)
    assert told.change and told.change.place == "train.py:9, 11"
    figure = re.compile(r"[\d.]+ (?:µs|ms|s|%)")
    said = explanation_text(told)
    assert figure.sub("#", said).split() == figure.sub("#", shown).split()


def test_a_window_is_what_wastes_most(report: torchtraceap.Report) -> None:
    most = max(report.windows, key=lambda window: window.wasted_us)
    told = explained_window(report, most, DIGEST)
    assert told.subject == f"window {most.index}" and told.pattern == "dataloader_bound"
    assert told.finding == report.findings[0] and "in step 7" in told.what
    assert "dataloader_bound costs 11.6 ms of it (54.8 %)." in told.what


def test_a_window_of_which_nobody_says_anything(report: torchtraceap.Report) -> None:
    told = explained_window(report, report.windows[0].replace(labels=()), DIGEST)
    assert (told.pattern, told.origin, told.finding) == ("none", "rule", None)
    assert (told.why, told.fix, told.change, told.check) == ("", "", None, "")
    assert "Neither rules nor detector see a loss." in told.what
    assert "none" in explanation_text(told)


def test_a_window_where_rules_are_silent_is_the_detectors(
    report: torchtraceap.Report,
) -> None:
    guess = Label("sync_stall", "cpu", 0.0, 0.4, "model", 0.0, 0.93)
    told = explained_window(report, report.windows[0].replace(labels=(guess,)), DIGEST)
    assert (told.pattern, told.origin) == ("sync_stall", "model")
    assert "No rule sees a loss here; the detector says sync_stall" in told.what
    assert "93.0 %" in told.what and "40.0 % of the window, unproven" in told.gain
    row = Label("small_grid", "gpu", 0.1, 0.1, "rule", 5.0)
    told = explained_window(
        report, report.windows[0].replace(labels=(row, guess)), DIGEST
    )
    assert (told.pattern, told.origin) == ("small_grid", "rule")


def test_each_pattern_of_the_table_can_be_explained(
    report: torchtraceap.Report,
) -> None:
    for pattern in _core.patterns():
        for subtype in ["", *pattern.subtypes]:
            one = report.findings[0].replace(
                pattern=pattern.name, subtype=subtype, location=None
            )
            told = explained(report, one, DIGEST)
            page = pattern_page(pattern.name, subtype)
            assert page and told.why.startswith(page.why)


def test_a_rule_of_a_users_own_is_explained_by_its_words(
    report: torchtraceap.Report,
) -> None:
    one = report.findings[0].replace(pattern="slow_checkpoint", message="It is slow.")
    told = explained(report, one, DIGEST)
    assert told.what.endswith("It is slow.") and told.fix == one.advice
    assert told.change is None and told.docs == "docs/reference/rules.md"
    assert "rules=[slow_checkpoint]" in told.check


# --- As text ------------------------------------------------------------------------


def opinion(**said: object) -> Opinion:
    usual = {"subject": "x", "model": "small", "key": ""}
    return Opinion(**{**usual, **said})  # type: ignore[arg-type]


def test_text_has_every_part(explanation: Explanation) -> None:
    text = explanation_text(explanation)
    assert str(explanation) == text
    for part in ("What:", "Why:", "Fix:", "Gain:", "Before (an example", "After:"):
        assert part in text
    assert "        loader = DataLoader(dataset, batch_size=64, shuffle=True)\n" in text
    assert "model" not in text.partition("More:")[2]
    assert max(map(len, text.splitlines())) <= 88


def test_what_is_only_taken_out_is_said(explanation: Explanation) -> None:
    change = CodeChange("torch.cuda.synchronize()\n", "", "train.py:3")
    said = str(replace(explanation, change=change))
    assert "Before (train.py:3, the file as it is now):" in said
    assert "After: taken out.\n\n" in said


def test_a_second_opinion_says_that_it_is_one(explanation: Explanation) -> None:
    said = opinion(pattern="sync_stall", agrees=False, explanation="A", advice="B")
    flat = " ".join(explanation_text(replace(explanation, opinion=said)).split())
    assert "by small: sync_stall, unlike above." in flat
    assert "a language model: it proves nothing" in flat
    assert "UNRELIABLE" not in flat


def test_words_that_are_not_in_the_digest_are_marked(explanation: Explanation) -> None:
    said = opinion(pattern="none", agrees=True, advice="Do 7.", problems=("7",))
    text = explanation_text(replace(explanation, opinion=said))
    assert "no pattern, as above" in text
    assert "UNRELIABLE" in text and '[?] "Do 7."' in text


def test_a_failure_is_a_sentence_beside_the_answer(explanation: Explanation) -> None:
    said = opinion(failure="timeout", why="It took over 60 s: try again.")
    text = explanation_text(replace(explanation, opinion=said))
    assert "No answer from small: It took over 60 s: try again." in text
    assert "Why:" in text


def test_what_others_wrote_cannot_drive_a_terminal(explanation: Explanation) -> None:
    evil = "a\x1b[2J\u202eb\nFix: rm\r"
    change = CodeChange(f"x = 1  # {evil}\n```\n", "\ty = '\x1b'\n", f"{evil}.py:1")
    said = opinion(model=evil, pattern=evil, why=evil, failure="key", advice=evil)
    one = replace(
        explanation, subject=evil, what=evil, why=evil, change=change, opinion=said
    )
    text = explanation_text(one)
    assert not set("\x1b\u202e\r\t") & set(text)
    assert "\nFix: rm" not in text.replace("# a", "")


# --- The tests to add ---------------------------------------------------------------


def run(folder: Path, test: str) -> str:
    (folder / "test_it.py").write_text(test)
    command = "-m pytest -q -p no:cacheprovider test_it.py"
    wide = os.environ | {"COLUMNS": "160"}
    done = python(*command.split(), cwd=folder, env=wide)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_the_test_of_a_trace_fails_while_the_finding_is_there(
    data: Path, tmp_path: Path, explanation: Explanation
) -> None:
    shutil.copy(data / TRACE, tmp_path / "trace.json.gz")
    assert "1 failed" in (out := run(tmp_path, explanation.check)), out
    assert "resnet50_profiler_api.py:42: dataloader_bound" in out
    fixed = explanation.check.replace("dataloader_bound", "gc_pause")
    assert "1 passed" in run(tmp_path, fixed)


WAITS = """
import torch

def step():
    loss = torch.ones(3, device="cuda").sum()
    return loss{read}

"""


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
def test_the_test_of_a_wait_fails_while_it_is_there(
    tmp_path: Path, report: torchtraceap.Report
) -> None:
    check = check_of(a_wait(report, "step"))
    assert "train.py:6" in check
    out = run(tmp_path, WAITS.format(read=".item()") + check)
    assert "1 failed" in out and "test_it.py:6" in out
    assert "1 passed" in run(tmp_path, WAITS.format(read="") + check)


RULE = """
import re
import torchtraceap

@torchtraceap.rule(
    side="cpu", summary="It waited.", advice="Do not.", before="dataloader_bound"
)
def slow_checkpoint(view):
    for row in view.rows(name=re.compile("{name}")):
        yield torchtraceap.Claim(row)

"""


def test_the_test_of_an_own_rule_fails_while_the_finding_is_there(
    data: Path, tmp_path: Path, report: torchtraceap.Report
) -> None:
    shutil.copy(data / TRACE, tmp_path / "trace.json.gz")
    check = check_of(report.findings[0].replace(pattern="slow_checkpoint"))
    out = run(tmp_path, RULE.format(name="DataLoader") + check)
    assert "1 failed" in out, out
    assert "1 passed" in run(tmp_path, RULE.format(name="no such thing") + check)


def a_wait(report: torchtraceap.Report, function: str) -> Finding:
    place = Location("src/train.py", 6, function, True)
    return report.findings[0].replace(pattern="sync_stall", location=place)


@pytest.mark.parametrize("function", ["<module>", "a b", "", "x\nimport os"])
def test_code_without_a_function_is_checked_in_a_trace(
    function: str, report: torchtraceap.Report
) -> None:
    assert 'check.no("sync_stall")' in check_of(a_wait(report, function))
