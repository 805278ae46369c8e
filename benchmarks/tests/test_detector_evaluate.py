# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_evaluate.py: the command from a corpus to the table and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")
pytest.importorskip("catboost")
pytest.importorskip("torch")

import benchmark_page
import evaluate
import running
from baselines.peers import PEERS, rule_columns
from baselines.table import BASELINES
from baselines.task import NotHere, Task
from benchmark_findings import findings
from compact_corpus import read_corpus
from folds import Fold
from splits import folds_of, rows_to_test
from synthetic_corpus import write_corpus
from window_labels import label_windows

pytestmark = pytest.mark.verify
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=24, windows=10, seed=2)
    return out


def _task(folder: Path, split: str) -> Task:
    corpus = read_corpus(folder)
    labels = label_windows(corpus)
    fold = next(f for f in folds_of(corpus, labels)[0] if f.split == split)
    return Task(corpus, labels, fold, rows_to_test(corpus, fold), 0, quick=True)


@pytest.mark.filterwarnings("ignore")
def test_all_baselines_score_all_windows(folder: Path) -> None:
    task = _task(folder, "S0")
    for baseline in BASELINES:
        try:
            scores = baseline.score(task)
        except NotHere as error:
            assert baseline.name in ("TabICL", "TorchTidy's rules"), error
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
        if baseline.name in ("RealMLP", "TabICL", "TorchTidy's rules"):
            continue  # The first takes seconds, and fits like the others by its rows.
        a, b = baseline.score(task), baseline.score(other)
        assert np.allclose(a.heads, b.heads), baseline.name


def test_a_head_without_labels_says_nothing(folder: Path) -> None:
    task = _task(folder, "S0")
    fold = task.fold
    task.fold = Fold("S0", "x", fold.trained, fold.train.copy(), fold.test)
    task.fold.train[1] = -1
    scores = next(b for b in BASELINES if b.name == "tree of depth 2").score(task)
    assert np.isfinite(scores.heads[0]).all() and np.isnan(scores.heads[1]).all()


def test_peers_read_columns_of_the_table() -> None:
    columns = ["busy", "in_loader", "waits", "gap_median", "misaligned_gemm"]
    assert rule_columns(columns, "Nsight Systems") == {
        "calls that synchronize": [2],
        "utilization over time": [0],
    }
    assert rule_columns(columns, "TorchTidy") == {
        "loading without workers": [1],
        "dimensions not of 8": [4],
    }
    assert all(not rule_columns(["mass"], tool) for tool in PEERS)


SOME = ("--baselines", "idle fraction", "rules, windows of 128", "LightGBM",
        "tree of depth 2", "--splits", "S0", "S2", "S6")  # fmt: skip


def test_the_command_and_its_page(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(benchmark_page, "RESULTS", tmp_path / "benchmark.json")
    monkeypatch.setattr(benchmark_page, "PAGE", tmp_path / "benchmark.md")
    command = [str(folder), "--quick", "--jobs", "1", *SOME]
    # The simulator of these numbers betrays itself: that is a failure.
    assert evaluate.main([*command, "--page"]) == 1
    said = capsys.readouterr().out
    assert "| idle fraction " in said and "checks FAILED" in said
    results = json.loads((tmp_path / "benchmark.json").read_text("utf-8"))
    assert (tmp_path / "benchmark.md").read_text("utf-8") == (
        benchmark_page.render(results)
    )
    assert {row["split"] for row in results["rows"]} == {"S0", "S2", "S6"}
    row = next(r for r in results["rows"] if r["baseline"] == "LightGBM")
    value, low, high = row["figures"]["cpu_auroc"]
    assert 0.5 < low <= value <= high <= 1
    assert len(results["checks"]) == 10 and len(results["margins"]) > 5
    assert "CPU: LightGBM is above" in findings(results)

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


@pytest.mark.skipif(
    not benchmark_page.RESULTS.exists(), reason="no results: evaluate.py --page"
)
def test_the_page_is_that_of_the_results() -> None:
    results = json.loads(benchmark_page.RESULTS.read_text("utf-8"))
    page = (DOCS / "benchmark.md").read_text("utf-8")
    assert page == benchmark_page.render(results)
