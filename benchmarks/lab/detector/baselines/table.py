# SPDX-License-Identifier: BSD-3-Clause
"""baselines/table.py: every row of the table, in its order."""

from __future__ import annotations

from functools import partial

from benchmarks.lab.detector.baselines import (
    bags,
    networks,
    outliers,
    peers,
    plain,
    tabular,
    transformer,
    trees,
)
from benchmarks.lab.detector.baselines.task import Baseline, NotHere, Task
from benchmarks.lab.detector.judging.judged import Scores

NOTHING = "nothing"
GOOD = "good traces"
TRACES = "trace labels"
WINDOWS = "window labels"
BARE = "LightGBM without causes"
NETWORK, STACK = "transformer", "rules + trees + transformer"
TOGETHER = "mean of LightGBM, CatBoost, RealMLP"
_TREES = f"at most {trees.MOST:,} windows"
_BAGS = (
    f"a network of two layers on statistics of windows, at most {bags.MOST_TRACES} "
    "traces; on the detector's encoder: results/detector_ablations.md"
)
_STEPS = (
    f"{transformer.STEPS} steps of 96 windows with a dropout of 0.1, on four of five "
    "groups: what is shipped learns 900, with 0.2"
)


def _not_yet(task: Task, why: str) -> Scores:
    raise NotHere(why)


BASELINES: tuple[Baseline, ...] = (
    Baseline("source only", WINDOWS, plain.source_only,
             note="what naming the source is worth"),
    *(
        Baseline(name, WINDOWS, partial(plain.one_column, names=columns),
                 note=f"the better of {' and '.join(f'`{c}`' for c in columns)}, and "
                 "which way up, chosen on at most 10,000 windows"
                 if len(columns) > 1 else
                 "which way up is chosen on at most 10,000 windows")
        for name, columns in plain.IDLE.items()
    ),
    Baseline("rules, windows of 512", NOTHING, plain.own_rules_coarse),
    Baseline("rules, windows of 128", NOTHING, plain.own_rules),
    Baseline("best feature", WINDOWS, plain.one_column,
             note="chosen on at most 10,000 windows"),
    Baseline("tree of depth 2", WINDOWS, plain.small_tree,
             note="at most 10,000 windows"),
    *(
        Baseline(
            f"{tool}'s rules", WINDOWS, partial(peers.peer_scores, tool=tool),
            note="thresholds tuned on at most 20,000 windows",
        )
        for tool in peers.PEERS
    ),
    Baseline("k-means distance", GOOD, outliers.k_means, True, "32 centers"),
    Baseline("Gaussian mixture", GOOD, outliers.mixture, True,
             "8 in 16 components"),
    Baseline("local outlier factor", GOOD, outliers.neighbors, True,
             f"at most {outliers.MOST['neighbors']:,} windows, 16 components"),
    Baseline("isolation forest", GOOD, outliers.isolation, True),
    Baseline("PCA error", GOOD, outliers.reconstruction),
    Baseline("one-class SVM", GOOD, outliers.one_class, True,
             f"at most {outliers.MOST['kernel']:,} windows, 16 components"),
    Baseline("LSTM autoencoder", GOOD, networks.lstm, True,
             f"at most {networks.MOST_SEQUENCES} sequences of 32, "
             f"{networks.EPOCHS_LSTM} epochs"),
    Baseline("MIL, worst window", TRACES, bags.mil_max, True, _BAGS),
    Baseline("MIL, worst few (RTFM-like)", TRACES, bags.mil_top, True, _BAGS),
    Baseline("MIL, self-taught (MIST-like)", TRACES, bags.mil_taught, True,
             _BAGS),
    Baseline("LightGBM, weak", TRACES, trees.lightgbm_weak, True, _TREES),
    Baseline("CatBoost, weak", TRACES, trees.catboost_weak, True, _TREES),
    Baseline("RealMLP", WINDOWS, tabular.realmlp, True,
             f"at most {tabular.MOST_REALMLP:,} windows, "
             f"{tabular.EPOCHS_REALMLP} epochs"),
    Baseline("TabICL", WINDOWS, tabular.tabicl, True,
             f"at most {tabular.MOST_TABICL:,} windows"),
    Baseline("CatBoost", WINDOWS, trees.catboost, True, _TREES),
    Baseline(BARE, WINDOWS, trees.lightgbm_bare, True,
             f"{_TREES}, none of the `cause_` columns, which are the rules' own shares "
             "of the window"),
    Baseline("LightGBM", WINDOWS, trees.lightgbm, True,
             f"{_TREES}, the rules' shares among the columns"),
    Baseline(TOGETHER, WINDOWS, trees.together, True,
             "mean of probabilities"),
    Baseline("rules + LightGBM", WINDOWS, trees.stacked, True,
             "mean of ranks"),
    Baseline("TabM-D", WINDOWS, partial(_not_yet, why=(
        "measured at 50 seconds a fold for 2,500 windows and 4 epochs, more than all "
        "others together"))),
    Baseline(NETWORK, WINDOWS, transformer.transformer, True, _STEPS),
    Baseline(STACK, WINDOWS, transformer.stack, True,
             f"{_STEPS}; LightGBM on the same groups; mixed and calibrated on the "
             "others"),
)  # fmt: skip
