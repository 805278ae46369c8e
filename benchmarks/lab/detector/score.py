# SPDX-License-Identifier: BSD-3-Clause
"""score.py: scores what another detector says of the windows of a corpus.

    python -m benchmarks.lab.detector.score CORPUS --write-folds folds.npz
    python -m benchmarks.lab.detector.score CORPUS SCORES.npz

The first writes what may be trained on, an array for each fold and N windows in the
order of windows.npz: `FOLD/train`, int8 [2, N], labels of the heads of the CPU and the
GPU (-1: not to be used), and `FOLD/trained` and `FOLD/tested`, bool [N]. The second
reads scores (foreign_scores.py says of what form) and prints the corpus' digest, a row
for each split, how many windows have a score where some have none, and margins over
baselines that evaluate.py has evaluated, on the folds that the file is about.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.foreign_files import ScoresError
from benchmarks.lab.detector.foreign_scores import read_scores
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.results_kept import Result, folder_of, load
from benchmarks.lab.detector.splits import SPLITS, folds_of, rows_to_test
from benchmarks.lab.detector.summary import difference, summarize
from benchmarks.lab.detector.table_text import Rows, detail_table, main_table
from benchmarks.lab.detector.window_labels import label_windows
from benchmarks.lab.pages import table

_AGAINST = ("rules, windows of 128", "LightGBM without causes", "LightGBM",
            "rules + LightGBM")  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Score as the command line says; return what the program exits with."""
    options = _parse(arguments)
    try:
        corpus = read_corpus(options.corpus)
        labels = label_windows(corpus)
        folds = [f for f in folds_of(corpus, labels)[0] if f.split != "S7"]
        if options.splits:
            folds = [f for f in folds if f.split in options.splits]
        if options.write_folds:
            write_folds(options.write_folds, folds)
            print(f"{len(folds)} folds: {', '.join(f.name for f in folds)}")
            return 0
        if options.scores is None:
            raise ScoresError("no file of scores given")
        foreign = read_scores(options.scores, corpus)
        name, results, shares = options.name or options.scores.stem, [], []
        for fold in foreign.folds(folds):
            rows = rows_to_test(corpus, fold)
            said = foreign.scores(corpus, fold, rows)
            shares += _scored(fold, rows, said)
            judged = judge(corpus, labels, fold, rows, said)
            results.append(Result(fold.split, fold.item, name, 0, judged))
        if not any(one.scored for one in shares):
            raise ScoresError(
                f"{options.scores}: no window that is tested has a score; write "
                "numbers as cpu or gpu, NaN only where the detector does not say"
            )
    except (CorpusError, ScoresError) as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    mine = summarize(results)
    print(f"corpus {corpus.digest}, features {corpus.fingerprint}\n")
    print(main_table(mine), end="\n\n")
    for split in sorted({split for split, _ in mine}):
        print(detail_table(mine, split), end="\n\n")
    speak = {one.head for one in shares if one.scored}
    left = [one for one in shares if one.head in speak and one.scored < one.tested]
    if left:
        head = ("fold", "head", "windows tested", "scored")
        lines = [
            [one.fold, one.head, str(one.tested), f"{one.scored / one.tested:.1%}"]
            for one in left
        ]
        print(table(head, lines), end="\n\n")
    print(_margins(corpus, mine, name, {(one.split, one.head) for one in left}))
    return 0


class _Share(NamedTuple):
    """How many of a fold's windows have a score."""

    split: str
    fold: str
    head: str
    tested: int
    scored: int


def _scored(fold: Fold, rows: np.ndarray, said: Scores) -> list[_Share]:
    """Return the share of each head that the fold tests, also where none has one."""
    shares = []
    for side, head in enumerate(SIDES):
        asked = fold.test[side, rows] >= 0
        known = asked & np.isfinite(said.heads[side])
        if asked.any():
            counts = int(asked.sum()), int(known.sum())
            shares.append(_Share(fold.split, fold.name, head, *counts))
    return shares


def write_folds(path: Path, folds: list[Fold]) -> None:
    """Write what may be trained on."""
    arrays = {}
    for fold in folds:
        arrays[f"{fold.name}/train"] = fold.train.astype(np.int8)
        arrays[f"{fold.name}/trained"] = fold.trained
        arrays[f"{fold.name}/tested"] = (fold.test >= 0).any(axis=0)
    np.savez_compressed(path, **arrays)


def _margins(
    corpus: Corpus, mine: Rows, name: str, partly: set[tuple[str, str]]
) -> str:
    """Return by how much it is above baselines that were evaluated in full.

    Folds that both have are compared, and no split and head where it left windows out.
    """
    kept = folder_of(corpus, quick=False)
    theirs = summarize(load(path) for path in sorted(kept.glob("*.npz")))
    lines = []
    for split, _ in mine:
        for other, head in itertools.product(_AGAINST, SIDES):
            row = theirs.get((split, other))
            if row is None or (split, head) in partly:
                continue
            by = difference(mine[split, name], row, f"{head}_auroc")
            if np.isfinite(by.value):
                ends = (
                    f"{by.low:+.3f} to {by.high:+.3f}" if np.isfinite(by.low) else "-"
                )
                lines.append([split, head, other, f"{by.value:+.3f}", ends])
    if not theirs:
        return "No baseline was evaluated yet: run evaluate.py for margins."
    if not lines:
        return "No margins: no fold whose windows are all scored by both."
    return table(("split", "head", "against", "AUROC", "95 %"), lines)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument("scores", type=Path, nargs="?", help=".npz or .csv")
    parser.add_argument("--write-folds", type=Path, metavar="NPZ")
    parser.add_argument("--splits", nargs="+", default=[], choices=SPLITS)
    parser.add_argument("--name", default="", help="how the row is called")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
