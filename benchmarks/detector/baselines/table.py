# SPDX-License-Identifier: BSD-3-Clause
"""baselines/table.py: every row of the table, in its order."""

from __future__ import annotations

from functools import partial

from baselines import networks, outliers, peers, plain, tabular, trees
from baselines.task import Baseline

NOTHING = "nothing"
GOOD = "good traces"
TRACES = "trace labels"
WINDOWS = "window labels"
_TREES = f"at most {trees.MOST:,} windows"

BASELINES: tuple[Baseline, ...] = (
    Baseline("idle fraction", NOTHING, plain.idle),
    Baseline("rules, windows of 512", NOTHING, plain.own_rules_coarse),
    Baseline("rules, windows of 128", NOTHING, plain.own_rules),
    Baseline("best feature", WINDOWS, plain.best_feature,
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
    Baseline("MIL, worst window", TRACES, networks.mil_max, True),
    Baseline("MIL, worst few (RTFM-like)", TRACES, networks.mil_top, True),
    Baseline("MIL, self-taught (MIST-like)", TRACES, networks.mil_taught, True),
    Baseline("LightGBM, weak", TRACES, trees.lightgbm_weak, True, _TREES),
    Baseline("CatBoost, weak", TRACES, trees.catboost_weak, True, _TREES),
    Baseline("RealMLP", WINDOWS, tabular.realmlp, True,
             f"at most {tabular.MOST_REALMLP:,} windows, "
             f"{tabular.EPOCHS_REALMLP} epochs"),
    Baseline("TabICL", WINDOWS, tabular.tabicl, True,
             f"at most {tabular.MOST_TABICL:,} windows"),
    Baseline("CatBoost", WINDOWS, trees.catboost, True, _TREES),
    Baseline("LightGBM", WINDOWS, trees.lightgbm, True, _TREES),
    Baseline("rules + LightGBM", WINDOWS, trees.stacked, True,
             "mean of ranks"),
)  # fmt: skip
