# SPDX-License-Identifier: BSD-3-Clause
"""The command ``explain``: what it refuses before any work and before any cost, what a
dry run shows, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import Run
from ..model_server import Server, completion, error, sensible

pytest.importorskip("openai")


@pytest.fixture
def trace(data: Path) -> str:
    return str(data / "h100-vit-nsfw-inference.json.gz")


def test_words_that_fail_beside_a_pattern_are_no_bad_input(
    program: Run, trace: str, model_server: Server
) -> None:
    model_server.acts = [completion({"pattern": "sync_stall"}), error(400, "what?")]
    to = ("--llm", model_server.url, "--model", "m")
    done = program("explain", trace, "--top", "1", *to)
    assert done.returncode == 0
    assert "opinion, of m: sync_stall" in done.stdout.decode()
    assert "what?" in done.stderr.decode()


TO = ("--llm", "http://127.0.0.1:1/v1", "--model", "m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
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


def test_a_dry_run_shows_whom_and_says_what_an_answer_may_change(
    program: Run, trace: str
) -> None:
    shown = program("explain", trace, "--top", "1", "--dry-run", *TO).stdout.decode()
    assert "POST http://127.0.0.1:1/v1/chat/completions\n" in shown
    assert '{"model": "m", ' in shown
    assert shown.count("The messages never change.") == 1
    shown = program("explain", trace, "--top", "1", "--dry-run").stdout.decode()
    assert "POST URL/chat/completions\n" in shown and '{"model": "MODEL", ' in shown


def test_the_variable_that_is_named_has_the_key(
    program: Run, trace: str, model_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "mine")
    monkeypatch.setenv("OPENAI_API_KEY", "paid")
    model_server.acts = sensible
    to = ("--llm", model_server.url, "--model", "m")
    for key in ("--key-env", "MY_KEY"), ():
        program("explain", trace, "--top", "1", *to, *key)
    keys = [sent.headers["authorization"] for sent in model_server.sent]
    assert keys == ["Bearer mine"] * 2 + ["Bearer paid"] * 2
