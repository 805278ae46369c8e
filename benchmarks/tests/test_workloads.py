# SPDX-License-Identifier: BSD-3-Clause
"""test_workloads.py: the pairs of the host, on the CPU and in dry runs."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing

import pytest

torch = pytest.importorskip("torch")

import torchtraceap
from benchmarks.lab.corpus import session
from benchmarks.lab.corpus.measure import twins_agree
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.pairs import (
    GROUPS,
    PAIRS,
    Pair,
    cases,
    possible,
)
from benchmarks.lab.corpus.workloads.peer import PEER, Peer
from benchmarks.lab.corpus.workloads.training import Lab, takes
from torchtraceap import _core

# Loader workers are forked from a process with threads, which Python 3.12 warns about.
pytestmark = [
    pytest.mark.verify,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]

CPU = torch.device("cpu")
HOST = [
    pair
    for group in ("waits", "loading", "small_copies", "large_copies", "moves",
                  "busy", "ranks")
    for pair in GROUPS[group]
]  # fmt: skip
HERE = [pair for pair in HOST if not session.missing(pair, CPU)]
RANKS = [pair for pair in HERE if pair.needs == "cpu"]
ON_DEVICE = [pair for pair in HOST if pair.needs != "cpu"]
BUSY = [pair for pair in HERE if pair.pattern in ("host_bound_python", "gc_pause")]


def lab(family: str, strength: float = 1.0) -> Lab:
    return Lab(CPU, FAMILIES[family], "cpu", seed=3, strength=strength)


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    """The other rank, started once: to start a process takes seconds."""
    PEER.join()
    yield PEER
    PEER.leave()
    assert not torch.distributed.is_initialized()


def by_name(pair: Pair) -> str:
    return pair.name


def test_patterns_of_the_host_come_about_in_three_ways() -> None:
    known = {pattern.name for pattern in _core.patterns()}
    ways = defaultdict(set)
    for pair in HOST:
        assert {pair.pattern, *pair.also, *pair.leaves} <= known
        ways[pair.pattern].add(pair.mechanism or pair.name)
    assert len(ways) == 11
    for pattern, names in ways.items():
        assert len(names) >= 3, pattern


def test_names_are_unique_and_families_are_among_those_a_pair_runs_on() -> None:
    assert len({pair.name for pair in PAIRS}) == len(PAIRS)
    for pair in PAIRS:
        assert pair.families
        assert all(pair.runs_on(FAMILIES[name]) for name in pair.families)
        assert pair.strengths[0] == 1.0
        assert all(0 < strength <= 1 for strength in pair.strengths)
    recorded = {case.name for case in cases(PAIRS)}
    assert recorded < {case.name for case in possible(PAIRS)}
    # What is recorded is not only of a few families.
    assert len({case.family.name for case in cases(HOST) if case.family.trains}) >= 24


def test_what_both_twins_keep_is_told_but_not_what_the_pair_takes_out() -> None:
    for pair in PAIRS:
        loops = pair.leaves_on(FAMILIES["decoding"])
        assert ("loop_indexing" in loops) == (pair.pattern != "loop_indexing")
        # Who waits for another rank still does so a little in the fixed twin.
        exposed = "comm_exposed" in pair.leaves_on(FAMILIES["cnn"])
        assert exposed == (pair.pattern in ("small_collectives", "comm_exposed"))
        assert "loop_indexing" not in pair.leaves_on(FAMILIES["cnn"])


@pytest.mark.parametrize("pair", HERE, ids=by_name)
def test_weak_twins_compute_the_same_elsewhere(
    pair: Pair, request: pytest.FixtureRequest
) -> None:
    if pair in RANKS:
        request.getfixturevalue("peer")
    name = "vit_inference" if pair.runs_on(FAMILIES["vit_inference"]) else "graph"
    here = lab(name, pair.strengths[-1])
    with closing(pair.slow(here)) as slow, closing(pair.fixed(here)) as fixed:
        told = twins_agree(slow, fixed, steps=2, tolerance=pair.tolerance)
    assert told["loss_error"] <= pair.tolerance


def dry_counts(pair: Pair, side: str, strength: float) -> tuple[int, int, int]:
    """Count waits, operators and copies of two steps on a device that is none."""
    family = FAMILIES[pair.families[0]]
    there = Lab(torch.device("cuda"), family, "cpu", seed=3, strength=strength)
    with torchtraceap.dry_run() as run, closing(getattr(pair, side)(there)) as twin:
        run.step()
        for _ in range(2):
            twin.step()
            run.step()
    ops = [op for op in run.ops if op.step > 0]
    copies = sum("copy" in op.name for op in ops)
    return sum(sync.step > 0 for sync in run.syncs), len(ops), copies


@pytest.mark.parametrize("pair", GROUPS["waits"], ids=by_name)
def test_waits_go_with_strength(pair: Pair) -> None:
    full, weak = (
        dry_counts(pair, "slow", strength)[0] for strength in (1.0, pair.strengths[-1])
    )
    assert full > weak > dry_counts(pair, "fixed", 1.0)[0] == 0


@pytest.mark.parametrize("pair", GROUPS["small_copies"] + GROUPS["moves"], ids=by_name)
def test_copies_go_with_strength(pair: Pair) -> None:
    full, weak = (
        dry_counts(pair, "slow", strength) for strength in (1.0, pair.strengths[-1])
    )
    fixed = dry_counts(pair, "fixed", 1.0)
    assert sum(full) > sum(weak) > sum(fixed)


@pytest.mark.parametrize("pair", GROUPS["large_copies"], ids=by_name)
def test_large_copies_run_dry(pair: Pair) -> None:
    for strength in (1.0, pair.strengths[-1]):
        assert dry_counts(pair, "slow", strength)[1] > 0
    assert dry_counts(pair, "fixed", 1.0)[1] > 0


@pytest.mark.parametrize("pair", BUSY, ids=by_name)
def test_busy_twins_get_the_same_result(pair: Pair) -> None:
    for strength in (1.0, pair.strengths[-1]):
        here = lab("recommender", strength)
        with closing(pair.slow(here)) as slow, closing(pair.fixed(here)) as fixed:
            for twin in (slow, fixed):
                for _ in range(2):
                    twin.step()
            assert slow.result == fixed.result


@pytest.mark.parametrize("name", ["collects_each_step", "links_both_ways"])
def test_collections_go_with_strength(name: str) -> None:
    (pair,) = (pair for pair in BUSY if pair.name == name)
    assert gc.isenabled()
    full, weak, fixed = (
        collections(pair, side, strength)
        for side, strength in (
            ("slow", 1.0), ("slow", pair.strengths[-1]), ("fixed", 1.0)
        )
    )  # fmt: skip
    assert full > weak >= fixed
    assert gc.isenabled()


def collections(pair: Pair, side: str, strength: float) -> int:
    """Count what Python collects in four steps; a full collection counts a thousand."""
    counted = 0

    def count(phase: str, about: dict[str, int]) -> None:
        nonlocal counted
        counted += (phase == "start") * (1000 if about["generation"] == 2 else 1)

    with closing(getattr(pair, side)(lab("recommender", strength))) as twin:
        gc.collect()
        with twin.settings():
            gc.callbacks.append(count)
            try:
                for _ in range(4):
                    twin.step()
            finally:
                gc.callbacks.remove(count)
    return counted


@pytest.mark.parametrize("pair", RANKS, ids=by_name)
def test_messages_go_with_strength(
    pair: Pair, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = peer.ask

    def counted(kind: str, part: torch.Tensor) -> None:
        asked.append(kind)
        ask(kind, part)

    monkeypatch.setattr(peer, "ask", counted)
    counts = []
    for side, strength in (
        ("slow", 1.0), ("slow", pair.strengths[-1]), ("fixed", 1.0)
    ):  # fmt: skip
        asked.clear()
        with closing(getattr(pair, side)(lab("transformer", strength))) as twin:
            twin.step()
        counts.append(len(asked))
    full, weak, fixed = counts
    if pair.pattern == "small_collectives":
        assert full > weak > fixed == 1
    else:  # The same messages at another time.
        assert full == weak == fixed


def test_places_are_spread_and_rounded_up() -> None:
    assert [i for i in range(10) if takes(i, 0.2)] == [0, 5]
    assert [i for i in range(7) if takes(i, 1.0)] == list(range(7))
    for strength in (0.05, 0.1, 0.25, 1 / 3, 0.5, 1.0):
        here = lab("cnn", strength)
        for places in (1, 3, 8, 61):
            taken = sum(map(here.takes, range(places)))
            assert taken == here.share(places) >= max(1, places * strength - 1e-6)
