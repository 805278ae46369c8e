# SPDX-License-Identifier: BSD-3-Clause
"""pairs/host_python.py: pairs of busy Python, its collector, and other ranks."""

from __future__ import annotations

from benchmarks.lab.corpus.workloads import host_twins_garbage as garbage
from benchmarks.lab.corpus.workloads import host_twins_python as work
from benchmarks.lab.corpus.workloads import host_twins_ranks as ranks
from benchmarks.lab.corpus.workloads.pairs.pair import FEW, MANY, Pair, any_family

EXACT = "the same operations; what differs is not part of them"
SUMS = "sums of equal terms, in pieces of another size"
TWO_RANKS = "two ranks need two GPUs; over gloo they share the processors"

BUSY: tuple[Pair, ...] = (
    Pair(
        "counts_in_python", "host_bound_python", work.CountsInPython,
        work.CountsByTensor,
        ("hourglass",),
        mechanism="loop",
        why="a metric that is worked out in a loop",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "text_written_again", "host_bound_python", work.WritesAgain, work.WritesOnce,
        ("dcgan",),
        mechanism="log_text",
        why="a log line that grows",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "pairs_in_python", "host_bound_python", work.JoinsInPython, work.JoinsByTensor,
        ("lstm",),
        why="what tokenizers do",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "collects_each_step", "gc_pause", garbage.CollectsEachStep,
        garbage.HoldsObjects,
        ("cnn",),
        mechanism="collect_each_step",
        why="against memory that seemed to leak",
        strengths=FEW,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "links_both_ways", "gc_pause", garbage.LinksChain, garbage.UnlinksChain,
        ("two_stage",),
        mechanism="collector",
        why="cycles: what the collector is there for",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
    Pair(
        "records_in_dicts", "gc_pause", garbage.KeepsRecords, garbage.KeepsUncollected,
        ("experts",),
        why="nothing to free, and looked at all the same",
        strengths=MANY,
        precision=EXACT,
        runs_on=any_family,
    ),
)  # fmt: skip

RANKS: tuple[Pair, ...] = (
    Pair(
        "sums_singly", "small_collectives", ranks.SumsSingly, ranks.SumsTogether,
        ("transformer",),
        mechanism="per_parameter",
        why="an all-reduce for each parameter",
        also=("comm_exposed",), leaves=("comm_exposed",),
        strengths=MANY,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
    ),
    Pair(
        "sums_in_flight", "small_collectives", ranks.SumsInFlight, ranks.SumsTogether,
        ("vit",),
        why="the same, started all at once",
        also=("comm_exposed",), leaves=("comm_exposed",),
        strengths=MANY,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
    ),
    Pair(
        "spreads_singly", "small_collectives", ranks.SpreadsSingly,
        ranks.SpreadsTogether,
        ("cnn",),
        why="a broadcast for each parameter",
        also=("comm_exposed",), leaves=("comm_exposed",),
        strengths=MANY,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
        runs_on=any_family,
    ),
    Pair(
        "sums_after_backward", "comm_exposed", ranks.SumsAfter, ranks.SumsBeside,
        ("transformer",),
        mechanism="after_backward",
        why="buckets that were full long before",
        leaves=("comm_exposed",),  # Less of it is not none.
        strengths=MANY,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
    ),
    Pair(
        "sums_in_backward", "comm_exposed", ranks.SumsOnTheWay, ranks.SumsBeside,
        ("cnn",),
        why="each bucket waited for at once",
        leaves=("comm_exposed",),  # Less of it is not none.
        strengths=MANY,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
    ),
    Pair(
        "losses_before_backward", "comm_exposed", ranks.LossesFirst, ranks.LossesBeside,
        ("recommender",),
        why="a log that everything waits for",
        leaves=("comm_exposed",),  # Less of it is not none.
        strengths=FEW,
        precision=SUMS,
        needs="cpu", reason=TWO_RANKS,
    ),
)  # fmt: skip

PAIRS: tuple[Pair, ...] = BUSY + RANKS
