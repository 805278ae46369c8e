# SPDX-License-Identifier: BSD-3-Clause
"""launches.py: does a step launch too many kernels? Needs no torch, no pytest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_MOST_PLACES = 8


@dataclass(frozen=True)
class Launches:
    """How many kernels each step launched, as far as one run shows."""

    steps: tuple[int, ...] = ()
    #: Of the step that launched most, where that is known: its lines, most first.
    places: tuple[tuple[str, int], ...] = ()
    first: int = 0  #: The number of the first of `steps`.
    #: Why nothing can be said; "" if something can.
    problem: str = (
        "a run on the CPU does not show how many kernels a GPU would be given"
    )


@dataclass(frozen=True)
class LaunchVerdict:
    """Whether no step launches more than a limit, and the words for it."""

    launches: Launches
    max_per_step: int

    @property
    def told(self) -> bool:
        """Whether anything can be said."""
        return not self.launches.problem

    @property
    def ok(self) -> bool:
        """Whether it can be said, and is so."""
        return self.told and self._most <= self.max_per_step

    @property
    def _most(self) -> int:
        return max(self.launches.steps, default=0)

    @property
    def headline(self) -> str:
        """One line: the step that launches most."""
        if not self.told:
            return f"launches cannot be told: {self.launches.problem}"
        steps = self.launches.steps
        at = self.launches.first + (steps.index(self._most) if steps else 0)
        limit = f"max_per_step = {self.max_per_step:,}"
        return f"step {at} launched {_kernels(self._most)}, {limit}"

    @property
    def details(self) -> tuple[str, ...]:
        """Where that step launches them, and what the others launch."""
        return tuple(self._details()) if self.told and not self.ok else ()

    def _details(self) -> Iterator[str]:
        places = self.launches.places
        yield from (f"  {line}  {_kernels(n)}" for line, n in places[:_MOST_PLACES])
        if rest := places[_MOST_PLACES:]:
            yield f"  {len(rest)} more lines  {_kernels(sum(n for _, n in rest))}"
        if len(self.launches.steps) > 1:
            each = ", ".join(f"{n:,}" for n in self.launches.steps)
            yield f"  kernels of each step: {each}"

    @property
    def message(self) -> str:
        """All of it."""
        return "\n".join([self.headline, *self.details])


def _kernels(number: int) -> str:
    return f"{number:,} kernel{'s' * (number != 1)}"
