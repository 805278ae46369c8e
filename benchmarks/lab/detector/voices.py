# SPDX-License-Identifier: BSD-3-Clause
"""voices.py: ranks windows of labeled sets by rules, by the detector and its parts.

    python -m benchmarks.lab.detector.blame_set build/blame --count 300 --seed 7
    python -m benchmarks.lab.detector.voices build/blame [--weights FILE]

Prints areas under the ROC curve by source and side: of the largest saving that rules
claim; of the voices alone; of the product's probability, which is that of the rules
where it abstains; and an interval of product - rules over draws of whole groups. Rules
select the negatives of source P (window_labels.py), where they look too good.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.lab.detector.compact_corpus import SIDES
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED, LOSS
from torchtraceap_train.mixing import gain_interval
from torchtraceap_train.remix import traces_of
from torchtraceap_train.stacked import claimed, rules_logits
from torchtraceap_train.traces import LearningTrace

COLUMNS = ("rules", "network", "trees", "product")
_DRAWS = 300
#: Fewer windows of a kind are not shown.
_LEAST = 10


def told(model: object, traces: list[LearningTrace]) -> dict[str, np.ndarray]:
    """Return the scores of each of COLUMNS for all windows: [n, 2]."""
    module = load_torch_module()
    parts: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
    for trace in traces:
        said = model.say(trace.arrays, claimed=claimed(trace))  # type: ignore[attr-defined]
        alone = 1 / (1 + np.exp(module.rules_logit(LOSS) - rules_logits(trace)))
        away = said["strangeness"]
        follows = away > model.window_from  # type: ignore[attr-defined]
        if np.median(away) > model.trace_from:  # type: ignore[attr-defined]
            follows[:] = True
        parts["rules"].append(alone)
        parts["network"].append(said["network"])
        parts["trees"].append(said["trees"])
        parts["product"].append(np.where(follows[:, None], alone, said["probability"]))
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("sets", nargs="+", type=Path)
    options.add_argument("--weights", default=str(BUNDLED))
    given = options.parse_args()
    model = load_torch_module().Model.load(given.weights)
    print(f"| side, source | with, without | {' | '.join(COLUMNS)} | product - rules |")
    print("|---" * (3 + len(COLUMNS)) + "|")
    for folder in given.sets:
        traces = traces_of(folder)
        by = told(model, traces)
        any_ = np.concatenate([trace.any for trace in traces])
        sizes = [len(trace) for trace in traces]
        sources = np.repeat([trace.source for trace in traces], sizes)
        groups = np.repeat([trace.group for trace in traces], sizes)
        for side, name in enumerate(SIDES):
            for source in np.unique(sources):
                at = np.flatnonzero((sources == source) & (any_[:, side] >= 0))
                truth = any_[at, side]
                with_, without = int(truth.sum()), int((truth == 0).sum())
                if min(with_, without) < _LEAST:
                    continue
                of = {column: by[column][at, side] for column in COLUMNS}
                areas = [roc_auc_score(truth, of[column]) for column in COLUMNS]
                low, high = gain_interval(
                    truth, of["rules"], of["product"], groups[at], _DRAWS, seed=1
                )
                print(
                    f"| {name.upper()}, {source} | {with_:,}, {without:,} | "
                    + " | ".join(f"{area:.3f}" for area in areas)
                    + f" | {low:+.3f} to {high:+.3f} |"
                )


if __name__ == "__main__":
    main()
