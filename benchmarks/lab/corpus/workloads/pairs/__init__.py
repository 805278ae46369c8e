# SPDX-License-Identifier: BSD-3-Clause
"""workloads/pairs: the table of pairs, most valuable first.

The order is the order in which they are recorded on a GPU, as time or space may run
out (``Pair.rank``):

1. what only a GPU can show at all and users meet most (waits, copies, the loader,
   launches, graph breaks), then
2. what a GPU shows better than a simulation (allocator, small grids, tensor cores),
   then
3. what rarely costs much today and mostly yields negatives.

A pair runs on its families in turn: first every pair on its first family, then every
pair on its second, so that an early stop still leaves each pattern once.
"""

from __future__ import annotations

from benchmarks.lab.corpus.workloads.pairs import (
    device,
    host,
    host_copies,
    host_python,
    named,
)
from benchmarks.lab.corpus.workloads.pairs.blame import causes
from benchmarks.lab.corpus.workloads.pairs.pair import (
    ALL,
    Case,
    Pair,
    any_family,
    cases,
    only,
    possible,
    that_train,
)

__all__ = [
    "ALL",
    "PAIRS",
    "Case",
    "Pair",
    "any_family",
    "cases",
    "causes",
    "only",
    "possible",
    "that_train",
]

_MODULES = (host, host_copies, host_python, device, named)

PAIRS: tuple[Pair, ...] = tuple(
    sorted(
        (pair for module in _MODULES for pair in module.PAIRS),
        key=lambda pair: pair.rank,
    )
)
