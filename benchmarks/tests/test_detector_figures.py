# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_figures.py: figures against scikit-learn, and worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from judging.curves import curve_figures
from judging.figures import Judged, calibration_error
from judging.pair_counts import count_pairs
from results_kept import Result
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from summary import difference, summarize

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
    said = np.array([0.05, 0.05, 0.95, 0.95])
    assert calibration_error(said, np.array([False, False, True, True])) == (
        pytest.approx(0.05)
    )
    assert calibration_error(said, np.array([True, True, False, False])) == (
        pytest.approx(0.95)
    )


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
    assert row.resampled["cpu_auroc"] == pytest.approx([0.75, 0.85])
    assert row.by_item == {"cpu": {"A100": 0.9, "T4": pytest.approx(0.7)}}
    better = summarize([_result("T4", 0, 0.9, [0.9, 0.9], "net")])["S2", "net"]
    by = difference(better, row, "cpu_auroc")
    assert by.value == pytest.approx(0.1)
    assert 0.05 <= by.low <= by.high <= 0.15
