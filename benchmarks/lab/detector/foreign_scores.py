# SPDX-License-Identifier: BSD-3-Clause
"""foreign_scores.py: reads a file of window scores that some detector wrote.

As `.npz`, arrays by name; as `.csv`, columns by name, whose first lines are
`# fingerprint: ...` and, if so, `# probable: yes`:

    fingerprint   of columns.json: the table of features and windows it is about
    probable      optional: the scores are probabilities, so that they can be held
                  against what comes true (ECE)
    run           name of the run
    window        index of the window in its run, from 0
    cpu, gpu      scores of the heads, higher is worse; one of them is enough. NaN (of
                  a csv: empty): the detector does not say. Such a window is not scored
                  and how many are is said, but there are no margins then
    type          optional: name of the pattern; "": it does not say
    recoverable   optional: share of the window that would be saved, or NaN
    fold          optional: the fold whose training windows it was trained on; without,
                  a score holds in all folds (rules; what was trained elsewhere)

All windows that a fold tests must be there, in any order, as `FOLD/tested` of
`score.py --write-folds` lists them; more may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.lab.detector.compact_corpus import SIDES, Corpus
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.foreign_files import ScoresError, read_file
from benchmarks.lab.detector.judging.judged import Scores

_NEEDED = ("run", "window")
_NUMBERS = (*SIDES, "recoverable")
_KNOWN = (*_NEEDED, *_NUMBERS, "type", "fold")


@dataclass(frozen=True)
class Foreign:
    """What a file says, a row for a window and fold.

    Attributes:
        table: Columns as in the file; `at` is the window's number in the corpus.
        probable: The heads are meant as probabilities.
    """

    table: pd.DataFrame
    probable: bool = False

    def folds(self, folds: list[Fold]) -> Iterator[Fold]:
        """Yield the folds it is about: those it names, else all.

        Raises:
            ScoresError: It names a fold that there is not.
        """
        if "fold" not in self.table:
            yield from folds
            return
        named = set(self.table["fold"])
        unknown = sorted(named - {fold.name for fold in folds}, key=str)
        if unknown:
            names = ", ".join(fold.name for fold in folds)
            raise ScoresError(f"no fold {unknown[0]!r}; there are {names}")
        yield from (fold for fold in folds if fold.name in named)

    def scores(self, corpus: Corpus, fold: Fold, rows: np.ndarray) -> Scores:
        """Return what it says of the windows of a fold.

        Raises:
            ScoresError: A window is missing, or named twice.
        """
        table = self.table
        if "fold" in table:
            table = table[table["fold"] == fold.name]
        twice = table["at"].duplicated()
        if twice.any():
            where = _place(corpus, int(table["at"][twice].iloc[0]))
            raise ScoresError(f"{fold.name}: {where} is there twice")
        mine = table.set_index("at").reindex(rows)
        missing = mine["run"].isna().to_numpy()
        if missing.any():
            where = _place(corpus, int(rows[missing.argmax()]))
            raise ScoresError(
                f"{fold.name}: {missing.sum()} of {len(rows)} windows are missing, "
                f"the first is {where}; NaN says that one is not scored"
            )
        nothing = np.full(len(rows), np.nan)
        heads = [mine[s].to_numpy(float) if s in mine else nothing for s in SIDES]
        kinds = recoverable = None
        if "type" in mine:
            number = {name: k for k, name in enumerate(corpus.patterns)}
            named = np.array([number.get(name, -1) for name in mine["type"]])
            kinds = np.zeros((len(rows), len(corpus.patterns)))
            kinds[named < 0] = np.nan
            told = np.flatnonzero(named >= 0)
            kinds[told, named[told]] = 1
        if "recoverable" in mine:
            recoverable = mine["recoverable"].to_numpy(float)
        return Scores(np.stack(heads), kinds, recoverable, self.probable)


def read_scores(path: Path, corpus: Corpus) -> Foreign:
    """Read a file of scores and hold it against a corpus.

    Raises:
        ScoresError: The file is not of this form, of another table of features, or
            names a run, a window or a pattern that there is not; a score is infinite,
            or no probability where it is said to be one, or a share beyond 0 to 1.
    """
    if not path.is_file():
        raise ScoresError(f"{path}: no such file")
    said, table = read_file(path, _KNOWN)
    if said["fingerprint"] != corpus.fingerprint:
        raise ScoresError(
            f"{path}: made for {said['fingerprint']!r}, "
            f"the corpus is {corpus.fingerprint!r}"
        )
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise ScoresError(f"{path}: no column {missing[0]}")
    if not set(SIDES) & set(table):
        raise ScoresError(f"{path}: neither a column cpu nor a column gpu")
    table = table[[name for name in _KNOWN if name in table]].copy()
    probable = said.get("probable", "").lower() in ("yes", "true", "1")
    for name in _NUMBERS:
        if name in table:
            _check_numbers(path, table, name, probable and name in SIDES)
    if "type" in table:
        table["type"] = table["type"].fillna("")
        unknown = sorted(set(table["type"]) - {*corpus.patterns, ""}, key=str)
        if unknown:
            raise ScoresError(f"{path}: no pattern {unknown[0]!r}")
    table["at"] = _windows(path, corpus, table)
    return Foreign(table, probable)


def _check_numbers(path: Path, table: pd.DataFrame, name: str, probable: bool) -> None:
    try:
        values = table[name].to_numpy(float)
    except (TypeError, ValueError):
        raise ScoresError(f"{path}: {name} holds what is no number") from None
    wrong = np.isinf(values)
    what = "is infinite"
    if probable and not wrong.any():
        wrong, what = (values < 0) | (values > 1), "is no probability"
    if name == "recoverable" and not wrong.any():
        wrong, what = (values < 0) | (values > 1), "is no share of 0 to 1; clip it"
    if wrong.any():
        row = table.iloc[int(wrong.argmax())]
        where = f"{row['run']}, window {row['window']}"
        raise ScoresError(f"{path}: {name} of {where} {what}")


def _windows(path: Path, corpus: Corpus, table: pd.DataFrame) -> np.ndarray:
    line = {run.name: k for k, run in enumerate(corpus.runs)}
    unknown = [name for name in table["run"].unique() if name not in line]
    if unknown:
        raise ScoresError(f"{path}: no run {unknown[0]!r}")
    runs = np.array([line[name] for name in table["run"]], int)
    first = np.searchsorted(corpus.run, runs)
    count = np.searchsorted(corpus.run, runs, "right") - first
    window = _whole(path, table)
    wrong = (window < 0) | (window >= count)
    if wrong.any():
        k = int(wrong.argmax())
        name = table["run"].iloc[k]
        raise ScoresError(f"{path}: {name} has {count[k]} windows, none is {window[k]}")
    where: np.ndarray = first + window
    return where


def _whole(path: Path, table: pd.DataFrame) -> np.ndarray:
    try:
        values = table["window"].to_numpy(float)
    except (TypeError, ValueError):
        raise ScoresError(f"{path}: window holds what is no number") from None
    wrong = ~np.isfinite(values) | (values != np.floor(values))
    if wrong.any():
        k = int(wrong.argmax())
        raise ScoresError(
            f"{path}: row {k} ({table['run'].iloc[k]}): window {values[k]} is no whole "
            "number; number the windows of a run from 0"
        )
    whole: np.ndarray = values.astype(np.int64)
    return whole


def _place(corpus: Corpus, at: int) -> str:
    run = corpus.run[at]
    window = at - np.searchsorted(corpus.run, run)
    return f"{corpus.runs[run].name}, window {window}"
