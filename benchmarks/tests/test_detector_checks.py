# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_checks.py: each check fails on a corpus that was made to fail it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from benchmarks.lab.detector import gold_ledger
from benchmarks.lab.detector.compact_corpus import Corpus, Run, read_corpus
from benchmarks.lab.detector.judging.judged import Judged
from benchmarks.lab.detector.results_kept import Result, keep, path_of
from benchmarks.lab.detector.summary import Figure, Row
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.ten_checks import (
    injecting,
    nulls,
    report,
    shortcuts,
    transfer,
)
from benchmarks.lab.detector.ten_checks.check import Check, Evidence
from benchmarks.lab.detector.ten_checks.report import report_text

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
    quiet = nulls.null_injections(evidence)
    assert quiet.verdict != "failed" and abs(quiet.figure or 1.0) < 0.06
    # What was touched at no cost gets the columns of what costs.
    null = corpus.of_windows("role") == "null"
    dear = np.flatnonzero(evidence.labels.heads[0] == 1)
    features = corpus.features.copy()
    features[null] = features[np.resize(dear, null.sum())]
    loud = Evidence(dataclasses.replace(corpus, features=features), {}, quick=True)
    check = nulls.null_injections(loud)
    assert check.verdict == "failed" and (check.figure or 0) > 0.3


def test_null_injections_are_compared_within_their_group(corpus: Corpus) -> None:
    """A source, or a program, that is loud as a whole accuses no null injection."""
    evidence = Evidence(corpus, {}, quick=True)
    group = np.unique(corpus.of_windows("group"), return_inverse=True)[1]
    of_group = np.stack([group % 7, group % 7])
    evidence.scores = of_group  # type: ignore[misc]
    assert nulls.null_injections(evidence).figure == 0.0
    noise = np.random.default_rng(0).normal(0, 1, (2, len(group)))
    # One loud group among the null runs is noise, which the error knows.
    null = corpus.of_windows("role") == "null"
    evidence.scores = noise + 100 * (null & (group == 3))  # type: ignore[misc]
    assert nulls.null_injections(evidence).verdict == "undecided"
    evidence.scores = noise + 100 * null  # type: ignore[misc]
    assert nulls.null_injections(evidence).verdict == "failed"


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


def test_the_rules_shares_are_what_no_blind_run_reads() -> None:
    """On torchtraceap's own table: a share of each pattern, and no list is empty."""
    core = pytest.importorskip("torchtraceap._core")
    columns = [column.name for column in core.feature_columns()]
    names, times, causes = shortcuts.columns_read(columns)
    assert causes.sum() == sum(c.startswith("cause_") for c in columns) > 30
    assert not (causes & (names | times)).any()
    assert names.sum() > 20 and times.sum() > 40
    for pattern in (shortcuts.READS_NAMES, shortcuts.READS_TIMES):
        for part in pattern.pattern.split("|"):
            assert any(re.search(part, column) for column in columns), part


def test_what_is_by_cause_is_gone_in_a_blind_run(corpus: Corpus) -> None:
    """Only a rule's share says anything: name-blind, it is lost."""
    label = Evidence(corpus, {}).labels.heads[0]
    noise = np.random.default_rng(0).normal(size=corpus.features.shape)
    deaf = dataclasses.replace(corpus, features=noise.astype(np.float32))
    shared = _with_column(deaf, "cause_sync_stall", label == 1)
    check = shortcuts.blindness(Evidence(shared, {}, quick=True))
    assert check.verdict == "failed" and (check.figure or 0) > 0.3
    assert "1 are by cause" in check.meaning


def test_a_simulator_that_betrays_itself(corpus: Corpus, evidence: Evidence) -> None:
    check = transfer.domain_probe(evidence)
    assert "one by one: of_source" in check.meaning, check
    assert check.verdict == "failed"
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


def test_strengths_that_are_too_few_decide_nothing(
    corpus: Corpus, evidence: Evidence
) -> None:
    perfect = Evidence(corpus, {}, quick=True)
    cost = np.array([run.saved() for run in corpus.runs])[corpus.run]
    perfect.scores = np.stack([cost, cost])  # type: ignore[misc]
    check = transfer.strength(perfect)
    assert check.verdict == "undecided" and check.figure == 1.0
    assert "30 are needed" in check.meaning

    def alike(run: Run) -> Run:
        causes = tuple(
            dataclasses.replace(c, pattern="sync_stall", mechanism="first")
            for c in run.causes
        )
        return dataclasses.replace(run, causes=causes, group=f"g{len(run.family)}")

    many = Evidence(_changed_runs(corpus, alike), {}, quick=True)
    many.scores = perfect.scores  # type: ignore[misc]
    assert transfer.strength(many).verdict == "passed"


