# SPDX-License-Identifier: BSD-3-Clause
"""workloads/pairs.py: the pairs of pairs.toml, most valuable first.

The order is the order in which they are recorded on a GPU, as time or space may run
out (``Pair.rank``):

1. patterns that only a GPU can show and users meet most (waits, copies, the loader,
   launches, graph breaks), then
2. patterns for which a GPU is better than a simulation (allocator, small grids, tensor
   cores), then
3. patterns that rarely cost much today and mostly yield negatives.

A pair runs on its families in turn: first every pair on its first family, then every
pair on its second, so that an early stop still leaves each pattern once.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from benchmarks import ROOT
from benchmarks.lab.corpus.workloads.families import FAMILIES, Family
from benchmarks.lab.corpus.workloads.training import Lab, Training

FOLDER = Path(__file__).resolve().parent
#: What strengths are drawn from, by what the places of a pair are.
STRENGTHS = {
    "many": (1.0, 0.5, 0.2, 0.1, 0.05),  # Parameters, layers, samples.
    "eight": (1.0, 0.5, 0.25, 0.125),  # As many as there are sources.
    "few": (1.0, 0.5, 0.25),  # Steps, batches.
}

#: Of families whose models go through a tensor in a loop of ten passes or more: token
#: by token. So do all twins, whatever their pair is about.
OF_FAMILIES = {"decoding": ("loop_indexing",), "lstm_writer": ("loop_indexing",)}


def that_train(family: Family) -> bool:
    """Take every family that trains: what a pair runs on if it says nothing."""
    return family.trains


@dataclass(frozen=True)
class Pair:
    """A slow and a fixed twin that compute the same.

    Attributes:
        pattern: The anti-pattern that ``slow`` has and ``fixed`` does not have.
        fixed: If none is named: the training step as it is.
        families: Names of the families to record on, the most informative first.
        why: Why the pair stands where it does in the order.
        also: Patterns whose cost the same fix removes; alternatives, not additions.
        leaves: Patterns that the fixed twin has as well as the slow one, so that
            they were not removed: their cost is unknown in either.
        mechanism: How it comes about; of those that share one, some may be trained on
            and none judged by. Empty: the name of the pair.
        strengths: What ``Lab.strength`` is drawn from, or a key of STRENGTHS.
        tolerance: Largest relative difference allowed, see ``twins_agree``.
        precision: What the tolerance rests on.
        needs: What the pair cannot do without: ``"cuda"``, ``"compiler"``,
            ``"cpu"`` or nothing.
        reason: Why it needs that.
        rank: Class of its place in the order, see above.
        runs_on: Whether the pair can run on a family, which the big corpora ask;
            ``families`` are among them. Pairs that need no backward pass run on
            ``"any"``; others name their families, or a function.
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


# --- The table --------------------------------------------------------------------


def _read() -> Iterator[tuple[str, tuple[Pair, ...]]]:
    words = tomllib.loads((FOLDER / "pairs.toml").read_text("utf-8"))
    for group, told in words.items():
        rows = {name: row for name, row in told.items() if isinstance(row, dict)}
        shared = {key: value for key, value in told.items() if key not in rows}
        yield group, tuple(_pair(name, **shared | row) for name, row in rows.items())


def _pair(name: str, slow: str, fixed: str = "training:Training", **row: Any) -> Pair:
    """Make a pair of a row: names become classes, functions and tuples."""
    known = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    if known.get("strengths") in STRENGTHS:
        known["strengths"] = STRENGTHS[known["strengths"]]
    if "runs_on" in known:
        known["runs_on"] = _runs_on(known["runs_on"])
    return Pair(name, slow=_named(slow), fixed=_named(fixed), **known)


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"{__package__}.{module}"), name)


def _runs_on(said: str | tuple[str, ...]) -> Callable[[Family], bool]:
    if said == "any":
        return lambda family: True
    if isinstance(said, str):
        test: Callable[[Family], bool] = _named(said)
        return test
    return lambda family: family.name in said


GROUPS = dict(_read())
PAIRS: tuple[Pair, ...] = tuple(
    sorted(
        (pair for group in GROUPS.values() for pair in group),
        key=lambda pair: pair.rank,
    )
)


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


# --- The lines to blame -----------------------------------------------------------


def causes(pair: Pair) -> list[dict[str, str | int]]:
    """Find the lines marked ``# cause: NAME``, or ``# cause: NAME, NAME``.

    Each is ``{"file", "line", "code", "frame"}``; ``frame`` is the function around it
    as the profiler writes it, ``file(first line): name``. The list of a pair
    whose cause is a global switch is empty.
    """
    name = re.escape(pair.name)
    pattern = rf"^\s*(?P<code>.+?)\s+# cause: (?:\w+, )*{name}(?:, \w+)*$"
    mark = re.compile(pattern, re.MULTILINE)
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        text = path.read_text("utf-8")
        for match in mark.finditer(text):
            line = text.count("\n", 0, match.start("code")) + 1
            function = function_at(text, line)
            named = path.relative_to(ROOT)
            frame = f"{named}({function.lineno}): {function.name}"
            found.append(
                {"file": path.name, "line": line, "code": match["code"], "frame": frame}
            )
    return found


def function_at(source: str, line: int) -> ast.FunctionDef:
    """Find the innermost function around ``line``."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno)
