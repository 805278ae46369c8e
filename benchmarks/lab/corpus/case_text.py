# SPDX-License-Identifier: BSD-3-Clause
"""case_text.py: writes the pages of docs/cases from the words and the results."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

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
INDEX = f"""\
# Named cases

{MADE_BY}

Slow programs that users meet, each beside a fixed form that computes the same. What was
gained on a CPU was measured; what a GPU would gain was simulated by a
[dry run](../dryrun.md), in which no time is measured. Each case shows the code of both
forms, their traces, and the findings before and after. The text is written by hand, the
figures and findings are not.
"""


def index_page(cases: dict[str, NamedCase], results: dict[str, Any]) -> str:
    """Return docs/cases/README.md."""
    lines = [
        INDEX,
        "| case | on a CPU, ms a step | saved | named | simulated GPU, ms a step |",
        "|---|--:|--:|---|--:|",
    ]
    for name, case in cases.items():
        first = results[name]["pairs"][case.rows[0].pair.name]
        cpu, dry = first.get("cpu"), first.get("dry")
        cells = [
            f"[{case.title}]({case.topic}.md#{anchor(case.title)})",
            f"{ms(cpu['slow'])} → {ms(cpu['fixed'])}" if cpu else "-",
            saved(cpu) if cpu else "-",
            named(list(results[name]["pairs"].values())),
            f"{number(dry['slow'])} → {number(dry['fixed'])}" if dry else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{LEGEND}"


LEGEND = f"""\
Of the first pair of each case. *named*: which pattern of one of its pairs torchtraceap
finds in the slow form, and in the fixed one at less than half the share of its time, on
the CPU and in the dry run. {GPU}, {HOST_US:g} µs of host time an operator.
"""
RECORDED = (
    f"Of {RECORDINGS} recordings of {PROTOCOL.active} steps of each form the shortest; "
    "where others use the\nprocessors, `host_bound_python` is their time as well."
)
LEAST = 0.01  # Share of the time from which a pattern counts as found.


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


def page(topic: str, cases: Iterable[NamedCase], results: dict[str, Any]) -> str:
    """Return the page of a topic, a section for each case."""
    sections = [section(case, results[case.name]) for case in cases]
    return "\n\n".join([f"# {TOPICS[topic]}", MADE_BY, *sections]) + "\n"


def section(case: NamedCase, result: dict[str, Any]) -> str:
    """Return the section of a case."""
    rows = result["pairs"]
    parts = [
        f"## {case.title}", case.what.strip(),
        "### Slow", f"```python\n{code_of(case.slow)}\n```",
    ]  # fmt: skip
    if case.fixed:
        parts += ["### Fixed", f"```python\n{code_of(case.fixed)}\n```"]
    parts += ["### Measured on a CPU", measured(case, rows), machine(result)]
    parts += ["### In the trace", case.trace.strip(), operators(rows)]
    parts += ["### Findings", said(rows, "cpu"), RECORDED]
    parts += ["### On a GPU", case.gpu.strip()]
    parts += [simulated(case, rows), said(rows, "dry")]
    return "\n\n".join(part for part in parts if part)


def measured(case: NamedCase, rows: dict[str, Any]) -> str:
    """Return the table of times."""
    lines = [
        "| pair | model | slow, ms | fixed, ms | saved | block by block |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in case.rows:
        cpu = rows[row.pair.name].get("cpu")
        if cpu is None:
            continue
        blocks = [100 * share for share in cpu["saving_by_block"]]
        cells = [
            f"`{row.pair.name}`", rows[row.pair.name]["family"],
            ms(cpu["slow"]), ms(cpu["fixed"]), saved(cpu),
            f"{min(blocks):.0f} to {max(blocks):.0f} %",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    reasons = [f"`{row.pair.name}`: {row.without}." for row in case.rows if row.without]
    table = "\n".join(lines) if len(lines) > 2 else "There is no figure of a CPU."
    return "\n\n".join([table, *reasons])


def machine(result: dict[str, Any]) -> str:
    """Say where the figures were made."""
    m = result["machine"]
    dirty = ", changed since" if m["dirty"] else ""
    return (
        f"Medians of {PROTOCOL.blocks} blocks of {PROTOCOL.block} steps, in turn, "
        f"without the profiler; one thread.\n{m['processor']}, {m['cores']} cores, "
        f"load {m['load_before']:.1f} before and {m['load_after']:.1f} after;\n"
        f"torch {m['torch']}; {m['date']}, commit {m['commit']}{dirty}. Other programs "
        f"used {m['others']:.0%} of the\nprocessors meanwhile."
    )


def operators(rows: dict[str, Any]) -> str:
    """Say which operators the slow twins have more of."""
    lines = []
    for name, row in rows.items():
        if "cpu" not in row:
            continue
        slow, fixed = (row["cpu"][side]["operators"] for side in ("slow", "fixed"))
        more = [f"`{n}` {a:,} → {b:,}" for n, a, b in row["cpu"]["more_operators"]]
        text = f"- `{name}`: {slow:,} → {fixed:,} operators a step"
        lines.append(f"{text}; {', '.join(more)}" if more else text)
    return "\n".join(lines)


def said(rows: dict[str, Any], where: str) -> str:
    """Quote the findings of the summaries, slow and fixed."""
    blocks = []
    for name, row in rows.items():
        if where not in row:
            continue
        lines = [f"{name}, slow"] + [f"  {line}" for line in row[where]["slow"]["told"]]
        lines += [f"{name}, fixed"]
        lines += [f"  {line}" for line in row[where]["fixed"]["told"]]
        blocks.append("\n".join(lines))
    if not blocks:
        return "Nothing, as there is no trace." if where == "cpu" else ""
    return "```text\n" + "\n\n".join(blocks) + "\n```"


def simulated(case: NamedCase, rows: dict[str, Any]) -> str:
    """Return the table of the dry runs, marked as what it is."""
    lines = []
    for row in case.rows:
        dry = rows[row.pair.name].get("dry")
        if dry is None:
            continue
        sides = [dry["slow"], dry["fixed"]]
        cells = [f"`{row.pair.name}`", rows[row.pair.name]["family"]]
        cells += [f"{number(sides[0])} → {number(sides[1])}"]
        cells += [
            f"{sides[0][key]:,} → {sides[1][key]:,}"
            for key in ("launches", "copies", "waits")
        ]
        lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return ""
    head = [
        f"**Simulated**, not measured: dry runs for the {GPU}, {HOST_US:g} µs of host "
        f"time an operator,\nsteps {DRY_STEPS + 1} to {2 * DRY_STEPS}.\n",
        "| pair | model | ms a step | launches | copies | waits |",
        "|---|---|--:|--:|--:|--:|",
    ]
    return "\n".join(head + lines)


def ms(side: dict[str, Any]) -> str:
    return f"{side['median_ms']:.1f}"


def number(side: dict[str, Any]) -> str:
    return f"{side['step_ms']:.2f}"


def saved(cpu: dict[str, Any]) -> str:
    return f"{100 * cpu['saving']:.0f} %"
