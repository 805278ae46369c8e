# SPDX-License-Identifier: BSD-3-Clause
"""case_text.py: the pages of docs/cases, from the words and the results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchmarks.lab import pages
from benchmarks.lab.corpus.case_results import (
    DRY_STEPS,
    GPU,
    HOST_US,
    PROTOCOL,
    RECORDINGS,
)
from benchmarks.lab.corpus.case_table import TOPICS, NamedCase, code_of

MADE_BY = (
    "<!-- Written by `python -m benchmarks.lab.corpus.case_pages`; words are in "
    "benchmarks/lab/corpus/cases.toml. -->"
)
LEAST = 0.01  # Share of the time from which a pattern counts as found.


def index_page(cases: dict[str, NamedCase], results: dict[str, Any]) -> str:
    """Return docs/cases/README.md."""
    return _filled("cases", {"cases": cases, "results": results})


def page(topic: str, cases: Iterable[NamedCase], results: dict[str, Any]) -> str:
    """Return the page of a topic, a section for each case."""
    names = {"title": TOPICS[topic], "cases": list(cases), "results": results}
    return _filled("case", names)


def _filled(template: str, names: dict[str, Any]) -> str:
    text = (pages.TEMPLATES / "docs" / f"{template}.md.jinja").read_text("utf-8")
    more = {
        "made_by": MADE_BY,
        "gpu": GPU,
        "host_us": HOST_US,
        "protocol": PROTOCOL,
        "recordings": RECORDINGS,
        "dry_steps": DRY_STEPS,
        "anchor": anchor,
        "code_of": code_of,
        "named": named,
        "saved": saved,
    }
    return pages.filled(text, names | more).strip("\n") + "\n"


def named(rows: Iterable[dict[str, Any]]) -> str:
    """Say which patterns are found in slow forms and not in the fixed ones."""
    found = {
        words: sorted({name for row in rows for name in named_in(row, where)})
        for where, words in (("cpu", "CPU"), ("dry", "dry run"))
    }
    parts = [f"{words}: {', '.join(names)}" for words, names in found.items() if names]
    return "; ".join(parts) or "nothing"


def named_in(row: dict[str, Any], where: str) -> list[str]:
    """Return the patterns of a pair that the reports tell its forms apart by."""
    if where not in row:
        return []
    slow, fixed = (row[where][side]["found"] for side in ("slow", "fixed"))
    return [
        name
        for name in row["patterns"]
        if slow.get(name, 0) >= LEAST and fixed.get(name, 0) < slow[name] / 2
    ]


def anchor(title: str) -> str:
    """Return the name that GitHub and Sphinx give to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def saved(cpu: dict[str, Any]) -> str:
    return f"{100 * cpu['saving']:.0f} %"
