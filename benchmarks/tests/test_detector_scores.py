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

pytest.importorskip("lightgbm")
pytest.importorskip("catboost")

from sklearn.tree import DecisionTreeClassifier

from benchmarks.lab.detector import score
from benchmarks.lab.detector.asked import Asked
from benchmarks.lab.detector.compact_corpus import Corpus, read_corpus
from benchmarks.lab.detector.running import evaluate
from benchmarks.lab.detector.splits import folds_of
from benchmarks.lab.detector.summary import summarize
from benchmarks.lab.detector.synthetic_corpus import write_corpus
from benchmarks.lab.detector.window_labels import label_windows

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


def _write(
    path: Path, table: pd.DataFrame, fingerprint: str, probable: str = ""
) -> Path:
    if path.suffix == ".npz":
        columns: dict[str, Any] = {
            name: values.to_numpy().astype(str)
            if values.dtype.kind not in "if"
            else values.to_numpy()
            for name, values in table.items()
        }
        if probable:
            columns["probable"] = np.array(True)
        np.savez(path, fingerprint=np.array(fingerprint), **columns)
    else:
        text = f"# fingerprint: {fingerprint}\n"
        text += f"# probable: {probable}\n" if probable else ""
        path.write_text(text + table.to_csv(index=False), "utf-8")
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
    cells = [cell.split()[0] for cell in kinds[2:5]]
    assert cells == ["1.000", "1.000", "0.000"]
    assert said.startswith(f"corpus {corpus.digest}, ")
    assert "run evaluate.py for margins" in said


def _without_one(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["run"] != table["run"].iloc[-1]]


def _infinite(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(cpu=table["cpu"].where(table.index != 7, np.inf))


def _twice(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table])


