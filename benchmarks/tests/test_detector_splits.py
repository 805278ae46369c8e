# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_splits.py: held-out data are new, test data are never trained on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("sklearn")

from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.splits import SPLITS, folds_of
from benchmarks.lab.detector.synthetic_corpus import HELD_OUT, write_corpus
from benchmarks.lab.detector.window_labels import UNSCORED, label_windows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=48, seed=5)
    return read_corpus(out)


def _folds(corpus: Corpus) -> dict[str, list[Fold]]:
    of: dict[str, list[Fold]] = {}
    for fold in folds_of(corpus, label_windows(corpus))[0]:
        of.setdefault(fold.split, []).append(fold)
    return of


def _skipped(corpus: Corpus) -> list[Skipped]:
    return folds_of(corpus, label_windows(corpus))[1]


def _tested(fold: Fold) -> np.ndarray:
    return (fold.test != UNSCORED).any(axis=0)


def _gilded(corpus: Corpus) -> Corpus:
    """Make gold of two programs: of each pair one pattern is known and no more."""
    runs, saved = list(corpus.runs), corpus.saved.copy()
    for k, run in enumerate(runs):
        if run.group in ("g000", "g001"):
            runs[k] = dataclasses.replace(
                run, source="G", complete=False, good=None, origin="origin1"
            )
            known = {c.pattern for c in run.causes}
            known |= {c.pattern for r in corpus.runs if r.twin == run.name
                      for c in r.causes}  # fmt: skip
            others = [name not in known for name in corpus.patterns]
            saved[np.ix_(corpus.run == k, others)] = np.nan
    made = dataclasses.replace(corpus, runs=tuple(runs), saved=saved)
    gold = made.of_windows("source") == "G"
    everything = np.where(gold, np.nansum(saved, axis=1), corpus.saved_all)
    return dataclasses.replace(made, saved_all=everything)


def test_no_group_is_on_both_sides(corpus: Corpus) -> None:
    gilded = _gilded(corpus)
    folds = _folds(gilded)
    assert set(folds) == set(SPLITS)
    for fold in (f for some in folds.values() for f in some):
        assert (fold.train[:, ~fold.trained] == UNSCORED).all()
        if fold.split == "S0":
            continue
        for unit in ("group", "origin"):
            of = gilded.of_windows(unit)
            both = set(of[_tested(fold)]) & set(of[fold.trained]) - {""}
            assert not both, (fold.name, unit)


def test_other_draws_of_the_same_programs(corpus: Corpus) -> None:
    (fold,) = _folds(corpus)["S0"]
    group, source = corpus.of_windows("group"), corpus.of_windows("source")
    tested, drawing = _tested(fold), np.array(
        [min(run.name, run.twin or run.name) for run in corpus.runs]
    )[corpus.run]  # fmt: skip
    assert set(group[tested]) <= set(group[fold.trained])
    assert set(source[tested]) == {"R", "S", "P"}
    assert set(drawing[tested]).isdisjoint(drawing[fold.trained])
    # Each program of R drawn once: pairs alone, a group each.
    single = tuple(
        dataclasses.replace(run, group=min(run.name, run.twin or run.name))
        if run.source == "R"
        else run
        for run in corpus.runs
    )
    apart = dataclasses.replace(corpus, runs=single)
    assert not (source[_tested(_folds(apart)["S0"][0])] == "R").any()
    assert ("S0", "R") in {(one.split, one.item) for one in _skipped(apart)}


def test_splits_are_drawn_by_seed(corpus: Corpus) -> None:
    labels = label_windows(corpus)
    first, again, other = (folds_of(corpus, labels, seed)[0] for seed in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.test, b.test) and np.array_equal(a.train, b.train)
    assert not np.array_equal(first[0].test, other[0].test)


def test_what_is_held_out_is_not_trained_on(corpus: Corpus) -> None:
    labels, of = label_windows(corpus), _folds(corpus)
    family, source = corpus.of_windows("family"), corpus.of_windows("source")
    for fold in of["S1"]:
        real = source == "P"  # Of no task: their families differ.
        assert set(family[_tested(fold)]).isdisjoint(family[fold.trained & ~real])
    (weak,) = of["S3"]
    assert (labels.strongest[weak.train == 1] >= 0.20).all()
    assert (labels.strongest[weak.test == 1] < 0.10).all()
    for fold in of["S6"]:
        a, b = fold.item.split("->")
        assert set(source[fold.trained]) == {a}
        assert set(source[_tested(fold)]) == {b}


