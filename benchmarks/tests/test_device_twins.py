# SPDX-License-Identifier: BSD-3-Clause
"""test_device_twins.py: the pairs of the device and of named programs, on the CPU."""

from __future__ import annotations

import functools
from contextlib import closing
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchmarks.lab.corpus.measure import twins_agree
from benchmarks.lab.corpus.simulation.plans import MECHANISMS as SIMULATED
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.pairs import GROUPS, PAIRS, Pair
from benchmarks.lab.corpus.workloads.training import Lab

# Loader workers are forked from a process with threads, which Python 3.12 warns about.
pytestmark = [
    pytest.mark.verify,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
]

TRIED = [
    pair
    for group in ("loops", "updates", "kernels", "captured", "memory", "compiled",
                  "named")
    for pair in GROUPS[group]
]  # fmt: skip
COMPILED = [pair for pair in TRIED if pair.needs in ("compiler", "cpu")]
# A graph is captured on a GPU only; the other twins run on a CPU too, to no effect.
EAGER = [pair for pair in TRIED
         if pair not in COMPILED and pair.pattern != "missed_cuda_graph"]  # fmt: skip
MECHANISMS = (
    "unfused_optimizer", "zero_grad_fill", "loop_indexing", "fusible_chain",
    "launch_bound", "small_grid", "tensor_core_unused", "allocator_churn",
    "graph_break", "recompile_or_lazy_load",
)  # fmt: skip


def lab_of(pair: Pair, strength: float = 1.0) -> Lab:
    family = FAMILIES[pair.families[0]]
    return Lab(torch.device("cpu"), family, "cpu", 0, strength)


@pytest.mark.parametrize("strength", [1.0, 0.5])
@pytest.mark.parametrize("pair", EAGER, ids=lambda pair: pair.name)
def test_twins_compute_the_same(pair: Any, strength: float) -> None:
    lab = lab_of(pair, strength)
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        told = twins_agree(slow, fixed, steps=3, tolerance=pair.tolerance)
    assert told["loss_error"] <= pair.tolerance


# The compiler hides its own warnings where they are shown; as errors they break it.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", COMPILED, ids=lambda pair: pair.name)
def test_compiled_twins_compute_the_same(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same pieces without a compiler behind them, which would take minutes.
    def compiled(model: Any, backend: str = "", **options: Any) -> Any:
        return original(model, backend="eager", **options)

    original = torch.compile
    monkeypatch.setattr(torch, "compile", functools.wraps(original)(compiled))
    lab = lab_of(pair)
    with closing(pair.slow(lab)) as slow, closing(pair.fixed(lab)) as fixed:
        twins_agree(slow, fixed, steps=2, tolerance=pair.tolerance)


@pytest.mark.parametrize("pattern", MECHANISMS)
def test_patterns_of_the_device_come_about_in_three_ways(pattern: str) -> None:
    pairs = [pair for pair in PAIRS if pair.pattern == pattern]
    # The same way has the same name in programs and in simulated runs of them.
    ways = {pair.mechanism or pair.name for pair in pairs}
    ways |= {one.name for one in SIMULATED if one.pattern == pattern}
    assert len(pairs) >= 3 and len(ways) >= 3
