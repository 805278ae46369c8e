# SPDX-License-Identifier: BSD-3-Clause
"""model_card.py CORPUS: the shipped weights, and their scores on unseen data.

    python -m benchmarks.lab.detector.model_card CORPUS         # prints it
    python -m benchmarks.lab.detector.model_card CORPUS --page  # writes the page

The bundled file itself is asked about origins of real traces that are held out (S8)
and, with --open-gold, about gold (S7). How its recipe does on the other splits, where
it has to be trained again, is in results/benchmark.md.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score

from benchmarks.lab import pages
from benchmarks.lab.detector.baselines.transformer import said_of_runs
from benchmarks.lab.detector.compact_corpus import (
    SIDES,
    Corpus,
    CorpusError,
    read_corpus,
)
from benchmarks.lab.detector.folds import Fold
from benchmarks.lab.detector.judging.figures import judge
from benchmarks.lab.detector.judging.judged import Scores
from benchmarks.lab.detector.splits import folds_of
from benchmarks.lab.detector.window_labels import UNSCORED, Labels, label_windows
from torchtraceap.detection.detecting import thresholds_of
from torchtraceap.detection.detection import FALSE_ALARMS
from torchtraceap_train.stacked import CALIBRATED, divide
from torchtraceap_train.traces import read_set

#: Rows of the table: an output, and its name in words.
VOICES = {
    "rules": "rules", "trees": "trees", "network": "network", "probability": "stack",
}  # fmt: skip
#: Figures of a head, and their column heads.
_FIGURES = {
    "auroc": "AUROC", "auroc_idle": "busy < 0.5", "auroc_mid": "0.5-0.9",
    "auroc_busy": "> 0.9", "auroc_trace": "within a trace", "err": "where rules err",
    "precision": "precision at recall 0.6", "ece": "ECE",
}  # fmt: skip
#: Of the groups that calibration had.
_KEPT = "Kept"
_WHOSE = {
    "S7": "gold",
    "S8": "origins of real traces that are held out",
    _KEPT: "programs and origins that training left out; trees and network never saw "
    "them, the stack's few weights and its thresholds are of them",
}
#: Windows that rules see this much in are theirs.
_RULES_SAY = 0.05


def measure(corpus: Corpus, weights: Path, gold: bool) -> dict[str, Any]:
    """Return all figures of a file of weights."""
    from torchtraceap.base.torch_module import load_torch_module

    model = load_torch_module().Model.load(str(weights))
    labels = label_windows(corpus)
    folds, _ = folds_of(corpus, labels)
    wanted = ("S7", "S8") if gold else ("S8",)
    asked = [fold for fold in folds if fold.split in wanted]
    asked.append(_kept_fold(corpus, labels, int(model.card["seed"])))
    found = {fold.split: _fold(corpus, labels, fold, model) for fold in asked}
    return {
        "machine": pages.machine(),
        "corpus": corpus.digest,
        "card": dict(model.card),
        "bytes": weights.stat().st_size,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "parameters": model.network.parameters,
        "thresholds": thresholds_of(model),
        "splits": found,
    }


def _kept_fold(corpus: Corpus, labels: Labels, seed: int) -> Fold:
    """Return the groups that training kept for calibration, as a fold to test."""
    _, kept = divide(read_set(corpus.folder), CALIBRATED, seed)
    lines = np.isin(corpus.of_runs("name"), [trace.name for trace in kept])
    here = lines[corpus.run]
    test = np.where(here, labels.heads, UNSCORED)
    return Fold(_KEPT, "", ~here, np.full_like(test, UNSCORED), test)


def _fold(corpus: Corpus, labels: Labels, fold: Fold, model: Any) -> dict[str, Any]:
    rows = np.flatnonzero((fold.test >= 0).any(axis=0))
    runs = np.unique(corpus.run[rows])
    said = said_of_runs(model, corpus, runs)
    at = said.pop("at")
    where = np.searchsorted(at, rows)
    claimed = np.nan_to_num(corpus.rules)
    by_side = [claimed[:, corpus.sides == s].sum(axis=1) for s in range(len(SIDES))]
    rules = np.stack(by_side, axis=1).clip(0, 1)
    told = {name: said[name][where] for name in ("trees", "network", "probability")}
    told["rules"] = rules[rows]
    strange = said["strangeness"] > model.window_from
    of_run = [said["strangeness"][corpus.run[at] == run] for run in runs]
    whole = np.array([np.median(some) for some in of_run]) > model.trace_from
    silent = strange | whole[np.searchsorted(runs, corpus.run[at])]
    out: dict[str, Any] = {
        "windows": len(rows),
        "traces": len(runs),
        "abstained_windows": float(silent.mean()),
        "abstained_traces": float(whole.mean()),
        "voices": {},
        "flagged": {},
    }
    for name in VOICES:
        kinds = claimed[rows] if name == "rules" else said["types"][where]
        own = corpus.rules[rows].clip(0, 1)
        share = np.nan_to_num(own).sum(axis=1).clip(0, 1)
        recoverable = share if name == "rules" else said["recoverable"][where]
        heads = told[name].T.astype(float)
        scores = Scores(heads, kinds, recoverable, name != "rules")
        figures = judge(corpus, labels, fold, rows, scores).figures
        for side, head in enumerate(SIDES):
            truth = fold.test[side, rows]
            figures |= _further(head, truth, heads[side], rules[rows, side])
        out["voices"][name] = {k: float(v) for k, v in figures.items()}
    for side, head in enumerate(SIDES):
        truth = np.where(silent[where], UNSCORED, fold.test[side, rows])
        flagged = told["probability"][:, side] > thresholds_of(model)[side]
        for name, label in (("with", 1), ("without", 0)):
            asked = truth == label
            if asked.any():
                share = float(flagged[asked].mean())
                out["flagged"][f"{head}_{name}"] = [share, int(asked.sum())]
    return out


def _further(
    head: str, truth: np.ndarray, said: np.ndarray, rules: np.ndarray
) -> dict[str, float]:
    """Return the area where rules are wrong, and the precision at a recall of 0.6."""
    out = {}
    asked = truth >= 0
    wrong = asked & ((rules >= _RULES_SAY) != (truth == 1))
    if len(np.unique(truth[wrong])) == 2:
        out[f"{head}_err"] = float(roc_auc_score(truth[wrong], said[wrong]))
    if len(np.unique(truth[asked])) == 2:
        precision, recall, _ = precision_recall_curve(truth[asked], said[asked])
        out[f"{head}_precision"] = float(precision[recall >= 0.6].max())
    return out


def words(_: dict[str, Any]) -> dict[str, Any]:
    """Return what the page names things by."""

    def speaks(found: dict[str, Any], head: str) -> list[str]:
        """Return the voices that have a figure of a head."""
        keys = [f"{head}_{key}" for key in _FIGURES]
        said = {
            v: [of[key] for key in keys if key in of]
            for v, of in found["voices"].items()
        }
        return [voice for voice, values in said.items() if np.isfinite(values).any()]

    return {
        "voices": VOICES,
        "figures": _FIGURES,
        "whose": _WHOSE,
        "speaks": speaks,
        "false_alarms": FALSE_ALARMS,
    }


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of a corpus")
    parser.add_argument("--weights", type=Path, help="default: those that are bundled")
    parser.add_argument("--open-gold", action="store_true", help="S7 too")
    parser.add_argument("--page", action="store_true", help="write the page")
    options = parser.parse_args()
    from torchtraceap.detection import BUNDLED

    try:
        corpus = read_corpus(options.corpus)
        if options.open_gold:
            from benchmarks.lab.detector.gold_ledger import open_gold

            open_gold(corpus)
        results = measure(corpus, options.weights or BUNDLED, options.open_gold)
    except CorpusError as error:
        print(f"model_card.py: {error}", file=sys.stderr)
        return 2
    if options.page:
        print(pages.write("model_card", results))
    else:
        print(pages.render(pages.page("model_card"), results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
