# SPDX-License-Identifier: BSD-3-Clause
"""The command ``explain``: what it refuses before any work and before any cost, what a
dry run shows, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..conftest import Run
from ..model_server import Act, Server, completion, error, sensible

pytest.importorskip("openai")


@pytest.fixture
def trace(data: Path) -> str:
    return str(data / "h100-vit-nsfw-inference.json.gz")


@pytest.fixture
def to(model_server: Server) -> tuple[str, ...]:
    return "--llm", model_server.url, "--model", "m"


def test_it_asks_and_keeps_the_answers(
    program: Run, trace: str, model_server: Server, to: tuple[str, ...], tmp_path: Path
) -> None:
    model_server.acts = sensible
    told = tmp_path / "e.json"
    wanted = ("--top", "1", "--windows", "1", "--json", str(told))
    done = program("explain", trace, *to, *wanted)
    assert done.returncode == 0 and "opinion, of m: sync_stall" in done.stdout.decode()
    assert "Asking the model: 4 answers, 400 tokens sent" in done.stdout.decode()
    made = [one["opinion"]["pattern"] for one in json.loads(told.read_text())]
    assert made == ["sync_stall"] * 2


@pytest.mark.parametrize(
    ("acts", "code", "out", "err"),
    [
        # Words that fail beside a pattern are no bad input.
        ([completion({"pattern": "sync_stall"}), error(400, "what?")],
         0, "opinion, of m: sync_stall", "what?"),
        ([error(401, "bad key")], 2, "No answer of m", "key"),
    ],
)  # fmt: skip
def test_what_fails_is_said_beside_the_explanation(
    program: Run, trace: str, model_server: Server, to: tuple[str, ...],
    acts: list[Act], code: int, out: str, err: str,
) -> None:  # fmt: skip
    model_server.acts = acts
    done = program("explain", trace, "--top", "1", *to)
    assert done.returncode == code and err in done.stderr.decode()
    assert "To keep it so, a test:" in done.stdout.decode()
    assert out in done.stdout.decode()


TO = ("--llm", "http://127.0.0.1:1/v1", "--model", "m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "m"), "--llm"),
        (("--parallel", "2"), "--llm"),
        (("--labels", "x"), "--llm"),
        (("--tokens", "3"), "300"),
        ((*TO, "--labels", "x"), "give --windows N"),
        (("--top", "0"), "--top 0 leaves nothing to explain: give --windows N"),
        (("--dry-run", "--json", "x"), "leave --json out"),
        (("--dry-run", "--windows", "1", *TO, "--labels", "x"), "leave --labels out"),
        (("--dry-run", "--html", "-"), "leave --html out"),
        (("--dry-run", "--llm", "here", "--model", "m"), "is no URL"),
        (("--dry-run", "--llm", "http://127.0.0.1:1/v1"), "model must name"),
        (("--dry-run", *TO, "--timeout", "7200"), "timeout_s must be"),
        (("--key-env", "MY_KEY"), "--llm"),
        ((*TO, "--key-env", "MY_KEY"), "has no variable MY_KEY"),
        (("--dry-run", *TO, "--key-env", "MY_KEY"), "has no variable MY_KEY"),
    ],
)
def test_is_refused_before_any_work(
    program: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    # A trace that is not there would be said, were it read.
    done = program("explain", tmp_path / "none.json", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert not (tmp_path / "x").exists()


def test_a_dry_run_sends_nothing_and_shows_what_would_go_to_whom(
    program: Run, trace: str, model_server: Server, to: tuple[str, ...]
) -> None:
    done = program("explain", trace, "--top", "1", "--dry-run", *to)
    assert done.returncode == 0 and not model_server.sent
    shown = done.stdout.decode()
    assert f"POST {model_server.url}/chat/completions\n" in shown
    assert '{"model": "m", ' in shown
    assert shown.count("The messages never change.") == 1
    shown = program("explain", trace, "--top", "1", "--dry-run").stdout.decode()
    assert "POST URL/chat/completions\n" in shown and '{"model": "MODEL", ' in shown


def test_the_variable_that_is_named_has_the_key(
    program: Run, trace: str, model_server: Server, to: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MY_KEY", "mine")
    monkeypatch.setenv("OPENAI_API_KEY", "paid")
    model_server.acts = sensible
    for key in ("--key-env", "MY_KEY"), ():
        program("explain", trace, "--top", "1", *to, *key)
    keys = [sent.headers["authorization"] for sent in model_server.sent]
    assert keys == ["Bearer mine"] * 2 + ["Bearer paid"] * 2
