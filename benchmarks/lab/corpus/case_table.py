# SPDX-License-Identifier: BSD-3-Clause
"""case_table.py: the named cases, from cases.toml, where their words are."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import tomllib

from benchmarks.lab.corpus.case_results import SCALE, Row
from benchmarks.lab.corpus.workloads.families import FAMILIES
from benchmarks.lab.corpus.workloads.pairs import PAIRS, UNSEEN

TOPICS = {  # A page each, with its title.
    "input": "Loading and copying the input",
    "reads": "Values that the host reads",
    "launches": "Many small launches",
    "kernels": "Kernels, types and layouts",
    "runtime": "Compilation, memory and ranks",
}
WORKLOADS = "benchmarks.lab.corpus.workloads"
WORDS = Path(__file__).with_name("cases.toml")
KNOWN = {pair.name: pair for pair in (*PAIRS, *UNSEEN)}


@dataclass(frozen=True)
class NamedCase:
    """A case as its page tells it.

    Attributes:
        topic: The page it is on, a key of TOPICS.
        what: What it is and where it is met.
        slow, fixed: Code to show, each ``MODULE:NAME`` of something in workloads.
        rows: The pairs that show it.
        trace: What to look for in a trace.
        gpu: What only a GPU, or a simulation of one, shows.
        shows: Patterns that torchtraceap is expected to find in the slow CPU trace of
            one of the rows at least; none where a CPU shows none.
    """

    name: str
    topic: str
    title: str
    what: str
    slow: tuple[str, ...]
    fixed: tuple[str, ...]
    rows: tuple[Row, ...]
    trace: str
    gpu: str
    shows: tuple[str, ...] = ()


def read_cases() -> dict[str, NamedCase]:
    """Return all cases by name, in the order of the index.

    Raises:
        KeyError: A case names an unknown pair or family.
    """
    words = tomllib.loads(WORDS.read_text("utf-8"))
    out = {}
    for name, told in words.items():
        rows = tuple(_row(**row) for row in told.pop("pairs"))
        lists = {key: tuple(told.pop(key, ())) for key in ("slow", "fixed", "shows")}
        out[name] = NamedCase(name=name, rows=rows, **lists, **told)
    return out


def _row(pair: str, family: str = "", **rest: Any) -> Row:
    known = KNOWN[pair]
    chosen = FAMILIES[family or known.families[0]]
    scale = SCALE if SCALE in chosen.configs else "cpu"
    return Row(known, chosen.name, scale, **rest)


def code_of(places: tuple[str, ...]) -> str:
    """Return the source of functions and classes, as they are in the files now."""
    return "\n\n".join(_source(place) for place in places)


def _source(place: str) -> str:
    module, _, name = place.partition(":")
    found = reduce(
        getattr, name.split("."), importlib.import_module(f"{WORKLOADS}.{module}")
    )
    lines = textwrap.dedent(inspect.getsource(found)).rstrip()
    lines = re.sub(r"  # cause: .*$", "", lines, flags=re.MULTILINE)
    return re.sub(r"  # fmt: skip$", "", lines, flags=re.MULTILINE)
