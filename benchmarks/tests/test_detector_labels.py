# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_labels.py: the compact form, labels by cost, splits without leaks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from compact_corpus import Cause, Corpus, CorpusError, read_corpus
from folds import Fold
from splits import SPLITS, folds_of
from synthetic_corpus import write_corpus
from window_labels import UNSCORED, label_windows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=48, seed=5)
    return read_corpus(out)


def _four_windows(corpus: Corpus, saved: list[list[float]], **of_run: object) -> Corpus:
    """Make one run of these windows; two patterns are of the CPU, one of the GPU."""
    run = dataclasses.replace(corpus.runs[0], causes=(), **of_run)
    count = len(saved)
    return dataclasses.replace(
        corpus,
        runs=(run,),
        run=np.zeros(count, int),
        patterns=("sync_stall", "gc_pause", "exposed_copy"),
        sides=np.array([0, 0, 1], np.int8),
        saved=np.array(saved, np.float32),
        device=np.zeros(count, int),
    )


def test_labels_by_what_is_saved(corpus: Corpus) -> None:
    nothing = float("nan")
    labels = label_windows(
        _four_windows(
            corpus,
            [
                [0.30, 0.01, 0.00],  # positive, negative
                [0.03, 0.00, 0.05],  # grey, positive
                [0.00, -0.20, 0.019],  # what takes longer without is none
                [0.06, 0.058, nothing],  # either name is right; complete: none
            ],
            complete=True,
        )
    )
    assert labels.heads.tolist() == [[1, UNSCORED, 0, 1], [0, 1, 0, 0]]
    assert labels.band.tolist() == [[2, -1, -1, 0], [-1, 0, -1, -1]]
    assert labels.kind.tolist() == [0, 2, -1, 0]
    assert labels.right[3].tolist() == [True, True, False]
    assert labels.patterns[1].tolist() == [UNSCORED, 0, 1]


def test_what_is_not_known_is_no_negative(corpus: Corpus) -> None:
    nothing = float("nan")
    saved = [[0.00, nothing, nothing], [0.10, nothing, nothing]]
    unknown = _four_windows(corpus, saved, complete=False)
    assert label_windows(unknown).heads.tolist() == [[UNSCORED, 1], [UNSCORED] * 2]
    natural = Cause("sync_stall", "found", 1.0, False, True, 0.0)
    run = dataclasses.replace(unknown.runs[0], causes=(natural,))
    known = dataclasses.replace(unknown, runs=(run,))
    # What rules found and a replay priced is no truth to judge rules by.
    assert label_windows(known).heads.tolist() == [[0, UNSCORED], [UNSCORED] * 2]


def test_a_cpu_is_no_negative_of_the_gpu(corpus: Corpus) -> None:
    alone = _four_windows(corpus, [[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]], complete=True)
    alone.device[:] = -1
    assert label_windows(alone).heads[1].tolist() == [UNSCORED, UNSCORED]
    alone.saved[0, 2] = 0.2
    assert label_windows(alone).heads[1].tolist() == [1, 0]


def test_no_group_is_on_both_sides(corpus: Corpus) -> None:
    group = corpus.of_windows("group")
    folds, skipped = folds_of(corpus, label_windows(corpus))
    for fold in folds:
        tested = set(group[(fold.test != UNSCORED).any(axis=0)])
        assert tested.isdisjoint(group[fold.trained]), fold.name
        assert tested.isdisjoint(group[(fold.train != UNSCORED).any(axis=0)])
        assert (fold.train[:, ~fold.trained] == UNSCORED).all()
    assert {fold.split for fold in folds} == set(SPLITS) - {"S7"}
    assert [one.split for one in skipped] == ["S7"]


def test_splits_are_drawn_by_seed(corpus: Corpus) -> None:
    labels = label_windows(corpus)
    first, again, other = (folds_of(corpus, labels, seed)[0] for seed in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a.test, b.test) and np.array_equal(a.train, b.train)
    assert not np.array_equal(first[0].test, other[0].test)