BROKEN: list[tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = [
    (_without_one, "windows are missing, the first is g023-5, window 0"),
    (_infinite, "cpu of g000-0, window 7 is infinite"),
    (_twice, "is there twice"),
    (lambda t: t.drop(columns=["cpu", "gpu"]), "neither a column cpu nor a column gpu"),
    (lambda t: t.drop(columns="window"), "no column window"),
    (lambda t: t.assign(window=t["window"] + 500), "none is 500"),
    (lambda t: t.assign(run="g9"), "no run 'g9'"),
    (lambda t: t.assign(type="slowness"), "no pattern 'slowness'"),
    (lambda t: t.assign(window=t["window"] + 0.5), "window 0.5 is no whole number"),
    (lambda t: t.assign(window=np.nan), "window nan is no whole number"),
    (lambda t: t.assign(recoverable=1.5), "window 0 is no share of 0 to 1"),
    (lambda t: t.assign(cpu=np.nan, gpu=np.nan), "no window that is tested has a"),
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


UNREADABLE: list[tuple[dict[str, Any] | bytes, str, str]] = [
    ({"run": np.array(["g"], object)}, "a.npz", "save it as str: .astype('U')"),
    ({"cpu": np.zeros((3, 1))}, "a.npz", "cpu is of shape (3, 1), not (N,)"),
    ({"cpu": np.array(0.5)}, "a.npz", "cpu is of shape (), not (N,)"),
    ({"fingerprint": np.array(["a", "b"])}, "a.npz", "holds 2 values; save one"),
    ({"run": np.array(["g"])}, "cut.npz", "no .npz, or cut short"),
    (b"run,window,cpu\n", "a.npz", "name it .csv if it is one"),
    (b"", "a.npz", "no .npz, or cut short"),
    (b"\x93\xff\x00binary", "a.csv", "no text in UTF-8"),
    (b"# fingerprint: a\n# fingerprint: b\nrun\n", "a.csv", "two lines '# finger"),
]


@pytest.mark.parametrize(("holds", "name", "says"), UNREADABLE)
def test_what_cannot_be_read_is_refused_with_what_to_do(
    folder: Path,
    tmp_path: Path,
    holds: dict[str, Any] | bytes,
    name: str,
    says: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / name
    if isinstance(holds, bytes):
        path.write_bytes(holds)
    else:
        np.savez(path, **{"fingerprint": np.array("synthetic-24"), **holds})
    if name.startswith("cut"):
        path.write_bytes(path.read_bytes()[:-40])
    assert score.main([str(folder), str(path)]) == 2
    said = capsys.readouterr().err
    assert says in said and str(path) in said and "pickle" not in said


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


def test_folds_as_written_are_enough_to_train_and_to_enter(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an entrant does, with the folds' file and the compact corpus alone."""
    corpus = read_corpus(folder)
    score.main(
        [str(folder), "--write-folds", str(tmp_path / "folds.npz"), "--splits", "S2"]
    )
    parts = []
    with np.load(tmp_path / "folds.npz") as arrays:
        names = {key.split("/")[0] for key in arrays.files}
        for name in sorted(names):
            label = arrays[f"{name}/train"][0]
            model = DecisionTreeClassifier(max_depth=3, random_state=0)
            features = np.nan_to_num(corpus.features)
            model.fit(features[label >= 0], label[label >= 0])
            said = model.predict_proba(features)[:, 1]
            table = _said(corpus)[["run", "window"]].assign(cpu=said, fold=name)
            parts.append(table[arrays[f"{name}/tested"]])
    path = _write(tmp_path / "tree.csv", pd.concat(parts), corpus.fingerprint)
    capsys.readouterr()
    assert score.main([str(folder), str(path)]) == 0
    said = capsys.readouterr().out
    # One head is enough, and the other is not said to lack anything.
    assert "S2, CPU" in said and "S2, GPU" not in said and "scored" not in said


def test_a_window_may_be_left_out(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = read_corpus(folder)
    table = _said(corpus)
    left = np.random.default_rng(0).random(len(table)) < 0.25
    table["cpu"] = table["cpu"].where(~left)
    table["recoverable"] = table["recoverable"].where(~left)
    table["type"] = table["type"].where(~left, "")
    for name in ("left.npz", "left.csv"):
        path = _write(tmp_path / name, table, corpus.fingerprint)
        assert score.main([str(folder), str(path), "--splits", "S6"]) == 0
        said = capsys.readouterr().out
        rows = [line for line in said.splitlines() if line.startswith("| S6-S-R")]
        assert len(rows) == 1 and "| cpu" in rows[0]
        share = float(rows[0].split("|")[4].strip(" %"))
        assert 70 < share < 80
        assert "| left " in said and "1.000 (1.00-1.00)" in said


def test_probabilities_are_held_against_what_comes_true(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = read_corpus(folder)
    labels = label_windows(corpus)
    table = _said(corpus)
    table["cpu"], table["gpu"] = 1.0 * (labels.heads == 1)
    mark = "yes"
    path = _write(tmp_path / "sure.npz", table, corpus.fingerprint, mark)
    assert score.main([str(folder), str(path), "--splits", "S6"]) == 0
    by_npz = capsys.readouterr().out
    row = next(line for line in by_npz.splitlines() if "ECE" in line)
    assert row.rstrip(" |").endswith("ECE") and "0.000 (0.00-0.00) |" in by_npz
    path = _write(tmp_path / "sure.csv", table, corpus.fingerprint, mark)
    assert score.main([str(folder), str(path), "--splits", "S6"]) == 0
    assert capsys.readouterr().out == by_npz
    table["cpu"] *= 3
    path = _write(tmp_path / "sure.csv", table, corpus.fingerprint, mark)
    assert score.main([str(folder), str(path)]) == 2
    assert "is no probability" in capsys.readouterr().err


def test_margins_are_of_the_folds_that_both_have(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rules themselves, entered for their easiest fold, are not above the rules."""
    corpus = read_corpus(folder)
    name = "rules, windows of 128"
    asked = Asked(folder, (name,), ("S2",), seeds=1, jobs=1)
    row = summarize(evaluate(asked)[0])["S2", name]
    areas = row.by_item["cpu"]
    easy = max(areas, key=areas.get)
    assert areas[easy] > row.figures["cpu_auroc"].value + 0.005
    fold = next(
        f for f in folds_of(corpus, label_windows(corpus))[0]
        if (f.split, f.item) == ("S2", easy)
    )  # fmt: skip
    claims, sides = np.nan_to_num(corpus.rules), corpus.sides
    table = _said(corpus)[["run", "window"]].assign(
        cpu=claims[:, sides == 0].sum(axis=1), gpu=claims[:, sides == 1].sum(axis=1)
    )
    table = table[(fold.test >= 0).any(axis=0)].assign(fold=fold.name)
    path = _write(tmp_path / "rules.npz", table, corpus.fingerprint)
    capsys.readouterr()
    assert score.main([str(folder), str(path)]) == 0
    said = capsys.readouterr().out
    (margin,) = [r for r in said.splitlines() if r.startswith("| S2    | cpu")]
    assert f"| {name} | +0.000 | +0.000 to +0.000 |" in margin
    # Where windows are left out, what is left may be the easy ones: no margin.
    table.loc[table.index[0], "cpu"] = np.nan
    path = _write(tmp_path / "rules.npz", table, corpus.fingerprint)
    assert score.main([str(folder), str(path)]) == 0
    assert "| S2    | cpu" not in capsys.readouterr().out


def test_a_fold_without_a_score_is_not_hidden(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who says nothing of the worst fold is told so, and gets no margin."""
    corpus = read_corpus(folder)
    evaluate(Asked(folder, ("rules, windows of 128",), ("S2",), seeds=1, jobs=1))
    folds, _ = folds_of(corpus, label_windows(corpus))
    folds = [fold for fold in folds if fold.split == "S2"]
    table = _said(corpus)[["run", "window", "cpu"]]
    parts = [
        table[(fold.test >= 0).any(axis=0)].assign(fold=fold.name) for fold in folds
    ]
    hidden = next(k for k, fold in enumerate(folds) if (fold.test[0] >= 0).any())
    for cpu in (parts[hidden]["cpu"], np.nan):
        parts[hidden] = parts[hidden].assign(cpu=cpu)
        path = _write(tmp_path / "a.npz", pd.concat(parts), corpus.fingerprint)
        capsys.readouterr()
        assert score.main([str(folder), str(path)]) == 0
        rows = capsys.readouterr().out.splitlines()
        margins = [row for row in rows if row.startswith("| S2    | cpu")]
        left = [row for row in rows if row.startswith(f"| {folds[hidden].name} ")]
        assert bool(margins) == bool(np.any(np.isfinite(cpu)))
        assert bool(left) != bool(margins)
    assert left[0].split("|")[4].strip() == "0.0%"
