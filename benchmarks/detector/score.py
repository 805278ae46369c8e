# SPDX-License-Identifier: BSD-3-Clause
"""score.py: scores what another detector says of the windows of a corpus.

    python benchmarks/detector/score.py CORPUS --write-folds folds.npz
    python benchmarks/detector/score.py CORPUS SCORES.npz

The first writes what may be trained on, an array for each fold and N windows in the
order of windows.npz: `FOLD/train`, int8 [2, N], labels of the heads of the CPU and the
GPU (-1: not to be used), and `FOLD/trained` and `FOLD/tested`, bool [N]. The second
reads scores (foreign_scores.py says of what form) and prints a row for each split, with
its margin over baselines that evaluate.py has evaluated.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from compact_corpus import SIDES, Corpus, CorpusError, read_corpus
from folds import Fold
from foreign_scores import ScoresError, read_scores
from judging.figures import judge
from results_kept import Result, folder_of, load
from splits import SPLITS, folds_of, rows_to_test
from summary import Row, difference, summarize
from table_text import detail_table, main_table, table
from window_labels import label_windows

_AGAINST = ("rules, windows of 128", "LightGBM", "rules + LightGBM")


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
        name, results = options.name or options.scores.stem, []
        for fold in foreign.folds(folds):
            rows = rows_to_test(corpus, fold)
            said = foreign.scores(corpus, fold, rows)
            judged = judge(corpus, labels, fold, rows, said)
            results.append(Result(fold.split, fold.item, name, 0, judged))
    except (CorpusError, ScoresError) as error:
        print(f"score.py: {error}", file=sys.stderr)
        return 2
    mine = summarize(results)
    print(main_table(mine), end="\n\n")
    for split in sorted({split for split, _ in mine}):
        print(detail_table(mine, split), end="\n\n")
    print(_margins(corpus, mine, name))
    return 0


def write_folds(path: Path, folds: list[Fold]) -> None:
    """Write what may be trained on."""
    arrays = {}
    for fold in folds:
        arrays[f"{fold.name}/train"] = fold.train.astype(np.int8)
        arrays[f"{fold.name}/trained"] = fold.trained
        arrays[f"{fold.name}/tested"] = (fold.test >= 0).any(axis=0)
    np.savez_compressed(path, **arrays)


def _margins(corpus: Corpus, mine: dict[tuple[str, str], Row], name: str) -> str:
    """Return by how much it is above baselines that were evaluated in full."""
    kept = folder_of(corpus, quick=False)
    theirs = summarize(load(path) for path in sorted(kept.glob("*.npz")))
    lines = []
    for split, _ in mine:
        for other in _AGAINST:
            row = theirs.get((split, other))
            for head in SIDES:
                if row is None:
                    continue
                by = difference(mine[split, name], row, f"{head}_auroc")
                if np.isfinite(by.value):
                    ends = f"{by.low:+.3f} to {by.high:+.3f}"
                    lines.append([split, head, other, f"{by.value:+.3f}", ends])
    if not lines:
        return "No baseline was evaluated yet: run evaluate.py for margins."
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
