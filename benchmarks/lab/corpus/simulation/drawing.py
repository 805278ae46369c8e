# SPDX-License-Identifier: BSD-3-Clause
"""drawing.py: which program a run is of, which causes it has, and how strong."""

from __future__ import annotations

import random
from dataclasses import dataclass

from benchmarks.lab.corpus.simulation import host_causes as host
from benchmarks.lab.corpus.simulation import wait_causes as waits
from benchmarks.lab.corpus.simulation.cause_table import (
    DISTRIBUTED,
    MECHANISMS,
    Mechanism,
)
from benchmarks.lab.corpus.simulation.items import Steps
from benchmarks.lab.corpus.simulation.place import Place

_NULL = 0.25  # Of causes.
_MANY = (1, 1, 1, 1, 1, 2, 2, 3)
_NATURAL_SYNC = Mechanism("sync_stall", "loss_logged", waits.read_loss)
_NATURAL_LOADERS = (
    Mechanism("dataloader_bound", "workers_ahead", host.load_ahead),
    Mechanism("dataloader_bound", "cheap_samples", host.load_in_step),
)


@dataclass(frozen=True)
class Put:
    """A mechanism as it was put into a run."""

    mechanism: Mechanism
    strength: float
    null: bool
    natural: bool
    seed: int
    tag: str

    def apply(self, steps: Steps, step_us: float, *, fixed: bool = False) -> None:
        """Edit the steps; ``fixed``: as its fix does."""
        rng = random.Random(self.seed)
        place = Place(step_us, self.tag, self.null, rng, fixed, self.natural)
        self.mechanism.edit(steps, self.strength, place)


def draw_natural(rng: random.Random) -> tuple[Put, ...]:
    """Draw what many programs do, whether they are good or bad."""
    out = []
    if rng.random() < 0.35:
        out.append(_put(rng, _NATURAL_SYNC, "natural sync", natural=True))
    if rng.random() < 0.35:
        loader = rng.choice(_NATURAL_LOADERS)
        out.append(_put(rng, loader, "natural loader", natural=True))
    return tuple(out)


def draw_causes(rng: random.Random, distributed: bool, turn: int) -> tuple[Put, ...]:
    """Draw one to three causes of different patterns; some are null.

    Args:
        turn: Number of the drawing: the first cause of one process is each mechanism
            in turn, so that few runs have some of all.
    """
    table = (MECHANISMS[turn % len(MECHANISMS)],)
    if distributed and rng.random() < 0.7:
        table = DISTRIBUTED
    found: dict[str, Put] = {}
    for k in range(rng.choice(_MANY)):
        left = [m for m in table if m.pattern not in found]
        if not left:
            break
        patterns = sorted({m.pattern for m in left})
        weights = [sum(m.weight for m in left if m.pattern == p) for p in patterns]
        pattern = rng.choices(patterns, [w**0.5 for w in weights])[0]
        choice = [m for m in left if m.pattern == pattern]
        mechanism = rng.choices(choice, [m.weight for m in choice])[0]
        found[pattern] = _put(rng, mechanism, f"cause{k}")
        table = MECHANISMS
    return tuple(found.values())


def draw_nulls(rng: random.Random, distributed: bool, turn: int) -> tuple[Put, ...]:
    """Draw causes that touch their paths at no cost meant."""
    causes = draw_causes(rng, distributed, turn)
    return tuple(
        Put(c.mechanism, c.strength, True, False, c.seed, c.tag) for c in causes
    )


def _put(
    rng: random.Random, mechanism: Mechanism, tag: str, *, natural: bool = False
) -> Put:
    null = not natural and rng.random() < _NULL
    seed = rng.randrange(1 << 31)
    return Put(mechanism, rng.random(), null, natural or False, seed, tag)
