# SPDX-License-Identifier: BSD-3-Clause
"""pairs/pair.py: what a pair is, and on which families it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.lab.corpus.workloads.families import FAMILIES, Family
from benchmarks.lab.corpus.workloads.training import Lab, Training

ALL = ("transformer", "cnn", "recommender")

# What strengths are drawn from, by what the places of a pair are.
MANY = (1.0, 0.5, 0.2, 0.1, 0.05)  # Parameters, layers, samples.
EIGHT = (1.0, 0.5, 0.25, 0.125)  # As many as there are sources.
FEW = (1.0, 0.5, 0.25)  # Steps, batches.

#: Of families whose models go through a tensor in a loop of ten passes or more: token
#: by token. So do all twins, whatever their pair is about.
OF_FAMILIES = {"decoding": ("loop_indexing",), "lstm_writer": ("loop_indexing",)}


def that_train(family: Family) -> bool:
    """Take every family that trains: what a pair runs on if it says nothing."""
    return family.trains


def any_family(family: Family) -> bool:
    """Take also what does not train: of pairs that need no backward pass."""
    return True


def only(*names: str) -> Callable[[Family], bool]:
    """Take the families of these names."""
    return lambda family: family.name in names


@dataclass(frozen=True)
class Pair:
    """A slow and a fixed twin that compute the same.

    Attributes:
        pattern: The anti-pattern that ``slow`` has and ``fixed`` has not.
        also: Patterns whose cost the same fix removes; alternatives, not additions.
        leaves: Patterns that the fixed twin has as well as the slow one, which nobody
            took out: what they cost is not known of either.
        families: Names of the families to record on, the most telling first.
        why: Why the pair stands where it does in the order.
        mechanism: How it comes about; of those that share one, some may be trained on
            and none judged by. Empty: the name of the pair.
        strengths: What ``Lab.strength`` is drawn from.
        tolerance: Largest relative difference allowed, see ``twins_agree``.
        precision: What the tolerance rests on.
        needs: What the pair cannot do without: ``"cuda"``, ``"compiler"``,
            ``"cpu"`` or nothing.
        reason: Why it needs that.
        rank: Class of its place in the order, see workloads/pairs.
        runs_on: Tells of a family whether the pair can run on it, which the big corpora
            ask; ``families`` are among them.
    """

    name: str
    pattern: str
    slow: Callable[[Lab], Training]
    fixed: Callable[[Lab], Training]
    families: tuple[str, ...]
    why: str
    also: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    mechanism: str = ""
    strengths: tuple[float, ...] = (1.0,)
    tolerance: float = 1e-3
    precision: str = "the same operations in another order"
    needs: str = ""
    reason: str = ""
    rank: int = 3
    runs_on: Callable[[Family], bool] = that_train

    def leaves_on(self, family: Family) -> tuple[str, ...]:
        """Return the patterns that both twins keep on a family, by name: what the pair
        leaves, and what the model has itself, but not what the pair takes out."""
        of_model = set(OF_FAMILIES.get(family.name, ())) - {self.pattern}
        return tuple(sorted({*self.leaves, *of_model}))


@dataclass(frozen=True)
class Case:
    """One pair on one family: the unit that is timed, recorded and resumed."""

    pair: Pair
    family: Family

    @property
    def name(self) -> str:
        return f"{self.pair.name}.{self.family.name}"


def cases(pairs: Iterable[Pair]) -> Iterator[Case]:
    """Yield every case: first each pair on its first family, then on its second."""
    chosen = list(pairs)
    for turn in range(max((len(pair.families) for pair in chosen), default=0)):
        for pair in chosen:
            if turn < len(pair.families):
                yield Case(pair, FAMILIES[pair.families[turn]])


def possible(pairs: Iterable[Pair]) -> Iterator[Case]:
    """Yield each pair on every family that it can run on, for the big corpora."""
    for pair in pairs:
        for family in FAMILIES.values():
            if pair.runs_on(family):
                yield Case(pair, family)
