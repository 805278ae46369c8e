# SPDX-License-Identifier: BSD-3-Clause
"""test_detector_scores.py: anyone's scores are scored, and what is wrong is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import score
from compact_corpus import Corpus, read_corpus
from splits import folds_of
from synthetic_corpus import write_corpus
from window_labels import label_windows

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("corpus")
    write_corpus(out, groups=24, seed=2)
    return out


def _said(corpus: Corpus) -> pd.DataFrame:
    """Scores of a detector that knows the truth."""
    first = np.searchsorted(corpus.run, corpus.run)
    sides, saved = corpus.sides == 1, np.nan_to_num(corpus.saved)
    kind = label_windows(corpus).kind
    best = np.where(kind >= 0, kind, saved.argmax(axis=1))
    return pd.DataFrame(
        {
            "run": corpus.of_windows("name"),
            "window": np.arange(len(corpus.run)) - first,
            "cpu": saved[:, ~sides].max(axis=1),
            "gpu": saved[:, sides].max(axis=1),
            "type": np.array(corpus.patterns)[best],
            "recoverable": corpus.saved_all,
        }
    )


def _write(path: Path, table: pd.DataFrame, fingerprint: str) -> Path:
    if path.suffix == ".npz":
        columns: dict[str, Any] = {
            name: values.to_numpy().astype(str)
            if values.dtype.kind not in "if"
            else values.to_numpy()
            for name, values in table.items()
        }
        np.savez(path, fingerprint=np.array(fingerprint), **columns)
    else:
        text = table.to_csv(index=False)
        path.write_text(f"# fingerprint: {fingerprint}\n{text}", "utf-8")
    return path


@pytest.mark.parametrize("name", ["known.npz", "known.csv"])
def test_the_truth_scores_one(
    folder: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = read_corpus(folder)
    path = _write(tmp_path / name, _said(corpus), corpus.fingerprint)
    assert score.main([str(folder), str(path), "--splits", "S0", "S6"]) == 0
    said = capsys.readouterr().out
    rows = [line for line in said.splitlines() if line.startswith("| known ")]
    assert "1.000 (1.00-1.00)" in rows[0] and "0." not in rows[0]
    kinds = rows[-1].split("|")
    assert [cell.strip() for cell in kinds[2:5]] == ["1.000", "1.000", "0.000"]
    assert "run evaluate.py for margins" in said


def _without_one(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["run"] != table["run"].iloc[-1]]


def _nan(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(cpu=table["cpu"].where(table.index != 7))


def _twice(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table])


BROKEN: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = [
    (_without_one, "windows are missing, the first is g023-5, window 0"),
    (_nan, "cpu of g000-0, window 7 is not a number"),
    (_twice, "is there twice"),
    (lambda t: t.drop(columns="gpu"), "no column gpu"),
    (lambda t: t.assign(window=t["window"] + 500), "none is 500"),
    (lambda t: t.assign(run="g9"), "no run 'g9'"),
    (lambda t: t.assign(type="slowness"), "no pattern 'slowness'"),
    (lambda t: t.assign(fold="S1-nothing"), "no fold 'S1-nothing'; there are S0-"),
]


@pytest.mark.parametrize(("change", "says"), BROKEN)
@pytest.mark.parametrize("name", ["a.npz", "a.csv"])
def test_what_is_wrong_is_said(
    folder: Path,
    tmp_path: Path,
    name: str,
    change: Callable[[pd.DataFrame], pd.DataFrame],
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = read_corpus(folder)
    # The group whose windows go missing is one that S8 or others test.
    path = _write(tmp_path / name, change(_said(corpus)), corpus.fingerprint)
    assert score.main([str(folder), str(path)]) == 2
    assert says in capsys.readouterr().err


def test_another_table_of_features_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path / "a.npz", _said(read_corpus(folder)), "older")
    assert score.main([str(folder), str(path)]) == 2
    assert "made for 'older', the corpus is 'synthetic-24'" in capsys.readouterr().err
    bare = tmp_path / "a.csv"
    bare.write_text("run,window,cpu,gpu\n")
    assert score.main([str(folder), str(bare)]) == 2
    assert "first line is not '# fingerprint" in capsys.readouterr().err


def test_folds_are_written_for_training(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "folds.npz"
    assert score.main([str(folder), "--write-folds", str(path)]) == 0
    corpus = read_corpus(folder)
    folds, _ = folds_of(corpus, label_windows(corpus))
    with np.load(path) as arrays:
        for fold in folds:
            assert np.array_equal(arrays[f"{fold.name}/train"], fold.train)
            trained = arrays[f"{fold.name}/trained"]
            assert not (trained & arrays[f"{fold.name}/tested"]).any()


def test_one_fold_may_be_scored_by_itself(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = read_corpus(folder)
    folds, _ = folds_of(corpus, label_windows(corpus))
    fold = next(f for f in folds if f.split == "S2")
    tested = (fold.test >= 0).any(axis=0)
    table = _said(corpus)[tested].assign(fold=fold.name)
    path = _write(tmp_path / "mine.npz", table, corpus.fingerprint)
    assert score.main([str(folder), str(path)]) == 0
    said = capsys.readouterr().out
    assert "S2 CPU" in said and "S1 CPU" not in said
