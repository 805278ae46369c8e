# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_figures.py: figures against scikit-learn, and worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.metrics import average_precision_score, f1_score, roc_auc_score, roc_curve

from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.areas import add_areas
from benchmarks.lab.detector.judging.curves import curve_figures
from benchmarks.lab.detector.judging.figures import calibration_errors, judge
from benchmarks.lab.detector.judging.judged import (
    Judged,
    Resamples,
    Scores,
    draw_groups,
)
from benchmarks.lab.detector.judging.kinds import macro_f1
from benchmarks.lab.detector.judging.pair_counts import count_pairs
from benchmarks.lab.detector.judging.sources import source_areas
from benchmarks.lab.detector.results_kept import Result
from benchmarks.lab.detector.splits import folds_of, rows_to_test
from benchmarks.lab.detector.summary import as_json, difference, summarize
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import label_windows

pytestmark = pytest.mark.verify


@pytest.fixture
def drawn() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    run = np.sort(random.integers(0, 12, 900))
    positive = random.random(900) < 0.2
    # Rounded, so that there are ties.
    scores = np.round(random.normal(0, 1, 900) + positive, 1)
    stratum = random.integers(0, 3, 900)
    return {"run": run, "positive": positive, "scores": scores, "stratum": stratum}


GROUP_OF_RUN = np.arange(12) // 2


def test_areas_are_those_of_scikit_learn(drawn: dict[str, np.ndarray]) -> None:
    keys = np.stack([drawn["run"], drawn["stratum"]], axis=1)
    pairs = count_pairs(drawn["scores"], drawn["positive"], keys)
    for k in range(3):
        here = drawn["stratum"] == k
        expected = roc_auc_score(drawn["positive"][here], drawn["scores"][here])
        found = pairs.area(pairs.positives[:, 1] == k, pairs.negatives[:, 1] == k)
        assert found == pytest.approx(expected)
    every = np.ones(len(pairs.positives), bool), np.ones(len(pairs.negatives), bool)
    expected = roc_auc_score(drawn["positive"], drawn["scores"])
    assert pairs.area(*every) == pytest.approx(expected)


def test_a_resample_is_the_windows_of_its_groups(drawn: dict[str, np.ndarray]) -> None:
    keys = np.stack([drawn["run"], drawn["stratum"]], axis=1)
    pairs = count_pairs(drawn["scores"], drawn["positive"], keys)
    every = np.ones(len(pairs.positives), bool), np.ones(len(pairs.negatives), bool)
    weights = np.array([[2.0, 0, 1, 1, 0, 2], [0, 0, 0, 0, 0, 6]])
    found = pairs.areas(*every, GROUP_OF_RUN, weights)
    often = weights[:, GROUP_OF_RUN[drawn["run"]]]
    for one, weight in zip(found, often, strict=True):
        expected = roc_auc_score(
            drawn["positive"], drawn["scores"], sample_weight=weight
        )
        assert one == pytest.approx(expected)


def test_no_area_without_both_kinds() -> None:
    pairs = count_pairs(
        np.array([1.0, 2.0]), np.array([True, False]), np.eye(2, dtype=int)
    )
    assert np.isnan(pairs.area(np.array([False]), np.array([True])))
    assert pairs.area(np.array([True]), np.array([True])) == 0


def test_curves_are_those_of_scikit_learn(drawn: dict[str, np.ndarray]) -> None:
    weights = np.array([np.ones(6), [2.0, 0, 1, 1, 0, 2]])
    found = curve_figures(
        drawn["scores"], drawn["positive"], np.ones(900), drawn["run"],
        GROUP_OF_RUN, weights,
    )  # fmt: skip
    for k, weight in enumerate(weights[:, GROUP_OF_RUN[drawn["run"]]]):
        precision = average_precision_score(
            drawn["positive"], drawn["scores"], sample_weight=weight
        )
        assert found["auprc"][k] == pytest.approx(precision)
        false, true, _ = roc_curve(
            drawn["positive"], drawn["scores"], sample_weight=weight,
            drop_intermediate=False,
        )  # fmt: skip
        assert found["recall_1fp"][k] == pytest.approx(true[false <= 0.01].max())


def test_time_found_at_one_false_alarm_a_trace() -> None:
    # Two traces, so two false alarms: the positive below the third negative is lost.
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    positive = np.array([True, False, True, False, False, True])
    gain = np.array([3.0, 9.0, 2.0, 9.0, 9.0, 5.0])
    run = np.array([0, 0, 0, 1, 1, 1])
    groups, one = np.array([0, 1]), np.ones((1, 2))
    found = curve_figures(scores, positive, gain, run, groups, one)
    assert found["found_1alarm"][0] == pytest.approx(0.5)
    # A score level with a third alarm is as good as that alarm.
    scores[2] = scores[4]
    found = curve_figures(scores, positive, gain, run, groups, one)
    assert found["found_1alarm"][0] == pytest.approx(0.3)


