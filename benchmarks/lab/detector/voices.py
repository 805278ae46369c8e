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
from typing import Any

import numpy as np

from benchmarks.lab.detector.areas import draw_groups, source_areas, with_interval
from benchmarks.lab.detector.compact_corpus import SIDES
from benchmarks.lab.pages import table
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED, LOSS
from torchtraceap_train.remix import traces_of
from torchtraceap_train.stacked import claimed, rules_logits
from torchtraceap_train.traces import LearningTrace

COLUMNS = ("rules", "network", "trees", "product")


def told(model: Any, traces: list[LearningTrace]) -> dict[str, np.ndarray]:
    """Return the scores of each of COLUMNS for all windows: [n, 2]."""
    module = load_torch_module()
    parts: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
    for trace in traces:
        said = model.say(trace.arrays, claimed=claimed(trace))
        alone = 1 / (1 + np.exp(module.rules_logit(LOSS) - rules_logits(trace)))
        away = said["strangeness"]
        follows = away > model.window_from
        if np.median(away) > model.trace_from:
            follows[:] = True
        parts["rules"].append(alone)
        parts["network"].append(said["network"])
        parts["trees"].append(said["trees"])
        parts["product"].append(np.where(follows[:, None], alone, said["probability"]))
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def rows_of(model: Any, traces: list[LearningTrace]) -> list[list[str]]:
    """Return a row of the table for each side and source."""
    by = told(model, traces)
    any_ = np.concatenate([trace.any for trace in traces])
    sizes = [len(trace) for trace in traces]
    source = np.repeat([trace.source for trace in traces], sizes)
    weights = draw_groups(np.repeat([trace.group for trace in traces], sizes))
    rows = []
    for side, name in enumerate(SIDES):
        label = any_[:, side]
        of = {
            column: source_areas(by[column][:, side], label, source, weights)
            for column in COLUMNS
        }
        for where in of["rules"]:
            here = label[source == where]
            areas = [of[column][where] for column in COLUMNS]
            difference = with_interval(areas[-1] - areas[0], "+.3f")
            rows.append(
                [
                    f"{name.upper()}, {where}",
                    f"{(here == 1).sum():,}, {(here == 0).sum():,}",
                    *(f"{area[0]:.3f}" for area in areas),
                    difference,
                ]
            )
    return rows


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("sets", nargs="+", type=Path)
    options.add_argument("--weights", default=str(BUNDLED))
    given = options.parse_args()
    model = load_torch_module().Model.load(given.weights)
    rows = [row for folder in given.sets for row in rows_of(model, traces_of(folder))]
    print(table(["side, source", "with, without", *COLUMNS, "product - rules"], rows))


if __name__ == "__main__":
    main()