def test_a_twin_of_several_counts_once(corpus: Corpus) -> None:
    """Slow runs of a real trace share the natural one: one label, one comparison."""
    first = {}
    for run in corpus.runs:
        if run.role == "fixed":
            first.setdefault(run.group, run.name)

    def share(run: Run) -> Run:
        return dataclasses.replace(run, twin=first[run.group]) if run.twin else run

    shared = _changed_runs(corpus, share)
    pairs = len({run.twin for run in shared.runs if run.role == "slow"})
    check = injecting.swapped_labels(Evidence(shared, {}, quick=True))
    learnable = {run.group for run in shared.runs if not run.held_out}
    assert f" {len(learnable)} pairs" in check.meaning and len(learnable) <= pairs
    evidence = Evidence(shared, {}, quick=True)
    cost = np.array([run.saved() for run in shared.runs])[shared.run]
    evidence.scores = np.stack([cost, cost])  # type: ignore[misc]
    falls = int(transfer.strength(evidence).meaning.split(" of ")[1].split(";")[0])
    assert falls <= pairs


def test_pairs_that_leak_into_each_other(corpus: Corpus, evidence: Evidence) -> None:
    check = injecting.swapped_labels(evidence)
    assert check.verdict != "failed" and abs((check.figure or 0) - 0.5) < 0.06
    # A pair's runs in groups of their own, and a column that names the pair's run: the
    # label of one leaks to the other.
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


def test_injections_that_came_to_nothing_count(corpus: Corpus) -> None:
    """What was meant to cost counts, whatever the run was called afterwards."""

    def faint(run: Run) -> Run:
        causes = tuple(
            dataclasses.replace(c, saved=0.0 if c.strength < 0.5 else 0.3)
            for c in run.causes
        )
        role = "null" if causes and not causes[0].saved else run.role
        return dataclasses.replace(run, causes=causes, role=role)

    faints = _changed_runs(corpus, faint)
    meant = [c.saved for run in faints.runs for c in run.injected()]
    check = injecting.injection_yield(Evidence(faints, {}))
    assert check.figure == pytest.approx(np.mean(np.array(meant) > 0))
    assert (check.figure or 1) < 0.7
    assert f"of {len(meant)} injections" in check.meaning


def test_gold_is_opened_once_a_release(corpus: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    entry = {"release": "0.1.0", "date": "today", **gold_ledger.state_of(corpus)}
    ledger.write_text(json.dumps([entry, entry | {"void": "nothing was seen"}]))
    assert report.gold_check(corpus, {}, ledger).verdict == "passed"
    ledger.write_text(json.dumps([entry, entry | {"date": "tomorrow"}]))
    check = report.gold_check(corpus, {}, ledger)
    assert check.verdict == "failed" and check.figure == 2.0


def test_a_look_at_gold_that_nobody_wrote_down(corpus: Corpus, tmp_path: Path) -> None:
    ledger = tmp_path / "opened.json"
    seen = Row({"cpu_auroc": Figure(0.7)}, {}, {}, {}, "", 1, 0.0)
    nothing = Row({}, {}, {}, {}, "not opened", 0, 0.0)
    shown, hidden = {("S7", "LightGBM"): seen}, {("S7", "LightGBM"): nothing}
    assert report.gold_check(corpus, hidden, ledger).verdict == "passed"
    check = report.gold_check(corpus, shown, ledger)
    assert check.verdict == "failed" and "no look at this corpus" in check.meaning
    entry = {"release": "0.1.0", "date": "today", **gold_ledger.state_of(corpus)}
    ledger.write_text(json.dumps([entry | {"void": "by hand"}]))
    assert report.gold_check(corpus, shown, ledger).verdict == "failed"
    ledger.write_text(json.dumps([entry | {"corpus": "another"}]))
    assert report.gold_check(corpus, shown, ledger).verdict == "failed"
    ledger.write_text(json.dumps([entry | {"code": "older"}]))
    check = report.gold_check(corpus, shown, ledger)
    assert check.verdict == "failed" and "with other code" in check.meaning
    # The look is there, and nothing of it is shown: fine with the code of now too.
    assert report.gold_check(corpus, hidden, ledger).verdict == "passed"
    ledger.write_text(json.dumps([entry]))
    assert report.gold_check(corpus, shown, ledger).verdict == "passed"


def test_results_of_gold_that_are_kept_need_a_look(
    corpus: Corpus, tmp_path: Path
) -> None:
    moved = dataclasses.replace(corpus, folder=tmp_path / "compact")
    ledger = tmp_path / "opened.json"
    assert report.gold_check(moved, {}, ledger).verdict == "passed"
    result = Result("S7", "G", "LightGBM", 0, Judged())
    keep(path_of(tmp_path / "evaluated" / "older", "S7-G", "LightGBM", 0), result)
    assert report.gold_check(moved, {}, ledger).verdict == "failed"


def test_the_report_is_loud() -> None:
    checks = [
        Check(3, "single features", "each <= 0.90", 0.99, "failed", "why"),
        Check(6, "shift", "<= 0.08", None, "skipped", "one source only"),
    ]
    text = report_text(checks)
    assert "FAILED" in text.splitlines()[2] and "1 of 2 checks FAILED" in text
    assert "no check failed" in report_text(checks[1:])