def test_what_is_held_out_is_not_trained_on(corpus: Corpus) -> None:
    labels = label_windows(corpus)
    of: dict[str, list[Fold]] = {}
    for fold in folds_of(corpus, labels)[0]:
        of.setdefault(fold.split, []).append(fold)
    family, gpu = corpus.of_windows("family"), corpus.of_windows("gpu")
    for fold in of["S1"]:
        tested = (fold.test != UNSCORED).any(axis=0)
        real = corpus.of_windows("source") == "P"  # Of no task: their families differ.
        assert set(family[tested]).isdisjoint(family[fold.trained & ~real])
    for fold in of["S2"]:
        assert fold.item not in gpu[fold.trained]
        assert set(gpu[(fold.test != UNSCORED).any(axis=0)]) == {fold.item}
    (weak,) = of["S3"]
    assert (labels.strongest[weak.train == 1] >= 0.20).all()
    assert (labels.strongest[weak.test == 1] < 0.10).all()
    for fold in of["S5"]:
        k = corpus.patterns.index(fold.item)
        assert not (fold.train[:, labels.patterns[:, k] == 1] == 1).any()
        tested = (fold.test == 1).any(axis=0)
        assert (labels.patterns[tested, k] == 1).all()
    source = corpus.of_windows("source")
    for fold in of["S6"]:
        a, b = fold.item.split("->")
        assert set(source[fold.trained]) == {a}
        assert set(source[(fold.test != UNSCORED).any(axis=0)]) == {b}
    (real,) = of["S8"]
    origin = corpus.of_windows("origin")
    tested = (real.test != UNSCORED).any(axis=0)
    assert set(origin[tested]).isdisjoint(origin[real.trained])


def test_mechanisms_that_are_held_out_are_new(corpus: Corpus) -> None:
    (fold,) = (f for f in folds_of(corpus, label_windows(corpus))[0] if f.split == "S4")
    ways: dict[str, set[str]] = {}
    for line in np.unique(corpus.run[fold.trained]):
        for cause in corpus.runs[line].injected():
            ways.setdefault(cause.pattern, set()).add(cause.mechanism)
    tested = np.unique(corpus.run[(fold.test == 1).any(axis=0)])
    new = [
        cause.mechanism not in ways.get(cause.pattern, set())
        for line in tested
        for cause in corpus.runs[line].injected()
    ]
    assert len(new) > 5 and all(new)


def test_gold_is_tested_only(corpus: Corpus) -> None:
    runs = tuple(
        dataclasses.replace(run, source="G") if run.group < "g006" else run
        for run in corpus.runs
    )
    gilded = dataclasses.replace(corpus, runs=runs)
    gold = gilded.of_windows("source") == "G"
    for fold in folds_of(gilded, label_windows(gilded))[0]:
        assert not fold.trained[gold].any()
        assert (fold.test[:, gold] != UNSCORED).any() == (fold.split == "S7")


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda at: (at / "runs.jsonl").unlink(), "no such file"),
        (lambda at: _change(at, "features", lambda x: x[:, 1:]), "array features is"),
        (lambda at: _change(at, "run", lambda x: x[::-1]), "order of the runs"),
        (lambda at: _change(at, "run", lambda x: x + 1000), "a window is of run"),
        (lambda at: _drop_field(at, "twin"), "line 1: no field twin"),
    ],
)
def test_what_is_no_corpus_is_said(tmp_path: Path, break_it, says: str) -> None:
    write_corpus(tmp_path, groups=4)
    read_corpus(tmp_path)
    break_it(tmp_path / "compact")
    with pytest.raises(CorpusError, match=says):
        read_corpus(tmp_path)


def _change(at: Path, name: str, change) -> None:
    with np.load(at / "windows.npz") as file:
        arrays = {key: file[key] for key in file.files}
    arrays[name] = change(arrays[name])
    np.savez(at / "windows.npz", **arrays)


def _drop_field(at: Path, name: str) -> None:
    lines = (at / "runs.jsonl").read_text().splitlines()
    known = json.loads(lines[0])
    del known[name]
    (at / "runs.jsonl").write_text("\n".join([json.dumps(known), *lines[1:]]))
