# SPDX-License-Identifier: BSD-3-Clause
"""test_datasheet.py: the facts in a corpus' datasheet."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("scipy")

from benchmarks.lab.detector import datasheet
from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.corpus_facts import HELD_OUT, facts_of, goals_of
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import label_windows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=24, seed=2)
    return out


@pytest.fixture(scope="module")
def gilded(folder: Path) -> Corpus:
    corpus = read_corpus(folder)
    runs = tuple(
        dataclasses.replace(run, source="G", complete=False)
        if run.group == "g000"
        else run
        for run in corpus.runs
    )
    return dataclasses.replace(corpus, runs=runs)


def _rows(text: str) -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells}


def test_facts_are_of_what_is_trained_on(gilded: Corpus) -> None:
    facts = facts_of(gilded, label_windows(gilded))
    mine = [r for r in gilded.runs if r.source != "G" and not r.held_out]
    assert facts["traces"] == len(mine) < len(gilded.runs)
    assert facts["windows"] == sum(run.windows for run in mine)
    assert facts["good"] == sum(r.complete and r.good for r in mine)
    assert facts["good"] + facts["bad"] + facts["not_known"] == len(mine)
    assert facts["not_known"] > 0
    of = facts["sources"]
    assert set(of) == {"G", "P", HELD_OUT, "R", "S"}
    parts = [of[name] for name in ("P", "R", "S")]
    assert sum(part["scored"] for part in parts) == facts["scored"]
    positive = sum(round(part["window_rate"] * part["scored"]) for part in parts)
    assert positive / facts["scored"] == pytest.approx(facts["window_rate"], abs=1e-3)
    assert of[HELD_OUT]["traces"] == sum(run.held_out for run in gilded.runs)


def test_of_gold_it_is_told_how_much_there_is(gilded: Corpus) -> None:
    labels = label_windows(gilded)
    other = dataclasses.replace(gilded, saved=gilded.saved.copy())
    gold = gilded.of_windows("source") == "G"
    other.saved[gold] = 0.9
    assert (label_windows(other).patterns != labels.patterns)[gold].any()
    told = datasheet.figures(gilded)
    assert told == datasheet.figures(other)
    row = _rows(datasheet.by_source(gilded, labels))["G"]
    count = str(sum(run.windows for run in gilded.runs if run.source == "G"))
    assert row == ["6", "1", "-", "-", count, "-", "-", "-", "-"]


def test_goals_are_judged_by_what_is_known() -> None:
    facts = {"traces": 900, "not_known": 300, "windows": 50_000, "good": 300,
             "window_rate": 0.26, "good_with_positive": 0.4}  # fmt: skip
    goals = {what: (figure, met) for what, _, figure, met in goals_of(facts)}
    assert goals["good traces"] == ("0.50", True)
    assert goals["positive windows"] == ("26.0 %", False)
    assert [met for _, met in goals.values()] == [True, True, True, False, True]


def test_patterns_stand_beside_real_traces(gilded: Corpus) -> None:
    labels = label_windows(gilded)
    rows = _rows(datasheet.by_pattern(gilded, labels))
    k = gilded.patterns.index("small_grid")
    row = rows["`small_grid`"]
    source, role = gilded.of_windows("source"), gilded.of_windows("role")
    made = np.isin(source, ["R", "S"])
    real = (source == "P") & (role == "natural") & ~gilded.of_windows("held_out")
    saved = gilded.saved[made, k]
    known = (saved >= 0.05) | (saved < 0.02)
    rates = [(saved >= 0.05).sum() / known.sum()]
    rates += [(gilded.rules[some, k] >= 0.05).mean() for some in (made, real)]
    assert row[-3:] == [f"{rate:.1%}" for rate in rates]
    put = [c for r in gilded.runs for c in r.causes
           if c.pattern == "small_grid" and not c.natural
           and r.source != "G" and not r.held_out]  # fmt: skip
    assert row[0] == str(sum(not c.null for c in put))
    assert row[1] == str(sum(c.null for c in put))


def test_the_commit_is_that_of_the_compact_form(gilded: Corpus, tmp_path: Path) -> None:
    corpus = dataclasses.replace(gilded, folder=tmp_path)
    assert "compacted at a commit that is not known:" in datasheet.figures(corpus)
    made = {"tokens": False, "commit": "0123456789abcdef", "changed": False, "cpu": "X"}
    (tmp_path / "made.json").write_text(json.dumps(made))
    assert ", compacted at commit 0123456789 on X:\n" in datasheet.figures(corpus)
    (tmp_path / "made.json").write_text(json.dumps(made | {"changed": True}))
    assert "0123456789 with changes not committed on X" in datasheet.figures(corpus)


def test_it_runs_by_itself(folder: Path, tmp_path: Path) -> None:
    line = [sys.executable, "-m", datasheet.__name__]
    said = subprocess.run([*line, str(folder)], capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout.startswith("## What is in it")
    none = subprocess.run([*line, str(tmp_path)], capture_output=True, text=True)
    assert none.returncode == 2 and "no such file" in none.stderr