def test_calibration_error_by_hand() -> None:
    said, run = np.array([0.05, 0.05, 0.95, 0.95]), np.array([0, 0, 0, 1])
    drawn = Resamples(np.array([[1.0, 1], [1, 0], [0, 0]]), np.array([0, 1]))
    right = np.array([False, False, True, True])
    found = calibration_errors(said, right, run, drawn)
    assert found[:2] == pytest.approx(0.05) and np.isnan(found[2])
    # Turned round; without the second group one window fewer is off by 0.95.
    assert calibration_errors(said, ~right, run, drawn)[:2] == pytest.approx(0.95)
    half = np.array([False, True, True, False])
    # The first bin is off by (0.05 - 0.95) / 4, the last by (0.95 - 0.05) / 4.
    assert calibration_errors(said, half, run, drawn)[0] == pytest.approx(0.45)
    assert calibration_errors(said, half, run, drawn)[1] == pytest.approx(0.95 / 3)


def test_macro_f1_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(3)
    truth, said = random.integers(0, 4, (2, 300))
    said = np.where(random.random(300) < 0.5, truth, said + 1)
    run = np.sort(random.integers(0, 6, 300))
    weights = np.array([np.ones(6), [3.0, 0, 1, 1, 0, 1]])
    found = macro_f1(truth, said, run, Resamples(weights, np.arange(6)))
    for value, weight in zip(found, weights, strict=True):
        expected = f1_score(
            truth, said, labels=np.unique(truth), average="macro", zero_division=0,
            sample_weight=weight[run],
        )  # fmt: skip
        assert value == pytest.approx(expected)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=80, windows=14, seed=4)
    return read_corpus(out)


def _first_fold(corpus: Corpus, split: str) -> Fold:
    folds = folds_of(corpus, label_windows(corpus))[0]
    return next(fold for fold in folds if fold.split == split)


def test_who_names_the_source_scores_one_half(corpus: Corpus) -> None:
    """The main figure ignores a score that is constant over a source."""
    labels, fold = label_windows(corpus), _first_fold(corpus, "S1")
    # Of one source few negatives are left, so that its name says much.
    source = corpus.of_windows("source")
    rare = np.random.default_rng(1).random(len(source)) < 0.8
    fold.test[(fold.test == 0) & (source == "S") & rare] = -1
    rows = rows_to_test(corpus, fold)
    named = 1.0 * (source[rows] == "S")
    found = judge(corpus, labels, fold, rows, Scores(np.stack([named, named]))).figures
    assert found["cpu_auroc"] == 0.5 and found["cpu_auroc_pooled"] > 0.6
    # It also ignores a constant that is added to all scores of a source.
    noise = np.random.default_rng(2).normal(0, 1, len(rows))
    bare = judge(corpus, labels, fold, rows, Scores(np.stack([noise, noise]))).figures
    both = Scores(np.stack([noise + 100 * named, noise]))
    mixed = judge(corpus, labels, fold, rows, both).figures
    assert mixed["cpu_auroc"] == bare["cpu_auroc"]
    assert abs(mixed["cpu_auroc_pooled"] - bare["cpu_auroc_pooled"]) > 0.02


def test_the_figure_is_the_mean_of_the_sources(corpus: Corpus) -> None:
    labels, fold = label_windows(corpus), _first_fold(corpus, "S1")
    rows = rows_to_test(corpus, fold)
    source, label = corpus.of_windows("source")[rows], fold.test[0, rows]
    said = np.random.default_rng(2).normal(0, 1, len(rows)) + (label == 1)
    judged = judge(corpus, labels, fold, rows, Scores(np.stack([said, said])))
    expected = {}
    for name in np.unique(source):
        here = (source == name) & (label >= 0)
        positive = label[here] == 1
        if min(positive.sum(), (~positive).sum()) >= 30:
            expected[str(name)] = roc_auc_score(positive, said[here])
    assert len(expected) > 1
    for name, area in expected.items():
        assert judged.figures[f"cpu_auroc_in_{name}"] == pytest.approx(area)
    mean = np.mean(list(expected.values()))
    assert judged.figures["cpu_auroc"] == pytest.approx(mean)
    assert source_areas(said, label, source) == pytest.approx(expected)
    # A source that has too few does not count.
    few = np.where((source == "S") & (label == 1), -1, label)
    few[np.flatnonzero((source == "S") & (label == 1))[:29]] = 1
    assert set(source_areas(said, few, source)) == set(expected) - {"S"}


def test_everything_that_is_a_figure_has_an_interval(corpus: Corpus) -> None:
    labels, fold = label_windows(corpus), _first_fold(corpus, "S1")
    rows = rows_to_test(corpus, fold)
    random = np.random.default_rng(2)
    heads = np.clip(
        labels.strongest[:, rows] + random.normal(0, 0.1, (2, len(rows))), 0, 1
    )
    scores = Scores(heads, corpus.saved[rows], corpus.saved_all[rows] * 0.9, True)
    judged = judge(corpus, labels, fold, rows, scores)
    wanted = {
        f"{head}_{name}"
        for head in ("cpu", "gpu")
        for name in ("auroc", "auprc", "recall_1fp", "found_1alarm", "ece")
    } | {"kind_accuracy", "kind_macro_f1", "recoverable_error"}  # fmt: skip
    assert wanted <= set(judged.resampled) and wanted <= set(judged.figures)
    for name in wanted - {"kind_accuracy", "kind_macro_f1"}:
        again = judged.resampled[name]
        assert np.nanmin(again) < judged.figures[name] < np.nanmax(again), name