def test_a_gpu_is_held_out_of_real_traces_too(corpus: Corpus) -> None:
    gpu, source = corpus.of_windows("gpu"), corpus.of_windows("source")
    sources = set()
    for fold in _folds(corpus)["S2"]:
        assert fold.item not in gpu[fold.trained]
        assert set(gpu[_tested(fold)]) == {fold.item}
        sources |= set(source[_tested(fold)])
    assert sources == {"S", "P"}


def test_origins_that_are_held_out_are_for_one_test(corpus: Corpus) -> None:
    gilded = _gilded(corpus)
    held = np.isin(gilded.of_windows("origin"), HELD_OUT)
    scored = (label_windows(gilded).heads != UNSCORED).any(axis=0)
    for fold in (f for some in _folds(gilded).values() for f in some):
        assert not fold.trained[held].any(), fold.name
        if fold.split == "S8":
            assert np.array_equal(_tested(fold), held & scored)
        else:
            assert not _tested(fold)[held].any(), fold.name
    free = tuple(dataclasses.replace(run, held_out=False) for run in corpus.runs)
    said = {one.split for one in _skipped(dataclasses.replace(corpus, runs=free))}
    assert "S8" in said


def test_mechanisms_that_are_held_out_are_new(corpus: Corpus) -> None:
    (fold,) = _folds(corpus)["S4"]
    labels = label_windows(corpus)
    ways: dict[str, set[str]] = {}
    for line in np.unique(corpus.run[fold.trained]):
        for cause in corpus.runs[line].causes:
            if not cause.natural:
                ways.setdefault(cause.pattern, set()).add(cause.mechanism)
    asked = 0
    for side, row in zip(*np.nonzero(fold.test == 1), strict=True):
        new = [
            corpus.patterns.index(cause.pattern)
            for cause in corpus.runs[corpus.run[row]].injected()
            if cause.mechanism not in ways.get(cause.pattern, set())
        ]
        mine = [k for k in new if corpus.sides[k] == side]
        assert (labels.patterns[row, mine] == 1).any()
        asked += 1
    assert asked > 50 and (fold.test == 0).any()


def test_a_pattern_that_is_held_out_costs_nowhere(corpus: Corpus) -> None:
    # Hosts are late in all simulated runs; elsewhere in a few.
    saved, source = corpus.saved.copy(), corpus.of_windows("source")
    late = corpus.patterns.index("launch_bound")
    often = (source == "S") & (np.arange(len(saved)) % 5 < 2)
    saved[often, late] = np.where(np.arange(often.sum()) % 2, 0.03, 0.4)
    changed = dataclasses.replace(corpus, saved=saved)
    labels = label_windows(changed)
    folds = _folds(changed)["S5"]
    assert {corpus.sides[corpus.patterns.index(f.item)] for f in folds} == {0, 1}
    for fold in folds:
        k = corpus.patterns.index(fold.item)
        assert not (saved[fold.trained, k] >= 0.02).any()
        assert (labels.patterns[(fold.test == 1).any(axis=0), k] == 1).all()
        assert (fold.test[1 - corpus.sides[k]] == UNSCORED).all()
        learned = [corpus.runs[line] for line in np.unique(corpus.run[fold.trained])]
        whole = [run for run in learned if run.source != "S"]
        costly = [c for run in whole for c in run.causes if c.saved >= 0.02]
        assert fold.item not in {cause.pattern for cause in costly}
    (fold,) = (f for f in folds if f.item == "launch_bound")
    group, made = corpus.of_windows("group"), source == "S"
    share = len(set(group[_tested(fold) & made])) / len(set(group[made]))
    assert 0.2 <= share <= 0.45
    assert len(set(group[fold.trained & made])) >= 0.5 * len(set(group[made]))


def test_gold_is_tested_only(corpus: Corpus) -> None:
    gilded = _gilded(corpus)
    gold = gilded.of_windows("source") == "G"
    assert "S7" in {one.split for one in _skipped(corpus)}
    for split, folds in _folds(gilded).items():
        for fold in folds:
            assert not fold.trained[gold].any()
            assert _tested(fold)[gold].any() == (split == "S7")
    (fold,) = _folds(gilded)["S7"]
    assert not _tested(fold)[~gold].any()
    assert set(fold.test[fold.test != UNSCORED]) == {0, 1}
    # Real traces of the origin that gold is of are no more trained on than gold.
    origin = gilded.of_windows("origin")
    assert (origin == "origin1")[~gold].any()
    assert "origin1" not in set(origin[fold.trained])
