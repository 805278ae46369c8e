# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_evaluate.py: areas against scikit-learn; what folds train and judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("torch")
pytest.importorskip("torchtraceap._torch")

from sklearn.metrics import roc_auc_score

from benchmarks.lab.detector import evaluate, fold_models
from benchmarks.lab.detector.areas import (
    DRAWS,
    areas,
    draw_groups,
    source_areas,
    with_interval,
)
from benchmarks.lab.detector.evaluate import PLAIN, VOICES, Known, Result
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import UNSCORED
from torchtraceap_train.traces import LearningTrace

pytestmark = pytest.mark.verify


def test_areas_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    positive = random.random(900) < 0.2
    # Rounded, so that there are ties.
    said = np.round(random.normal(0, 1, 900) + positive, 1)
    groups = random.integers(0, 12, 900)
    weights = draw_groups(groups)
    found = areas(said, positive, weights)
    assert len(found) == 1 + DRAWS
    assert found[0] == pytest.approx(roc_auc_score(positive, said))
    for number in (1, 2, 3):
        # A draw has each group whole, any number of times.
        assert all(len(set(weights[number, groups == g])) == 1 for g in range(12))
        weight = weights[number]
        expected = roc_auc_score(positive, said, sample_weight=weight)
        assert found[number] == pytest.approx(expected)
    assert np.isnan(areas(said[positive], positive[positive], weights[:, positive])[0])


def test_who_names_the_source_scores_one_half() -> None:
    random = np.random.default_rng(2)
    source = np.repeat(["R", "S", "P"], 400)
    rate = np.repeat([0.2, 0.6, 0.2], 400)
    label = (random.random(1200) < rate).astype(int)
    label[800:][label[800:] == 1] = UNSCORED  # P has one kind of windows.
    named = 1.0 * (source == "S")
    found = source_areas(named, label, source, np.ones((1, 1200)))
    assert {name: area.tolist() for name, area in found.items()} == {
        "R": [0.5],
        "S": [0.5],
    }


def test_an_interval_needs_most_draws() -> None:
    values = np.concatenate([[0.5], np.linspace(0.4, 0.6, DRAWS)])
    assert with_interval(values, ".2f") == "0.50 (0.41 to 0.59)"
    values[1 : 1 + DRAWS // 4] = np.nan
    assert with_interval(values, ".2f") == "0.50"


# --- Folds ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=80, seed=2)
    return out


@pytest.fixture
def known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Known:
    """A corpus of numbers; its traces have no events."""
    known = evaluate.read(folder)
    corpus, labels = known.corpus, known.labels
    begin = np.searchsorted(corpus.run, np.arange(len(corpus.runs) + 1))
    every = {}
    for line, run in enumerate(corpus.runs):
        here = slice(begin[line], begin[line + 1])
        every[run.name] = LearningTrace(
            run.name,
            run.group,
            run.source,
            None,
            corpus.features[here],
            labels.heads.T[here].copy(),
            labels.patterns[here].copy(),
            labels.kind[here].copy(),
            corpus.saved_all[here].copy(),
        )
    monkeypatch.setattr(fold_models, "all_traces", lambda _: every)
    return known


def fold_of(known: Known, split: str) -> Fold:
    return next(fold for fold in known.folds if fold.split == split)


@pytest.mark.parametrize("split", ["S0", "S2", "S5"])
def test_nothing_is_learned_from_what_is_tested(known: Known, split: str) -> None:
    corpus, fold = known.corpus, fold_of(known, split)
    tested = set(corpus.of_windows("name")[(fold.test != UNSCORED).any(axis=0)])
    learned = list(fold_models.to_learn(corpus, known.labels, fold))
    assert learned and tested.isdisjoint(trace.name for trace in learned)
    told = np.concatenate([trace.any for trace in learned])
    assert {0, 1} <= set(told.ravel())
    # Windows that training may not look at keep no label, in traces that it may.
    hidden = ~fold.trained & np.isin(
        corpus.of_windows("name"), [trace.name for trace in learned]
    )
    count = (fold.train[:, fold.trained] != UNSCORED).sum()
    assert (told != UNSCORED).sum() == count
    if split == "S5":
        assert hidden.any()
        kinds = np.concatenate([trace.kind for trace in learned])
        assert (kinds == corpus.patterns.index(fold.item)).sum() == 0


def test_voices_are_judged_by_what_a_fold_holds_out(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(model: object, traces: list[LearningTrace]) -> dict[str, np.ndarray]:
        asked.extend(trace.name for trace in traces)
        truth = np.concatenate([trace.any for trace in traces]).astype(float)
        noise = np.random.default_rng(0).normal(0, 1, truth.shape)
        voices = {"rules": noise, "network": truth, "trees": -truth}
        return voices | {"product": truth + 0.5 * noise}

    asked: list[str] = []
    monkeypatch.setattr(evaluate, "model_of", lambda *_: None)
    monkeypatch.setattr(evaluate, "told", told)
    fold = fold_of(known, "S2")
    result = evaluate.judge(known, fold, seed=0, quick=True)
    tested = (fold.test != UNSCORED).any(axis=0)
    assert set(asked) == set(known.corpus.of_windows("name")[tested])
    for side in (0, 1):
        assert result.areas["network", side][0] == 1
        assert result.areas["trees", side][0] == 0
        assert 0.3 < result.areas["rules", side][0] < 0.7
    assert result.areas[PLAIN, 0][0] > 0.6  # These hosts lose time as devices idle.
    rows = evaluate.area_table([result]).splitlines()
    assert [cell.strip() for cell in rows[0].split("|")[2:-2]] == list(VOICES)
    assert rows[2].startswith("| S2 a GPU, CPU | ") and rows[2].count("1.000") >= 1


def test_a_fold_s_difference_is_of_the_same_folds() -> None:
    def result(item: str, rules: float, product: float) -> Result:
        values = {"rules": rules, "product": product}
        return Result(
            "S1", item, {(v, 0): np.full(1 + DRAWS, a) for v, a in values.items()}
        )

    easy, hard = result("a", 0.9, 0.95), result("b", 0.5, 0.8)
    skipped = Result("S1", "c", {}, "nothing to train on")
    row = evaluate.area_table([easy, hard, skipped]).splitlines()[2]
    assert "| 0.700 (0.700 to 0.700) |" in row and "| 0.875 (" in row
    assert row.endswith("| +0.175 (+0.175 to +0.175) |")


def test_what_cannot_be_evaluated_exits_with_2(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([str(tmp_path)]) == 2
    assert "make the compact form" in capsys.readouterr().err
    assert evaluate.main([str(folder), "--splits", "S0", "--quick"]) == 2
    assert "make it with --tokens" in capsys.readouterr().err
