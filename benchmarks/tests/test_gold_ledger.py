# SPDX-License-Identifier: BSD-3-Clause
"""test_gold_ledger.py: each look at the gold is written down, once a release."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from benchmarks.lab.detector import gold_ledger
from benchmarks.lab.detector.compact_corpus import Corpus, CorpusError, read_corpus
from benchmarks.lab.detector.synthetic_corpus import write_corpus

pytestmark = pytest.mark.verify


@pytest.fixture
def gold(tmp_path: Path) -> Corpus:
    write_corpus(tmp_path, groups=12, seed=5)
    corpus = read_corpus(tmp_path)
    runs = tuple(
        dataclasses.replace(run, source="G", complete=False)
        if run.group < "g004"
        else run
        for run in corpus.runs
    )
    return dataclasses.replace(corpus, runs=runs)


def test_a_look_says_what_was_seen_and_with_what(gold: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    gold_ledger.open_gold(gold, ledger)
    gold_ledger.open_gold(gold, ledger)  # The same, gone on with.
    (look,) = gold_ledger.opened(ledger)
    assert look["corpus"] == gold.digest and look["release"] == gold_ledger.release()
    assert {name: look[name] for name in ("corpus", "code", "thresholds")} == (
        gold_ledger.state_of(gold)
    )


@pytest.mark.parametrize("changed", ["corpus", "code", "thresholds"])
def test_no_second_look_with_something_changed(
    gold: Corpus, tmp_path: Path, changed: str
) -> None:
    ledger = tmp_path / "opened.json"
    gold_ledger.open_gold(gold, ledger)
    (look,) = json.loads(ledger.read_text())
    ledger.write_text(json.dumps([look | {changed: "other"}]))
    with pytest.raises(CorpusError, match=f"with another {changed}; "):
        gold_ledger.open_gold(gold, ledger)
    # Of another release it says nothing.
    ledger.write_text(json.dumps([look | {changed: "other", "release": "0.0.1"}]))
    gold_ledger.open_gold(gold, ledger)
    assert len(gold_ledger.opened(ledger)) == 2


def test_nothing_to_see_is_no_look(gold: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    # All of it costs something: S7 cannot be asked, as of a pair without its fix.
    costly = dataclasses.replace(gold, saved_all=gold.saved_all + 0.1)
    gold_ledger.open_gold(costly, ledger)
    assert not ledger.exists()


def test_a_void_look_does_not_count(gold: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    void = {"release": gold_ledger.release(), "date": "2026-01-01", "corpus": "other"}
    ledger.write_text(json.dumps([void | {"void": "nothing was scored"}]))
    assert gold_ledger.opened(ledger) == []
    gold_ledger.open_gold(gold, ledger)
    assert len(gold_ledger.entries(ledger)) == 2  # It stays, for all to see.
    assert gold_ledger.most_in_a_release(ledger) == 1


def test_code_and_thresholds_are_told_apart(
    gold: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gold_ledger, "_CODE", tmp_path)
    states = []
    for text in ("LIMIT = 0.05\n", "LIMIT = 0.05  # five\n", "LIMIT = 0.06\n"):
        (tmp_path / "labels.py").write_text(text)
        (tmp_path / "benchmark_page.py").write_text(f"WIDTH = {len(states)}\n")
        states.append(gold_ledger.state_of(gold))
    first, comment, other = states
    assert first["code"] != comment["code"]
    assert first["thresholds"] == comment["thresholds"] != other["thresholds"]


def test_the_looks_of_the_repository() -> None:
    assert all(look["release"] for look in gold_ledger.entries())
    assert gold_ledger.most_in_a_release() <= 1
