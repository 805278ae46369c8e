#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/corpus/datasheet.py: the figures of docs/corpus.md, from a corpus.

    python benchmarks/corpus/datasheet.py CORPUS [--page]

Prints how many runs and windows there are, how many are positive, which patterns cost
what; --page writes it into the page, between its marks. compact.py comes first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from origins import held_out_origins
from provenance import cpu_name, run_facts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "corpus.md"
MARKS = "<!-- figures -->\n", "<!-- end of figures -->\n"
POSITIVE, GREY = 0.05, 0.02
BANDS = (0.05, 0.1, 0.2, 0.5, np.inf)


class Corpus:
    """The arrays that compact.py wrote."""

    def __init__(self, folder: Path) -> None:
        compact = folder / "compact"
        lines = (compact / "runs.jsonl").read_text("utf-8").splitlines()
        self.runs: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.patterns = [
            name
            for name, _ in json.loads((compact / "columns.json").read_text())[
                "patterns"
            ]
        ]
        with np.load(compact / "windows.npz") as arrays:
            self.saved, self.run = arrays["saved"], arrays["run"]

    def of(self, source: str) -> np.ndarray:
        """Tell which windows are of a source."""
        return np.array([r["source"] == source for r in self.runs])[self.run]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; numbers to the right."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def by_source(corpus: Corpus) -> str:
    """Say how much there is of each source, and how much of that is positive."""
    rows = []
    for source in "RSPG":
        mine = [i for i, run in enumerate(corpus.runs) if run["source"] == source]
        if not mine:
            continue
        most = np.nan_to_num(corpus.saved[corpus.of(source)], nan=0).max(axis=1)
        run = corpus.run[corpus.of(source)]
        positive = most >= POSITIVE
        good = [i for i in mine if corpus.runs[i]["good"]]
        held = set(run[positive].tolist())
        rows.append(
            (
                source,
                len(mine),
                len({corpus.runs[i]["group"] for i in mine}),
                f"{len(good)} / {len(mine) - len(good)}",
                _share(sum(i in held for i in good), len(good)),
                len(run),
                _share(positive.sum(), len(run)),
                _share(((most >= GREY) & ~positive).sum(), len(run)),
            )
        )
    head = (
        "source", "runs", "groups", "good / bad", "good ones with a positive window",
        "windows", "positive", "grey",
    )  # fmt: skip
    return table(head, rows)


def by_pattern(corpus: Corpus) -> str:
    """Say how often each pattern was put in, and what it cost where it was."""
    rows = []
    for number, pattern in enumerate(corpus.patterns):
        put = [
            cause
            for run in corpus.runs
            for cause in run["causes"]
            if cause["pattern"] == pattern and not cause["natural"]
        ]
        share = np.nan_to_num(corpus.saved[:, number], nan=0)
        bands = np.histogram(share, BANDS)[0]
        if not put and not bands.sum():
            continue
        meant = [cause for cause in put if not cause["null"]]
        costly = sum(cause["saved"] >= POSITIVE for cause in meant)
        rows.append(
            (
                f"`{pattern}`",
                len(meant),
                len(put) - len(meant),
                len({cause["mechanism"] for cause in put}),
                _share(costly, len(meant)),
                *bands,
                _share(bands.sum(), len(share)),
            )
        )
    head = (
        "pattern", "put in", "at no cost", "mechanisms", "yield", "windows 5-10 %",
        "10-20 %", "20-50 %", "over 50 %", "base rate",
    )  # fmt: skip
    return table(head, rows)


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def figures(corpus: Corpus) -> str:
    """Return the part of the page that is made of figures."""
    facts = run_facts()
    kept = "".join(f"- {origin}\n" for origin in held_out_origins())
    families = {run["family"] for run in corpus.runs if run["source"] in "RS"}
    return f"""## What is in it

`build.py --seed 1`, made at commit {(facts["commit"] or "?")[:10]} on {cpu_name()}:
{len(corpus.runs)} runs, {len(corpus.run):,} windows of about 128 events,
{len(families)} families of models in R and S.

{by_source(corpus)}
"Good" are runs that lose under 5 % of their span to everything together. A positive
window is one for some pattern.

{by_pattern(corpus)}
"Put in" counts causes that were meant to cost something, "yield" the share of these
that cost 5 % of their run's span or more (a window may lose more than the run), "at no
cost" those that were meant, or in R measured, to cost nothing. The base rate is of all
windows.

Origins of public traces that are kept out of training:

{kept}
"""


def main() -> int:
    """Print the figures, or write them into the page."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("corpus", type=Path)
    options.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    given = options.parse_args()
    if not (given.corpus / "compact" / "windows.npz").exists():
        options.error(f"{given.corpus} has no compact form: run compact.py first")
    text = figures(Corpus(given.corpus))
    if given.page:
        page = PAGE.read_text("utf-8")
        before, rest = page.split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(before + MARKS[0] + text + MARKS[1] + after, "utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
