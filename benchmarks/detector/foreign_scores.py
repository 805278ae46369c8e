# SPDX-License-Identifier: BSD-3-Clause
"""foreign_scores.py: reads a file of window scores that some detector wrote.

As `.npz`, arrays by name; as `.csv`, columns by name, whose first line is
`# fingerprint: ...`:

    fingerprint   of columns.json: the table of features and windows it is about
    run           name of the run
    window        index of the window in its run, from 0
    cpu, gpu      scores of the heads, higher is worse
    type          optional: name of the pattern
    recoverable   optional: share of the window that would be saved
    fold          optional: the fold whose training windows it was trained on; without,
                  a score holds in all folds (rules; what was trained elsewhere)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from compact_corpus import SIDES, Corpus
from folds import Fold
from judging.figures import Scores

_NEEDED = ("run", "window", *SIDES)
_KNOWN = (*_NEEDED, "type", "recoverable", "fold")


class ScoresError(ValueError):
    """A file of scores cannot be scored; the message says why."""


@dataclass(frozen=True)
class Foreign:
    """What a file says, a row for a window and fold.

    Attributes:
        table: Columns as in the file; `at` is the window's number in the corpus.
    """

    table: pd.DataFrame

    def folds(self, folds: list[Fold]) -> Iterator[Fold]:
        """Yield the folds it is about: those it names, else all.

        Raises:
            ScoresError: It names a fold that there is not.
        """
        if "fold" not in self.table:
            yield from folds
            return
        named = set(self.table["fold"])
        unknown = sorted(named - {fold.name for fold in folds})
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
        missing = mine["cpu"].isna().to_numpy()
        if missing.any():
            where = _place(corpus, int(rows[missing.argmax()]))
            raise ScoresError(
                f"{fold.name}: {missing.sum()} of {len(rows)} windows are missing, "
                f"the first is {where}"
            )
        heads = np.stack([mine[side].to_numpy(np.float64) for side in SIDES])
        kinds = recoverable = None
        if "type" in mine:
            kinds = np.zeros((len(rows), len(corpus.patterns)))
            number = {name: k for k, name in enumerate(corpus.patterns)}
            kinds[np.arange(len(rows)), [number[name] for name in mine["type"]]] = 1
        if "recoverable" in mine:
            recoverable = mine["recoverable"].to_numpy(np.float64)
        return Scores(heads, kinds, recoverable)


def read_scores(path: Path, corpus: Corpus) -> Foreign:
    """Read a file of scores and hold it against a corpus.

    Raises:
        ScoresError: The file is not of this form, of another table of features, or
            names a run, a window or a pattern that there is not; a score is NaN.
    """
    if not path.is_file():
        raise ScoresError(f"{path}: no such file")
    fingerprint, table = _read_npz(path) if path.suffix == ".npz" else _read_csv(path)
    if fingerprint != corpus.fingerprint:
        raise ScoresError(
            f"{path}: made for {fingerprint!r}, the corpus is {corpus.fingerprint!r}"
        )
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise ScoresError(f"{path}: no column {missing[0]}")
    table = table[[name for name in _KNOWN if name in table]].copy()
    for name in (*SIDES, "recoverable"):
        if name in table and not np.isfinite(table[name].to_numpy(np.float64)).all():
            row = int(np.argmin(np.isfinite(table[name].to_numpy(np.float64))))
            where = f"{table['run'].iloc[row]}, window {table['window'].iloc[row]}"
            raise ScoresError(f"{path}: {name} of {where} is not a number")
    if "type" in table:
        unknown = sorted(set(table["type"]) - set(corpus.patterns))
        if unknown:
            raise ScoresError(f"{path}: no pattern {unknown[0]!r}")
    table["at"] = _windows(path, corpus, table)
    return Foreign(table)


def _windows(path: Path, corpus: Corpus, table: pd.DataFrame) -> np.ndarray:
    line = {run.name: k for k, run in enumerate(corpus.runs)}
    unknown = [name for name in table["run"].unique() if name not in line]
    if unknown:
        raise ScoresError(f"{path}: no run {unknown[0]!r}")
    runs = np.array([line[name] for name in table["run"]], int)
    first = np.searchsorted(corpus.run, runs)
    count = np.searchsorted(corpus.run, runs, "right") - first
    window = table["window"].to_numpy(np.int64)
    wrong = (window < 0) | (window >= count)
    if wrong.any():
        k = int(wrong.argmax())
        name = table["run"].iloc[k]
        raise ScoresError(f"{path}: {name} has {count[k]} windows, none is {window[k]}")
    where: np.ndarray = first + window
    return where


def _read_npz(path: Path) -> tuple[str, pd.DataFrame]:
    with np.load(path) as file:
        if "fingerprint" not in file.files:
            raise ScoresError(f"{path}: no array fingerprint")
        columns = {name: file[name] for name in _KNOWN if name in file.files}
        fingerprint = str(file["fingerprint"])
    if len({len(values) for values in columns.values()}) > 1:
        raise ScoresError(f"{path}: its arrays are of different lengths")
    return fingerprint, pd.DataFrame(columns)


def _read_csv(path: Path) -> tuple[str, pd.DataFrame]:
    with path.open(encoding="utf-8") as file:
        first = file.readline()
        if not first.startswith("# fingerprint:"):
            raise ScoresError(f"{path}: its first line is not '# fingerprint: ...'")
        fingerprint = first.partition(":")[2].strip()
        try:
            table = pd.read_csv(file, dtype={"run": str, "fold": str, "type": str})
        except (ValueError, pd.errors.ParserError) as error:
            raise ScoresError(f"{path}: {error}") from None
    return fingerprint, table


def _place(corpus: Corpus, at: int) -> str:
    run = corpus.run[at]
    window = at - np.searchsorted(corpus.run, run)
    return f"{corpus.runs[run].name}, window {window}"
