# SPDX-License-Identifier: BSD-3-Clause
"""evaluate.py: rules, trees, network and the whole detector on held-out splits.

    python -m benchmarks.lab.detector.evaluate CORPUS                   # hours
    python -m benchmarks.lab.detector.evaluate CORPUS --splits S1 S8
    python -m benchmarks.lab.detector.evaluate CORPUS --quick           # tiny networks

Trains the detector on each fold of each split (splits.py) and prints areas under the
ROC curve on what the fold held out: the mean over sources, then over folds, with an
interval of 90 % over draws of whole groups. *busy fraction* is the plainest ranking: by
how idle the device is for the CPU's side, and how busy for the GPU's. It reads the
compact form of a corpus with tokens. Models are kept in the corpus' folder, so that a
run that was stopped goes on. S7, gold, is read only if it is named: a second look at it
begins to tune on it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.lab.detector.areas import (
    draw_groups,
    mean,
    source_areas,
    with_interval,
)
from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.fold_models import model_of, to_test
from benchmarks.lab.detector.folds import Fold, Skipped
from benchmarks.lab.detector.splits import SPLITS, folds_of
from benchmarks.lab.detector.voices import COLUMNS, told
from benchmarks.lab.detector.window_labels import Labels, label_windows
from benchmarks.lab.pages import table
from torchtraceap.base.errors import TrainingError

PLAIN = "busy fraction"
VOICES = (PLAIN, *COLUMNS)
GOLD = "S7"


@dataclass(frozen=True)
class Result:
    """What a fold gave.

    Attributes:
        split: Key of SPLITS.
        item: What was held out.
        areas: float [1 + DRAWS] by voice and side: the mean over sources.
        skipped: Why there are none, or "".
    """

    split: str
    item: str
    areas: dict[tuple[str, int], np.ndarray]
    skipped: str = ""


@dataclass(frozen=True)
class Known:
    """A corpus, its labels and folds, and how often draws of groups have its windows.

    The draws are of all groups, so that folds that test the same group draw it alike.
    """

    corpus: Corpus
    labels: Labels
    folds: list[Fold]
    skipped: list[Skipped]
    weights: np.ndarray


@lru_cache(1)
def read(folder: Path) -> Known:
    """Read a corpus, once a process.

    Raises:
        CorpusError: There is none.
    """
    corpus = read_corpus(folder)
    labels = label_windows(corpus)
    weights = draw_groups(corpus.of_windows("group"))
    return Known(corpus, labels, *folds_of(corpus, labels), weights)


def judge(known: Known, fold: Fold, seed: int, quick: bool) -> Result:
    """Train on a fold, and judge every voice on what it holds out."""
    corpus = known.corpus
    try:
        model = model_of(corpus, known.labels, fold, seed, quick)
    except TrainingError as error:
        return Result(fold.split, fold.item, {}, str(error))
    traces = list(to_test(corpus, fold))
    said = told(model, traces)
    names = [trace.name for trace in traces]
    rows = np.flatnonzero(np.isin(corpus.of_windows("name"), names))
    busy = np.nan_to_num(corpus.busy[rows], nan=0.5)
    said[PLAIN] = np.stack([-busy, busy], axis=1)
    source, weights = corpus.of_windows("source")[rows], known.weights[:, rows]
    found = {}
    for side in range(len(SIDES)):
        for voice in VOICES:
            label = fold.test[side, rows]
            each = source_areas(said[voice][:, side], label, source, weights)
            if each:
                found[voice, side] = mean(list(each.values()))
    return Result(fold.split, fold.item, found)


def _judged(folder: Path, number: int, seed: int, quick: bool) -> Result:
    """Judge a fold, in a process of its own."""
    import torch

    torch.set_num_threads(1)
    known = read(folder)
    return judge(known, known.folds[number], seed, quick)


def evaluate(
    folder: Path, splits: Sequence[str], seed: int, quick: bool, jobs: int
) -> tuple[list[Result], list[Skipped]]:
    """Judge the folds of some splits; shows progress.

    Raises:
        CorpusError: There is no corpus, or none with tokens.
    """
    known = read(folder)
    folder = known.corpus.folder
    if not (folder / "tokens").is_dir():
        raise CorpusError(f"{folder} has no tokens: make it with --tokens")
    numbers = [n for n, fold in enumerate(known.folds) if fold.split in splits]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        asked = [pool.submit(_judged, folder, n, seed, quick) for n in numbers]
        bar = track(
            as_completed(asked), "evaluating", len(asked), console=Console(stderr=True)
        )
        results = [one.result() for one in bar]
    results.sort(key=lambda result: (result.split, result.item))
    return results, [one for one in known.skipped if one.split in splits]


def area_table(results: Sequence[Result]) -> str:
    """Return the areas of each voice in each split, with intervals."""
    rows = []
    for split, side in _places(results):
        found = [r.areas for r in results if r.split == split]
        cells = []
        for voice in VOICES:
            parts = [areas[voice, side] for areas in found if (voice, side) in areas]
            cells.append(with_interval(mean(parts)) if parts else "-")
        # A fold with one voice has all, so that the difference is of the same folds.
        by = [
            areas["product", side] - areas["rules", side]
            for areas in found
            if ("rules", side) in areas
        ]
        name = f"{split} {SPLITS[split]}, {SIDES[side].upper()}"
        rows.append([name, *cells, with_interval(mean(by), "+.3f")])
    return table(["held out", *VOICES, "product - rules"], rows)


def _places(results: Sequence[Result]) -> list[tuple[str, int]]:
    """Return the splits and sides that have figures."""
    there = {(r.split, side) for r in results for _, side in r.areas}
    return sorted(there)


def main(arguments: list[str] | None = None) -> int:
    """Evaluate as the command line says; return what the program exits with."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("corpus", type=Path, help="folder of a corpus")
    add("--quick", action="store_true", help="tiny networks: to see that all works")
    add("--seed", type=int, default=0)
    add("--jobs", type=int, default=2, help="processes (default: 2)")
    usual = [split for split in SPLITS if split != GOLD]
    add("--splits", nargs="+", default=usual, choices=SPLITS, help="all but S7")
    given = parser.parse_args(arguments)
    try:
        results, skipped = evaluate(
            given.corpus, given.splits, given.seed, given.quick, given.jobs
        )
    except CorpusError as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    print(area_table(results))
    for one in skipped:
        print(f"left out: {one.split} {one.item}: {one.reason}")
    for result in results:
        if result.skipped:
            print(f"left out: {result.split} {result.item}: {result.skipped}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
