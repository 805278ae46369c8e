# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_evaluate.py: the command from a corpus to the table and the page."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("catboost")
pytest.importorskip("torch")

from benchmarks.lab import pages
from benchmarks.lab.detector import evaluate, running
from benchmarks.lab.detector.baselines import plain
from benchmarks.lab.detector.baselines.columns import by_cause
from benchmarks.lab.detector.baselines.peers import PEERS, peer_scores, rule_columns
from benchmarks.lab.detector.baselines.table import BARE, BASELINES, TOGETHER
from benchmarks.lab.detector.baselines.task import NotHere, Task
from benchmarks.lab.detector.baselines.trace_labels import UNKNOWN, trace_labels
from benchmarks.lab.detector.benchmark_results import rows_of
from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.splits import folds_of, rows_to_test
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import label_windows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=24, windows=18, seed=2)
    return out


def _task(folder: Path, split: str, corpus: Corpus | None = None) -> Task:
    corpus = corpus or read_corpus(folder)
    labels = label_windows(corpus)
    fold = next(f for f in folds_of(corpus, labels)[0] if f.split == split)
    return Task(corpus, labels, fold, rows_to_test(corpus, fold), 0, quick=True)


#: What these numbers have no columns for, what needs a file, what is to come.
NOT_HERE = {
    "TabICL", "TabM-D", "transformer", "rules + trees + transformer", BARE,
    *(f"{tool}'s rules" for tool in PEERS), *plain.IDLE,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_all_baselines_score_all_windows(folder: Path) -> None:
    task = _task(folder, "S0")
    for baseline in BASELINES:
        try:
            scores = baseline.score(task)
        except NotHere as error:
            assert baseline.name in NOT_HERE, error
            continue
        assert scores.heads.shape == (2, task.size), baseline.name
        assert np.isfinite(scores.heads).all(), baseline.name
        if scores.probable:
            assert scores.heads.min() >= 0 and scores.heads.max() <= 1
        if scores.kinds is not None:
            assert scores.kinds.shape == (task.size, len(task.corpus.patterns))


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_learned_from_what_is_tested(folder: Path) -> None:
    """Labels of tested windows turned round change no score."""
    task, other = _task(folder, "S0"), _task(folder, "S0")
    tested = ~other.fold.trained
    assert set(other.rows) <= set(np.flatnonzero(tested))
    for values in (other.labels.kind, other.corpus.saved, other.corpus.saved_all):
        values[tested] = 0
    other.labels.heads[:, tested] = 1 - other.labels.heads[:, tested]
    for baseline in BASELINES:
        # RealMLP takes seconds, and fits like the others by its rows.
        if baseline.name in {"RealMLP", TOGETHER, *NOT_HERE}:
            continue
        a, b = baseline.score(task), baseline.score(other)
        assert np.allclose(a.heads, b.heads), baseline.name


def test_a_head_without_labels_says_nothing(folder: Path) -> None:
    task = _task(folder, "S0")
    fold = task.fold
    task.fold = Fold("S0", "x", fold.trained, fold.train.copy(), fold.test)
    task.fold.train[1] = -1
    scores = next(b for b in BASELINES if b.name == "tree of depth 2").score(task)
    assert np.isfinite(scores.heads[0]).all() and np.isnan(scores.heads[1]).all()


def _real_columns() -> list[str]:
    core = pytest.importorskip("torchtraceap._core")
    return [column.name for column in core.feature_columns()]


def test_peers_read_columns_of_the_table() -> None:
    """Each name of each rule is a column of torchtraceap's own table."""
    columns = _real_columns()
    for tool, rules in PEERS.items():
        for rule, names in rules:
            assert set(names) <= set(columns), f"{tool}: {rule}"
        assert len(rule_columns(columns, tool)) == len(rules)
    assert rule_columns(["waits", "busy"], "Nsight Systems") == {
        "calls that synchronize": [0],
        "utilization over time": [1],
    }
    assert all(not rule_columns(["mass"], tool) for tool in PEERS)


def test_idle_labelers_read_columns_of_the_table() -> None:
    columns = _real_columns()
    for name, some in plain.IDLE.items():
        assert set(some) & set(columns), name
    causes = by_cause(columns)
    assert causes.sum() == sum(c.startswith("cause_") for c in columns) > 30


def _renamed(corpus: Corpus, names: dict[str, str]) -> Corpus:
    columns = tuple(names.get(name, name) for name in corpus.columns)
    return dataclasses.replace(corpus, columns=columns)


def test_a_column_by_cause_is_what_one_row_goes_without(folder: Path) -> None:
    bare = next(b for b in BASELINES if b.name == BARE)
    with pytest.raises(NotHere, match="no column is by cause"):
        bare.score(_task(folder, "S2"))
    corpus = read_corpus(folder)
    of = {f"{p}_share": f"cause_{p}" for p in corpus.patterns}
    task = _task(folder, "S2", _renamed(corpus, of))
    before = bare.score(task).heads
    names = [c for c in task.corpus.columns if c.startswith("cause_")]
    some = [task.corpus.columns.index(name) for name in names]
    task.corpus.features[:, some] = np.random.default_rng(0).normal(size=len(some))
    assert np.array_equal(bare.score(task).heads, before)


def test_which_way_up_is_told_by_the_windows_to_train_on(folder: Path) -> None:
    """Busy is bad for one head and good for the other, and neither is assumed."""
    corpus = read_corpus(folder)
    corpus.features[:, 0] = np.nan_to_num(corpus.features[:, 0], nan=0.5)
    task = _task(folder, "S2", _renamed(corpus, {"busy_fraction": "busy"}))
    busy = corpus.features[task.rows, 0]
    for up in (1, -1):
        for side in (0, 1):
            label = task.fold.train[side]
            corpus.features[label >= 0, 0] = 0.5 + 0.1 * label[label >= 0] * up
        corpus.features[task.rows, 0] = busy
        task = _task(folder, "S2", _renamed(corpus, {"busy_fraction": "busy"}))
        heads = plain.one_column(task, plain.IDLE["busy fraction"]).heads
        assert np.allclose(heads, up * busy, atol=1e-6)
    with pytest.raises(NotHere, match="no column idle_after_wait or late_in_wait"):
        plain.one_column(task, plain.IDLE["idle after a sync"])


def test_a_peer_with_one_of_its_columns_is_scored(folder: Path) -> None:
    corpus = _renamed(read_corpus(folder), {"sync_stall_share": "waits"})
    heads = peer_scores(_task(folder, "S2", corpus), "Nsight Systems").heads
    assert heads.shape[0] == 2 and len(np.unique(heads[0])) == 2


def test_trace_labels_are_told_a_side_where_they_can_be(folder: Path) -> None:
    corpus = read_corpus(folder)
    labels = trace_labels(corpus)
    sides = dict(zip(corpus.patterns, corpus.sides, strict=True))
    devices = {int(run) for run in corpus.run[corpus.device >= 0]}
    for line, run in enumerate(corpus.runs):
        for side in (0, 1):
            dear = [
                c for c in run.causes if c.saved >= 0.05 and sides[c.pattern] == side
            ]
            known = run.complete and (side == 0 or line in devices)
            assert labels[side, line] == (bool(dear) if known else UNKNOWN), run.name
    assert {-1, 0, 1} == set(labels.ravel())
    # A pattern of one side makes no trace bad on the other.
    assert (labels[0] != labels[1])[(labels >= 0).all(axis=0)].any()


def test_good_traces_are_drawn_evenly_from_sources(folder: Path) -> None:
    task = _task(folder, "S2")
    source = task.corpus.of_windows("source")
    rows = np.sort(np.concatenate([
        np.flatnonzero(source == "S")[:400], np.flatnonzero(source == "R")[:250]
    ]))  # fmt: skip
    drawn = task.few_even(rows, 1000)
    assert [np.sum(source[drawn] == name) for name in "RS"] == [250, 250]
    assert len(task.few_even(rows, 300)) == 300
    assert (task.corpus.goodness[task.corpus.run[task.good_rows]] == 1).all()


SOME = ("--baselines", "source only", "rules, windows of 128", "LightGBM",
        "tree of depth 2", "--splits", "S0", "S2", "S6")  # fmt: skip


def test_the_command_and_its_page(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 1.0, 1.0))  # A page has it.
    command = [str(folder), "--quick", "--jobs", "1", *SOME]
    # The simulator of these numbers betrays itself: that is a failure.
    assert evaluate.main([*command, "--page"]) == 1
    said = capsys.readouterr().out
    assert "| source only " in said and "checks FAILED" in said
    results = json.loads((tmp_path / "benchmark.json").read_text("utf-8"))
    assert (tmp_path / "benchmark.md").read_text("utf-8") == (
        pages.render(pages.page("benchmark"), results)
    )
    assert "## In detail: S0" in (tmp_path / "benchmark_tables.md").read_text("utf-8")
    assert {row["split"] for row in results["rows"]} == {"S0", "S2", "S6"}
    row = rows_of(results)["S2", "LightGBM"]
    figure = row.figures["cpu_auroc"]
    assert 0.5 < figure.low <= figure.value <= figure.high <= 1
    named = rows_of(results)["S2", "source only"]
    assert named.figures["cpu_auroc"].value == 0.5
    # A line a row, and no more digits than are meant.
    text = (tmp_path / "benchmark.json").read_text("utf-8")
    assert text == pages.as_json(results) and len(text.splitlines()) < 120
    assert max(map(len, re.findall(r"0\.\d+", text))) <= 6
    assert len(results["checks"]) == 10 and len(results["margins"]) > 3
    assert "CPU: LightGBM is above" in (tmp_path / "benchmark.md").read_text("utf-8")

    # Once more: nothing is trained again, and the table is the same.
    def never(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(running, "judge", never)
    assert evaluate.main([*command, "--no-checks"]) == 0
    assert capsys.readouterr().out.split("\n\n")[0] == said.split("\n\n")[0]


def test_what_is_no_corpus_exits_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([str(tmp_path)]) == 2
    assert "make the compact form" in capsys.readouterr().err