def test_a_group_is_drawn_alike_in_every_fold(corpus: Corpus) -> None:
    first, second = np.arange(400), np.arange(200, 900)
    drawn = {}
    for rows in (first, second):
        made = draw_groups(corpus, rows)
        for run in np.unique(corpus.run[rows]):
            weights = made.weights[:, made.group_of_run[run]]
            assert weights[0] == 1
            group = corpus.runs[run].group
            assert np.array_equal(drawn.setdefault(group, weights), weights)


def test_a_resample_that_lacks_a_source_has_no_mean_over_sources(
    corpus: Corpus,
) -> None:
    labels, fold = label_windows(corpus), _first_fold(corpus, "S1")
    rows = rows_to_test(corpus, fold)
    rows = rows[fold.test[0, rows] >= 0]
    said = np.random.default_rng(2).normal(0, 1, len(rows))
    run = corpus.run[rows]
    keys = np.stack([run, np.zeros_like(run), labels.band[0, rows]], axis=1)
    pairs = count_pairs(said, fold.test[0, rows] == 1, keys)
    # A group for each source: one resample has them all, one lacks S.
    every, of_run = np.unique(corpus.of_runs("source"), return_inverse=True)
    ones = np.ones(len(every))
    drawn = Resamples(np.stack([ones, 2 * ones, 1.0 * (every != "S")]), of_run)
    judged = Judged()
    add_areas(judged, "cpu", corpus, pairs, drawn)
    assert {"cpu_auroc_in_R", "cpu_auroc_in_S"} <= set(judged.figures)
    whole, lacking = judged.resampled["cpu_auroc"]
    assert whole == pytest.approx(judged.figures["cpu_auroc"]) and np.isnan(lacking)


def _result(
    item: str, seed: int, area: float, again: list[float], name: str = "trees"
) -> Result:
    judged = Judged({"cpu_auroc": area}, {"cpu_auroc": np.array(again)})
    return Result("S2", item, name, seed, judged)


def test_means_over_seeds_then_folds() -> None:
    results = [
        _result("T4", 0, 0.8, [0.7, 0.9]), _result("T4", 1, 0.6, [0.5, 0.7]),
        _result("A100", 0, 0.9, [0.9, 0.9]),
    ]  # fmt: skip
    row = summarize(results)["S2", "trees"]
    assert row.figures["cpu_auroc"].value == pytest.approx(0.8)
    means = row.by_fold["cpu_auroc"]
    assert means["T4"] == pytest.approx([0.7, 0.6, 0.8])
    assert row.figures["cpu_auroc"].low == pytest.approx(0.7525)
    assert row.by_item == {"cpu": {"A100": 0.9, "T4": pytest.approx(0.7)}}
    better = summarize([_result("T4", 0, 0.9, [0.9, 0.9], "net")])["S2", "net"]
    by = difference(better, row, "cpu_auroc")
    # Against what the other has in that fold, not in the harder ones and easier ones.
    assert by.value == pytest.approx(0.2)
    assert 0.1 <= by.low <= by.high <= 0.3
    easy = summarize([_result("A100", 0, 0.85, [0.85, 0.85], "net")])["S2", "net"]
    assert difference(easy, row, "cpu_auroc").value == pytest.approx(-0.05)


@pytest.mark.parametrize("lost", [2, 3])
def test_resamples_that_lack_a_fold_do_not_count(lost: int) -> None:
    high, low = np.linspace(0.8, 0.9, 10), np.linspace(0.4, 0.5, 10)
    some = np.where(np.arange(10) < lost, np.nan, low)
    results = [
        _result("A100", 0, 0.85, list(high)), _result("T4", 0, 0.45, list(some)),
        # No figure at all: not of the mean, so no resample lacks it.
        _result("V100", 0, np.nan, [np.nan] * 10),
    ]  # fmt: skip
    rows = summarize(results)
    figure = rows["S2", "trees"].figures["cpu_auroc"]
    assert figure.value == pytest.approx(0.65)
    assert figure.kept == pytest.approx(1 - lost / 10)
    assert as_json(rows)["rows"][0]["kept"] == {"cpu_auroc": 1 - lost / 10}
    if lost == 2:
        # Means over both folds; over what is left one would be 0.8.
        assert figure.high == pytest.approx(0.7, abs=0.01)
        assert figure.low == pytest.approx(0.625, abs=0.01)
    else:
        assert np.isnan([figure.low, figure.high]).all()
        assert figure.as_list() == [0.65]
