# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_checks.py: each check fails on a corpus that was made to fail it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")

import gold_ledger
from compact_corpus import Corpus, CorpusError, Run, read_corpus
from summary import Figure, Row
from synthetic_corpus import write_corpus
from ten_checks import injecting, report, shortcuts, transfer
from ten_checks.check import Check, Evidence
from ten_checks.report import report_text

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=60, windows=12, seed=11)
    return read_corpus(out)


@pytest.fixture(scope="module")
def evidence(corpus: Corpus) -> Evidence:
    return Evidence(corpus, {}, quick=True)


def _with_column(corpus: Corpus, name: str, values: np.ndarray) -> Corpus:
    """Put a column in the place of the first that is noise."""
    k = next(k for k, c in enumerate(corpus.columns) if c.startswith("noise"))
    features = corpus.features.copy()
    features[:, k] = values
    columns = (*corpus.columns[:k], name, *corpus.columns[k + 1 :])
    return dataclasses.replace(corpus, features=features, columns=columns)


def _changed_runs(corpus: Corpus, change) -> Corpus:
    return dataclasses.replace(corpus, runs=tuple(map(change, corpus.runs)))


def test_flags_that_tell_slow_from_fixed(corpus: Corpus, evidence: Evidence) -> None:
    assert injecting.flags_alike(evidence).verdict == "passed"

    def tell(run: Run) -> Run:
        return dataclasses.replace(run, recording={"steps": 3 + (run.role == "slow")})

    check = injecting.flags_alike(Evidence(_changed_runs(corpus, tell), {}))
    assert check.verdict == "failed" and check.figure == pytest.approx(1.0)


def test_null_injections_that_look_like_a_cost(
    corpus: Corpus, evidence: Evidence
) -> None:
    assert abs(injecting.null_injections(evidence).figure or 1.0) < 0.03
    # What was touched at no cost gets the columns of what costs.
    null = corpus.of_windows("role") == "null"
    dear = np.flatnonzero(evidence.labels.heads[0] == 1)
    features = corpus.features.copy()
    features[null] = features[np.resize(dear, null.sum())]
    loud = Evidence(dataclasses.replace(corpus, features=features), {}, quick=True)
    check = injecting.null_injections(loud)
    assert check.verdict == "failed" and (check.figure or 0) > 0.3


def test_a_feature_that_says_it_all(corpus: Corpus, evidence: Evidence) -> None:
    label = evidence.labels.heads[0]
    leaky = _with_column(corpus, "injected", -2.0 * (label == 1))
    check = shortcuts.single_features(Evidence(leaky, {}))
    assert check.verdict == "failed"
    assert "injected 1.000 (cpu, S" in check.meaning
    # The tree of the table is shown beside it.
    row = Row({"cpu_auroc": Figure(0.7)}, {}, {}, {}, "", 1, 0.0)
    rows = {("S1", "tree of depth 2"): row}
    assert "0.700" in shortcuts.single_features(Evidence(leaky, rows)).meaning


def test_names_that_say_it_all(corpus: Corpus) -> None:
    label = Evidence(corpus, {}).labels.heads[0]
    noise = np.random.default_rng(0).normal(size=corpus.features.shape)
    deaf = dataclasses.replace(corpus, features=noise.astype(np.float32))
    named = _with_column(deaf, "op_names", label == 1)
    check = shortcuts.blindness(Evidence(named, {}, quick=True))
    assert check.verdict == "failed" and (check.figure or 0) > 0.3
    columns = tuple(f"c{k}" for k in range(len(corpus.columns)))
    bare = dataclasses.replace(corpus, columns=columns)
    check = shortcuts.blindness(Evidence(bare, {}))
    assert check.verdict == "skipped" and "not applicable" in check.meaning


def test_a_simulator_that_betrays_itself(corpus: Corpus, evidence: Evidence) -> None:
    check = transfer.domain_probe(evidence)
    assert check.verdict == "failed" and "one by one: of_source" in check.meaning
    features = corpus.features.copy()
    features[:, corpus.columns.index("of_source")] = 0
    alike = dataclasses.replace(corpus, features=features)
    check = transfer.domain_probe(Evidence(alike, {}, quick=True))
    assert check.verdict == "passed" and (check.figure or 1) < 0.7


