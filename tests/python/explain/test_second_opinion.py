# SPDX-License-Identifier: BSD-3-Clause
"""What a report and the program do with a second opinion: it is kept, shown and ranks,
and changes no figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import torchtraceap
from torchtraceap.data.opinion import Opinion, ranked

from ..conftest import Cli
from ..model_server import Act, Sent, Server, completion, error, sensible
from .waiting_loop import INJECTED, figures, waits

pytest.importorskip("openai")


def saying(pattern: str) -> Any:
    def act(sent: Sent) -> Act:
        return completion({"pattern": pattern}) if sent.is_classify else sensible(sent)

    return act


def ask(report: torchtraceap.Report, server: Server, **options: Any) -> Any:
    options = {"model": "m", "api_key": "", "what": 3} | options
    what = options.pop("what")
    return report.explain(what, llm=server.url, **options)


def test_an_opinion_is_kept_and_shown_and_no_figure_changes(
    slow_loader: torchtraceap.Report, model_server: Server
) -> None:
    report = torchtraceap.analyze(slow_loader.trace.path)
    before, form = figures(report), report.to_dict()
    order = [f.id for f in report.findings]
    model_server.acts = saying("none")
    made = ask(report, model_server, what=1)
    assert [o.pattern for o in report.opinions] == ["none"]
    assert [one.opinion.agrees for one in made] == [False]
    assert made.usage.requests == 2 and made.usage.prompt_tokens == 200
    assert figures(report) == before and [f.id for f in report.findings] == order
    after = report.to_dict()
    assert after.pop("second_opinion")["ranking"] != order
    assert form.pop("second_opinion") is None and after == form
    summary = report.summary()
    assert "as m ranks them (llm: no figure is changed by it)" in summary
    assert "llm: says none" in summary and ", was " in summary
    page = report.to_html()
    assert "A second opinion" in page and "The host waited." in page


def test_findings_are_explained_by_number_id_or_themselves(
    slow_loader: torchtraceap.Report,
) -> None:
    first, second = slow_loader.findings[:2]
    explained = slow_loader.explain
    for what in (2, [first.id, second.id], [first, second.id], (first, second)):
        assert [one.finding for one in explained(what)] == [first, second]
    for one in (first, first.id):
        assert [e.subject for e in explained(one)] == [first.id]
    with pytest.raises(ValueError, match="did you mean"):
        explained(first.id[:-1])
    for wrong in ({"tokens": "x"}, {"what": [3]}):
        with pytest.raises(TypeError):
            explained(**wrong)


def test_its_json_follows_the_schema(model_server: Server, form_of: Any) -> None:
    report = waits()
    model_server.acts = sensible
    ask(report, model_server, what=1)
    (opinion,) = form_of(report)["second_opinion"]["opinions"]
    assert opinion["origin"] == "llm" and opinion["agrees"] is True
    assert opinion["agrees_with_detector"] is None  # It is off.


def test_no_name_changes_a_question_a_figure_or_a_rank(model_server: Server) -> None:
    """The model answers whatever an instruction among the names asks for."""

    def obey(sent: Sent) -> Act:
        if sent.is_classify:
            told = "none" if "answer none" in sent.user.lower() else "sync_stall"
            return completion({"pattern": told})
        return completion({"explanation": sent.user, "advice": sent.user})

    model_server.acts = obey
    plain = waits()
    ask(plain, model_server)
    count = len(plain.findings)
    assert count > 1
    questions = {sent.raw for sent in model_server.sent if sent.is_classify}
    for name in INJECTED:
        model_server.sent.clear()
        report = waits(name)
        ask(report, model_server)
        # The questions that decide are the same, byte for byte.
        asked = {sent.raw for sent in model_server.sent if sent.is_classify}
        assert asked == questions, name
        assert [o.pattern for o in report.opinions] == ["sync_stall"] * count
        assert figures(report) == figures(plain), name
        assert [r.was for r in report.ranking] == [r.was for r in plain.ranking]


def opinion(subject: str, pattern: str | None, agrees: bool | None) -> Opinion:
    return Opinion(subject=subject, model="m", key="", pattern=pattern, agrees=agrees)


def test_who_is_called_something_else_counts_half_and_who_is_called_nothing_a_quarter(
    slow_loader: torchtraceap.Report,
) -> None:
    findings = slow_loader.findings
    gains = [f.recoverable_us or 0 for f in findings]
    # 354, 327, 56, 15, ... ms: half of the first is less than the second.
    assert gains[0] / 2 < gains[1] and gains[0] / 4 > gains[2]
    ids = [f.id for f in findings]

    def order(*opinions: Opinion) -> list[int]:
        return [row.was for row in ranked(findings, opinions)]

    same = list(range(len(findings)))
    assert order() == same
    assert order(opinion(ids[0], findings[0].pattern, True)) == same
    assert order(opinion(ids[0], None, None)) == same
    assert order(opinion(ids[0], "gc_pause", False)) == [1, 0, *same[2:]]
    assert order(opinion(ids[0], "none", False)) == [1, 0, *same[2:]]
    # A quarter of the third is less than the fourth.
    assert order(opinion(ids[2], "none", False))[:4] == [0, 1, 3, 2]
    both = order(opinion(ids[0], "none", False), opinion(ids[1], "none", False))
    assert both == same


def test_what_rules_see_in_the_windows_of_a_finding_is_no_disagreement(
    slow_loader: torchtraceap.Report, model_server: Server
) -> None:
    """Its windows are of several patterns: a model may name the other one."""
    report = torchtraceap.analyze(slow_loader.trace.path)
    other = report.findings[1]
    assert other.pattern == "missed_cuda_graph"
    for pattern, agrees in (("dataloader_bound", True), ("gc_pause", False)):
        model_server.acts = saying(pattern)
        (one,) = ask(report, model_server, what=[other.id])
        assert one.opinion.agrees is agrees


def test_windows_become_lines_that_training_reads(
    slow_loader: torchtraceap.Report, model_server: Server, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    from torchtraceap_train.own import read_answers

    report = torchtraceap.analyze(slow_loader.trace.path)
    model_server.acts = saying("dataloader_bound")
    ask(report, model_server, what=0, windows=[3])
    model_server.acts = saying("none")
    ask(report, model_server, what=0, windows=[60])
    file = tmp_path / "labels.jsonl"
    lines = report.pseudo_labels()
    assert [line["window"] for line in lines] == [3, 60]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (rows,) = read_answers([file]).values()
    assert (rows[0]["cpu"], rows[0]["gpu"]) == (True, None)
    assert rows[0]["pattern"] == "dataloader_bound" and rows[0]["by"] == "llm:m"
    assert (rows[1]["cpu"], rows[1]["gpu"], rows[1]["pattern"]) == (False, False, None)


def test_a_window_without_a_device_gets_no_label_of_one(
    cpu_only: torchtraceap.Report, model_server: Server
) -> None:
    report = torchtraceap.analyze(cpu_only.trace.path)
    for pattern, lines in (("small_grid", 0), ("none", 1)):
        model_server.acts = saying(pattern)
        ask(report, model_server, what=0, windows=[0])
        assert len(report.pseudo_labels()) == lines
    (line,) = report.pseudo_labels()
    assert (line["cpu"], line["gpu"]) == (False, None)


# --- The command: what it refuses, what a dry run shows, how it ends ------------------


@pytest.fixture
def trace(data: Path) -> str:
    return str(data / "h100-vit-nsfw-inference.json.gz")


@pytest.fixture
def to(model_server: Server) -> tuple[str, ...]:
    return "--llm", model_server.url, "--model", "m"


def test_it_asks_and_keeps_the_answers(
    cli: Cli, trace: str, model_server: Server, to: tuple[str, ...], tmp_path: Path
) -> None:
    model_server.acts = sensible
    told = tmp_path / "e.json"
    out = cli("explain", trace, *to, "--top=1", "--windows=1", "--json", told).fine()
    assert "opinion, by m: sync_stall" in out
    assert "Asking the model: 4 answers, 400 tokens sent" in out
    made = [one["opinion"]["pattern"] for one in json.loads(told.read_text())]
    assert made == ["sync_stall"] * 2


@pytest.mark.parametrize(
    ("acts", "code", "out", "err"),
    [
        # Failed explanations beside a pattern are not bad input.
        ([completion({"pattern": "sync_stall"}), error(400, "what?")],
         0, "opinion, by m: sync_stall", "what?"),
        ([error(401, "bad key")], 2, "No answer from m", "key"),
    ],
)  # fmt: skip
def test_a_failure_is_reported_beside_the_explanation(
    cli: Cli, trace: str, model_server: Server, to: tuple[str, ...],
    acts: list[Act], code: int, out: str, err: str,
) -> None:  # fmt: skip
    model_server.acts = acts
    done = cli("explain", trace, "--top", "1", *to)
    assert done.code == code and err in done.err
    assert "To keep it so, a test:" in done.out and out in done.out


TO = ("--llm", "http://127.0.0.1:1/v1", "--model", "m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "m"), "--llm"),
        (("--parallel", "2"), "--llm"),
        (("--labels", "x"), "--llm"),
        (("--tokens", "3"), "300"),
        ((*TO, "--labels", "x"), "add --windows N"),
        (("--top", "0"), "--top 0 leaves nothing to explain: add --windows N"),
        (("--dry-run", "--json", "x"), "leave out --json"),
        (("--dry-run", "--windows", "1", *TO, "--labels", "x"), "leave out --labels"),
        (("--dry-run", "--html", "-"), "leave out --html"),
        (("--dry-run", "--llm", "here", "--model", "m"), "is not an http or https URL"),
        (("--dry-run", "--llm", "http://127.0.0.1:1/v1"), "model must name"),
        (("--dry-run", *TO, "--timeout", "7200"), "timeout_s must be"),
        (("--key-env", "MY_KEY"), "--llm"),
        ((*TO, "--key-env", "MY_KEY"), "variable MY_KEY is not set"),
        (("--dry-run", *TO, "--key-env", "MY_KEY"), "variable MY_KEY is not set"),
    ],
)
def test_is_refused_before_any_work(
    cli: Cli,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    # If the missing trace were read, it would be reported.
    code, out, err = cli("explain", "none.json", *options)
    assert (code, out) == (2, "") and said in err
    assert not (here / "x").exists()


def test_a_dry_run_sends_nothing_and_shows_what_would_go_to_whom(
    cli: Cli, trace: str, model_server: Server, to: tuple[str, ...]
) -> None:
    shown = cli("explain", trace, "--top", "1", "--dry-run", *to).fine()
    assert not model_server.sent
    assert f"POST {model_server.url}/chat/completions\n" in shown
    assert '{"model": "m", ' in shown
    assert shown.count("The messages never change.") == 1
    shown = cli("explain", trace, "--top", "1", "--dry-run").fine()
    assert "POST URL/chat/completions\n" in shown and '{"model": "MODEL", ' in shown


def test_the_variable_that_is_named_has_the_key(
    cli: Cli, trace: str, model_server: Server, to: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MY_KEY", "mine")
    monkeypatch.setenv("OPENAI_API_KEY", "paid")
    model_server.acts = sensible
    for key in ("--key-env", "MY_KEY"), ():
        cli("explain", trace, "--top", "1", *to, *key)
    keys = [sent.headers["authorization"] for sent in model_server.sent]
    assert keys == ["Bearer mine"] * 2 + ["Bearer paid"] * 2
