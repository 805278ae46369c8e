#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""choose.py CORPUS: chooses the windows of a corpus to classify.

    python -m benchmarks.lab.explain.choose CORPUS     # writes corpus_windows.jsonl

Only of runs that neither the network nor the trees of the bundled detector learned
from: the groups that its training kept for calibration, and origins of real traces
that are held out. In these, the windows that rules or the detector flag and whose
pattern is known; at most MOST of each pattern, as evenly as possible over its groups.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks.lab.detector.baselines.transformer import said_of_runs
from benchmarks.lab.detector.compact_corpus import Corpus, CorpusError, read_corpus
from benchmarks.lab.detector.window_labels import POSITIVE, label_windows
from benchmarks.lab.explain.asked_windows import CORPUS, NONE, Asked, write
from torchtraceap.base.torch_module import load_torch_module
from torchtraceap.detection import BUNDLED
from torchtraceap.detection.detecting import thresholds_of
from torchtraceap_train.stacked import CALIBRATED, divide
from torchtraceap_train.traces import read_set

#: Of a pattern.
MOST = 10
#: Of windows without any.
MOST_WITHOUT = 20
_SEED = 22


def choose(corpus: Corpus) -> list[Asked]:
    """Return the windows, by pattern; of the same corpus and weights the same."""
    labels = label_windows(corpus)
    model = load_torch_module().Model.load(str(BUNDLED))
    lines = unseen_runs(corpus, int(model.card["seed"]))
    said = said_of_runs(model, corpus, lines)
    at = said["at"]
    by_detector = flagged(model, said, corpus.run[at], corpus.device[at])
    by_rules = np.nan_to_num(corpus.rules[at]).max(axis=1) >= POSITIVE
    without = (labels.heads[:, at] == 0).all(axis=0)
    kind = np.where(without, len(corpus.patterns), labels.kind[at])
    group = corpus.of_windows("group")[at]
    random = np.random.default_rng(_SEED)
    names = (*corpus.patterns, NONE)
    begin = np.searchsorted(corpus.run, corpus.run[at])
    windows = np.load(corpus.folder / "windows.npz")["begin_ns"]
    out: list[Asked] = []
    for number, name in enumerate(names):
        rows = np.flatnonzero((by_detector | by_rules) & (kind == number))
        most = MOST_WITHOUT if name == NONE else MOST
        for row in np.sort(
            spread(rows, group[rows], corpus.run[at][rows], most, random)
        ):
            run = corpus.runs[corpus.run[at[row]]]
            who = (by_rules[row] and "rules", by_detector[row] and "detector")
            right = labels.right[at[row]]
            out.append(
                Asked(
                    trace=run.name,
                    window=int(at[row] - begin[row]),
                    begin_ns=int(windows[at[row]]),
                    group=run.group,
                    source=run.source,
                    flagged=", ".join(name for name in who if name),
                    truth=name,
                    right=(NONE,)
                    if name == NONE
                    else tuple(np.array(corpus.patterns)[right].tolist()),
                )
            )
    return out


def unseen_runs(corpus: Corpus, seed: int) -> np.ndarray:
    """Return the lines of runs that network and trees of the weights never saw."""
    _, kept = divide(read_set(corpus.folder), CALIBRATED, seed)
    names = [trace.name for trace in kept]
    held = (corpus.of_runs("source") == "P") & corpus.of_runs("held_out")
    return np.flatnonzero(np.isin(corpus.of_runs("name"), names) | held)


def flagged(
    model: object, said: dict[str, np.ndarray], run: np.ndarray, device: np.ndarray
) -> np.ndarray:
    """Return bool [n]: what the detector flags on any side, as `analyze` would."""
    strange = said["strangeness"]
    abstains = strange > model.window_from  # type: ignore[attr-defined]
    for one in np.unique(run):
        if np.median(strange[run == one]) > model.trace_from:  # type: ignore[attr-defined]
            abstains[run == one] = True
    told = said["probability"].copy()
    told[abstains] = np.nan
    told[device < 0, 1] = np.nan
    out: np.ndarray = (told > np.array(thresholds_of(model))).any(axis=1)
    return out


def spread(
    rows: np.ndarray,
    group: np.ndarray,
    run: np.ndarray,
    most: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Return at most `most` rows: groups in turn, in each of them its runs in turn."""
    order = random.permutation(len(rows))
    in_run, in_group = np.zeros(len(rows), int), np.zeros(len(rows), int)
    for one in np.unique(run):
        mine = order[run[order] == one]
        in_run[mine] = np.arange(len(mine))
    for one in np.unique(group):
        mine = order[group[order] == one]
        mine = mine[np.argsort(in_run[mine], kind="stable")]
        in_group[mine] = np.arange(len(mine))
    chosen: np.ndarray = rows[order[np.argsort(in_group[order], kind="stable")][:most]]
    return chosen


def main() -> int:
    """Write the windows of the corpus that the command line names."""
    if len(sys.argv) != 2:
        print("usage: choose.py CORPUS", file=sys.stderr)
        return 2
    try:
        windows = choose(read_corpus(Path(sys.argv[1])))
    except CorpusError as error:
        print(f"choose.py: {error}", file=sys.stderr)
        return 2
    write(CORPUS, windows)
    print(f"{len(windows)} windows of {len({w.trace for w in windows})} runs, {CORPUS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
