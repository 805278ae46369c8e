# SPDX-License-Identifier: BSD-3-Clause
"""benchmark_discussion.py: what the figures of results/benchmark.md say, in paragraphs.

Which patterns rules solve, where only learned methods can help, what a detector could
lean on that has nothing to do with patterns, and what betrays the simulator. Every
sentence is worked out from results, so that none outlives its figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.lab.detector.baselines.table import BARE
from benchmarks.lab.detector.benchmark_findings import HELPS, SOLVED, Results
from benchmarks.lab.detector.summary import Row
from benchmarks.lab.detector.table_text import HEADS

#: Below this area neither way of finding a pattern is worth much.
POOR = 0.8
#: Rules are said to be silent on a pattern below this one.
SILENT = 0.6
Rows = Mapping[tuple[str, str], Row]


def rules_part(results: Results) -> str:
    """Return which patterns rules solve already."""
    known = [p for p in results["patterns"] if p["rules"] is not None]
    if not known:
        return ""
    solved = [p for p in known if p["rules"] >= SOLVED]
    level = [
        p
        for p in known
        if p not in solved
        and p["lightgbm"] is not None
        and p["lightgbm"] < p["rules"] + HELPS
    ]
    sentences = [
        f"Of {len(known)} patterns that can be told, what the rules claim of a side "
        f"reaches {SOLVED} on {len(solved)}{_listed(solved, 'rules')}."
    ]
    if level:
        sentences.append(
            f"On {len(level)} more learning adds less than {HELPS} to the rules: "
            f"{_names(level)}."
        )
    return "\n\n".join(["### What rules solve", " ".join(sentences)])


def learning_part(results: Results, rows: Rows) -> str:
    """Return where only learned methods can help, and what they lean on."""
    known = [
        p
        for p in results["patterns"]
        if p["rules"] is not None and p["lightgbm"] is not None
    ]
    if not known:
        return ""
    helped = [p for p in known if p["lightgbm"] >= p["rules"] + HELPS]
    alone = [p for p in helped if p["bare"] is not None and p["bare"] > p["rules"]]
    silent = [p for p in known if p["rules"] < SILENT]
    poor = [p for p in known if max(p["rules"], p["lightgbm"]) < POOR]
    sentences = [
        f"Learning is at least {HELPS} above the rules on {len(helped)} of "
        f"{len(known)} patterns{_listed(helped, 'lightgbm')}."
    ]
    if helped:
        sentences.append(
            f"On {len(alone)} of these it is above them without reading what they "
            "found."
        )
    if silent:
        sentences.append(
            f"The rules hardly see {_names(silent)} (below {SILENT}); "
            + _where(silent, "there LightGBM reaches")
        )
    if poor:
        sentences.append(
            f"Neither finds {_names(poor)} (both below {POOR}): the statistics of a "
            "window do not hold it, or the corpus has too little of it."
        )
    return "\n\n".join(
        ["### Where only learned methods can help", " ".join(sentences), _leaning(rows)]
    )


def betrayal_part(results: Results, rows: Rows) -> str:
    """Return what tells simulated windows from real ones, and what that costs."""
    gates = results.get("gates")
    sentences = []
    if gates and gates.get("auroc") is not None:
        sentences.append(
            "Boosted trees tell windows of good simulated runs from windows of real "
            f"traces with an AUROC of {gates['auroc']:.3f} (goal: at most "
            f"{gates['goal']:.2f}), traces held out."
        )
        ones = ", ".join(f"`{name}` ({area:.2f})" for name, area in gates["single"])
        if ones:
            sentences.append(f"By themselves these columns tell most: {ones}.")
        sentences.append(
            "[How far simulated timelines are from real ones]"
            "(corpus_gates.md) has the distances, and where they "
            "come from as far as it is known."
        )
    costs = _generator(rows)
    if costs:
        sentences.append(costs)
    if not sentences:
        return ""
    return "\n\n".join(["### What betrays the simulator", " ".join(sentences)])


def _leaning(rows: Rows) -> str:
    """Say what naming the source is worth, and what the rules' shares are."""
    lines = []
    for head, name in HEADS.items():
        pooled = _value(rows, "S1", "source only", f"{head}_auroc_pooled")
        if pooled is not None:
            lines.append(
                f"- {name}: who only names the source scores {pooled:.3f} on S1 where "
                "windows of all sources are compared, and 0.5 here, where they are "
                "compared within theirs."
            )
        whole = _value(rows, "S1", "LightGBM", f"{head}_auroc")
        bare = _value(rows, "S1", BARE, f"{head}_auroc")
        if whole is not None and bare is not None:
            lines.append(
                f"- {name}: LightGBM reads the rules' shares among its columns; "
                f"without them it reaches {bare:.3f} on S1 instead of {whole:.3f}."
            )
    return "\n".join(lines)


def _generator(rows: Rows) -> str:
    parts = []
    for head, name in HEADS.items():
        here, there = rows.get(("S0", "LightGBM")), rows.get(("S6", "LightGBM"))
        of = there.by_item.get(head, {}) if there else {}
        before = here.figures.get(f"{head}_auroc") if here else None
        if of and before:
            told = " and ".join(f"{area:.3f} ({item})" for item, area in of.items())
            parts.append(f"{name} {told} instead of {before.value:.3f}")
    if not parts:
        return ""
    return f"Trained on one generator and tested on another LightGBM has {_and(parts)}."


def _value(rows: Rows, split: str, baseline: str, name: str) -> float | None:
    row = rows.get((split, baseline))
    return row.figures[name].value if row and name in row.figures else None


def _where(patterns: Sequence[dict[str, Any]], words: str) -> str:
    areas = [p["lightgbm"] for p in patterns]
    low, high = min(areas), max(areas)
    return f"{words} {low:.2f}" + (f" to {high:.2f}." if len(areas) > 1 else ".")


def _listed(patterns: Sequence[dict[str, Any]], key: str) -> str:
    told = ", ".join(f"`{p['pattern']}` ({p[key]:.2f})" for p in patterns)
    return f": {told}" if told else ""


def _names(patterns: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"`{p['pattern']}`" for p in patterns)


def _and(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