def _rows(first: float, second: float) -> dict[tuple[str, str], Row]:
    return {
        (split, "LightGBM"): Row({"gpu_auroc": Figure(v)}, {}, {}, {}, "", 1, 0.0)
        for split, v in (("S0", first), ("S6", second))
    }


def test_what_another_generator_costs(corpus: Corpus) -> None:
    assert transfer.shift(Evidence(corpus, {})).verdict == "skipped"
    assert transfer.shift(Evidence(corpus, _rows(0.95, 0.90))).verdict == "passed"
    check = transfer.shift(Evidence(corpus, _rows(0.95, 0.80)))
    assert check.verdict == "failed" and check.figure == pytest.approx(0.15)


def test_scores_that_know_nothing_of_strength(
    corpus: Corpus, evidence: Evidence
) -> None:
    assert (transfer.strength(evidence).figure or 0) > 0.85
    # Features of other windows: what is learned from them is worth nothing.
    order = np.random.default_rng(0).permutation(len(corpus.run))
    mixed = dataclasses.replace(corpus, features=corpus.features[order])
    check = transfer.strength(Evidence(mixed, {}, quick=True))
    assert check.verdict == "failed" and (check.figure or 1) < 0.7


def test_pairs_that_leak_into_each_other(corpus: Corpus, evidence: Evidence) -> None:
    check = injecting.swapped_labels(evidence)
    assert check.verdict != "failed" and abs((check.figure or 0) - 0.5) < 0.06
    # A pair's runs in groups of their own, and a column that names the pair's run: what
    # the label of one says is told to the other.
    pair = np.array([min(run.name, run.twin or run.name) for run in corpus.runs])
    number = np.unique(pair, return_inverse=True)[1]
    leaky = _with_column(corpus, "pair", number[corpus.run])
    runs = tuple(dataclasses.replace(run, group=run.name) for run in corpus.runs)
    check = injecting.swapped_labels(
        Evidence(dataclasses.replace(leaky, runs=runs), {}, quick=True)
    )
    assert check.verdict == "failed" and abs((check.figure or 0.5) - 0.5) > 0.05


def test_injections_that_all_cost(corpus: Corpus, evidence: Evidence) -> None:
    assert injecting.injection_yield(evidence).verdict == "passed"

    def loud(run: Run) -> Run:
        causes = tuple(dataclasses.replace(c, saved=0.3) for c in run.causes)
        return dataclasses.replace(run, causes=causes)

    check = injecting.injection_yield(Evidence(_changed_runs(corpus, loud), {}))
    assert check.verdict == "failed" and check.figure == 1.0


def test_gold_is_opened_once_a_release(corpus: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    gold_ledger.open_gold(corpus, ledger)  # There is none: nothing is seen.
    assert gold_ledger.entries(ledger) == []
    gilded = _changed_runs(corpus, lambda run: dataclasses.replace(run, source="G"))
    gold_ledger.open_gold(gilded, ledger)
    gold_ledger.open_gold(gilded, ledger)  # The same, gone on with.
    assert gold_ledger.most_in_a_release(ledger) == 1
    other = dataclasses.replace(gilded, digest="another")
    with pytest.raises(CorpusError, match="gold was opened for release"):
        gold_ledger.open_gold(other, ledger)
    entry = gold_ledger.entries(ledger)[0]
    ledger.write_text(json.dumps([entry, entry]))
    check = report.gold_check(ledger)
    assert check.verdict == "failed" and check.figure == 2.0


def test_the_report_is_loud() -> None:
    checks = [
        Check(3, "single features", "each <= 0.90", 0.99, "failed", "why"),
        Check(6, "shift", "<= 0.08", None, "skipped", "one source only"),
    ]
    text = report_text(checks)
    assert "FAILED" in text.splitlines()[2] and "1 of 2 checks FAILED" in text
    assert "no check failed" in report_text(checks[1:])
