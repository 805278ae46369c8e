# SPDX-License-Identifier: BSD-3-Clause
"""ablations.py CORPUS: the gain by each part of the detector and of its training.

    python -m benchmarks.lab.detector.ablations CORPUS         # prints the table
    python -m benchmarks.lab.detector.ablations CORPUS --page  # and a page

The network alone, without trees and rules beside it, is retrained for each row, on a
fold of unseen programs and, for rows about data, on one of unseen origins of real
traces. Models are kept in the corpus' folder: a stopped run resumes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.lab import pages
from benchmarks.lab.detector.baselines.task import Task
from benchmarks.lab.detector.baselines.transformer import Recipe, model_of, said_of
from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.splits import folds_of, rows_to_test
from benchmarks.lab.detector.window_labels import label_windows

#: Fewer than of the table, for there are many rows.
_STEPS = 150
FOLDS = {"S1-classification": "unseen programs", "S8": "unseen origins"}
_TIMES = ["duration", "duration_ratio", "gap", "gap_ratio", "launch_delay", "place"]
#: Whole traces speak through the worst of their windows, so a draw has more of them.
_TWINS = {"windows": 24, "draws": 3, "twins": True}
#: Where to look is what labels of windows would tell: without them, places are drawn
#: evenly.
_BLIND_TWINS = {**_TWINS, "sought": 0.0}
_BLIND_BAGS = {"windows": 24, "draws": 4, "sought": 0.0}


@dataclass(frozen=True)
class Ablation:
    """A row: what it is called, what it learns from, how it is trained."""

    name: str
    reads: str
    recipe: Recipe
    folds: tuple[str, ...] = ("S1-classification",)


def _row(name: str, reads: str = "all labels", **how: object) -> Ablation:
    recipe = Recipe(**{"steps": _STEPS, "trees": False, **how})  # type: ignore[arg-type]
    return Ablation(name, reads, recipe)


def _of_data(name: str, **how: object) -> Ablation:
    return replace(_row(name, **how), folds=tuple(FOLDS))


def _few(share: float) -> Ablation:
    losses = {"any": 1.0, "types": 10.0, "recoverable": 1.0, "bags": 0.5, "pairs": 0.5}
    name = f"and {share:.0%} of labels"
    return _row(name, "pairs, few labels", losses=losses, draws=_TWINS, known=share)


ABLATIONS: tuple[Ablation, ...] = (
    _of_data("as shipped"),
    _row("drawn evenly, not where rules err", draws={"sought": 0.0}),
    _row("without the rules' shares", config={"without": ["causes"]}),
    _row("without the tree and launches", config={"without": ["parent", "launch"]}),
    _row("without names", config={"without": ["names", "kind"]}),
    _row("without times of events", config={"without": _TIMES}),
    _row("without the windows around", config={"trace_layers": 0}),
    _row("pre-trained on hidden events", before=_STEPS),
    _of_data("simulated traces alone", sources="S"),
    _of_data("simulated and recorded ones", sources="SR"),
    _row("simulated and perturbed real ones", sources="SP"),
    _row("trace labels (MIL)", "trace labels", losses={"bags": 1.0}, draws=_BLIND_BAGS),
    _row("pairs", "pairs", losses={"pairs": 1.0}, draws=_BLIND_TWINS),
    _row("trace labels and pairs", "pairs", losses={"bags": 1.0, "pairs": 1.0},
         draws=_BLIND_TWINS),
    *(_few(share) for share in (0.01, 0.05, 0.2)),
)  # fmt: skip


def _figures(folder: Path, fold_name: str, number: int, seed: int) -> dict[str, object]:
    """Train and judge one row on one fold."""
    import torch

    torch.set_num_threads(1)
    with threadpool_limits(1):
        corpus = read_corpus(folder)
        labels = label_windows(corpus)
        fold = _fold(corpus, fold_name)
        rows = rows_to_test(corpus, fold)
        task = Task(corpus, labels, fold, rows, seed)
        row = ABLATIONS[number]
        said = said_of(task, model_of(task, row.recipe))
        scores = Scores(said["network"].T, said["types"], said["recoverable"])
        judged = judge(corpus, labels, fold, rows, scores)
    ends = {
        name: [float(v) for v in np.nanpercentile(values, (2.5, 97.5))]
        for name, values in judged.resampled.items()
        if name.endswith("_auroc") and np.isfinite(values).any()
    }
    wanted = ("cpu_auroc", "gpu_auroc", "cpu_auroc_bad", "gpu_auroc_bad",
              "kind_accuracy", "recoverable_error")  # fmt: skip
    figures = {name: judged.figures.get(name, float("nan")) for name in wanted}
    return {"fold": fold_name, "row": row.name, "seed": seed, "figures": figures,
            "ends": ends}  # fmt: skip


def _fold(corpus: Corpus, name: str) -> Fold:
    folds, _ = folds_of(corpus, label_windows(corpus))
    for fold in folds:
        if fold.name == name or fold.split == name:
            return fold
    raise CorpusError(f"the corpus has no fold {name}")


def evaluate(folder: Path, seeds: int, jobs: int) -> list[dict[str, object]]:
    """Evaluate all rows on all folds; shows progress."""
    asked = [
        (fold, number, seed)
        for seed in range(seeds)
        for number in range(len(ABLATIONS))
        for fold in ABLATIONS[number].folds
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        found = [pool.submit(_figures, folder, *one) for one in asked]
        bar = tqdm(found, desc="ablations", unit="fit")
        return [one.result() for one in bar]


def cells(results: dict[str, Any]) -> dict[str, Any]:
    """Return the table of the page."""
    lines = []
    for row in ABLATIONS:
        found = [one for one in results["found"] if one["row"] == row.name]
        of = {fold: [one for one in found if one["fold"] == fold] for fold in FOLDS}
        line = [_cell(mine, f"{side}_auroc") for mine in of.values() for side in SIDES]
        mine = of[next(iter(FOLDS))]
        line += [_cell(mine, name) for name in ("kind_accuracy", "recoverable_error")]
        lines.append([row.name, row.reads, *line])
    head = ["row", "learns from"]
    head += [f"{what}, {side}" for what in FOLDS.values() for side in ("CPU", "GPU")]
    head += ["pattern named right", "error of recoverable"]
    return {"head": head, "lines": lines, "steps": _STEPS}


def _cell(found: list[dict[str, dict[str, float]]], name: str) -> str:
    values = [one["figures"][name] for one in found]
    if not values or not np.isfinite(values).any():
        return "-"
    text = f"{np.nanmean(values):.3f}"
    ends = [one["ends"][name] for one in found if name in one["ends"]]  # type: ignore[index]
    if ends:
        low, high = np.mean(ends, axis=0)
        text += f" ({low:.2f}-{high:.2f})"
    return text


def main() -> int:
    """Evaluate as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--page", action="store_true", help="write the page")
    options = parser.parse_args()
    machine = pages.machine()
    try:
        corpus = read_corpus(options.corpus)
        found = evaluate(options.corpus, options.seeds, options.jobs)
    except CorpusError as error:
        print(f"ablations.py: {error}", file=sys.stderr)
        return 2
    results: dict[str, Any] = {
        "machine": machine, "corpus": corpus.digest, "seeds": options.seeds,
        "rows": [asdict(row) for row in ABLATIONS], "found": found,
    }  # fmt: skip
    if options.page:
        print(pages.write("detector_ablations", results))
    else:
        print(pages.render(pages.page("detector_ablations"), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
