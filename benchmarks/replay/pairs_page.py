# SPDX-License-Identifier: BSD-3-Clause
"""pairs_page.py: writes docs/replay_pairs.md from what run_pairs.py measured."""

from __future__ import annotations

import statistics
from typing import Any

from fidelity_page import machine_text
from pair_table import PAIRS
from render import table

RESNET = "ResNet-50, loader 0 -> 4 workers (traces of others)"
INTRODUCTION = """\
# What fixes were predicted to gain, and did

Written by `python benchmarks/replay/run_pairs.py`; not edited by hand. How gains are
worked out is said in [replay.md](replay.md).

{machine}

Each pair is a slow program and the same program fixed, both recorded with
`torch.profiler` on one thread of a CPU. From the slow trace alone the replay without
the pattern's findings *predicts* the step: all of the gain, down to what of it is to be
counted on. *Measured* is the fixed program's step, *naive* the slow step less the time
that the findings wasted. The two programs are recorded in turn, {steps} steps each,
{rounds} times over, waiting a while for others to be quiet; *others* is how much of the
processors they used meanwhile. A cell is the median of the rounds, a round's value
the median of its steps. Milliseconds.

*Error, step* is the prediction beyond the measured step, *error, gain* the predicted
gain beyond the measured one; in brackets the least and most of the rounds.
*Unprofiled* is what the fix takes off the step without the profiler, beside what the
prediction takes off the profiled step. *Left* is what the fixed trace's own findings of
the pattern would still gain.

{disturbed}
"""
QUIET = 0.1  # Rounds in which others used less are taken for undisturbed.
HEAD = (
    "pair", "slow", "predicted", "measured", "naive", "error, step %",
    "error, gain %", "measured in range", "unprofiled / predicted %", "left",
    "others",
)  # fmt: skip


def middle(rows: list[dict[str, Any]], key: str) -> float | None:
    """Return the median of the rounds that have a value."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def spread(rows: list[dict[str, Any]], key: str) -> str:
    """Write the median of shares with the least and most."""
    values = [100 * row[key] for row in rows if row[key] is not None]
    if not values:
        return "-"
    text = f"{statistics.median(values):+.0f}"
    return text + (f" ({min(values):+.0f} to {max(values):+.0f})" if rows[1:] else "")


def predicted(rows: list[dict[str, Any]]) -> str:
    """Write the range of a prediction."""
    if not any(row["found"] for row in rows):
        return "nothing found"
    high, low = middle(rows, "predicted"), middle(rows, "predicted_low")
    return f"{high:.1f} to {low:.1f}"


def unprofiled(rows: list[dict[str, Any]]) -> str:
    """Write the shares of the step that go, without the profiler and predicted."""
    if "plain_slow" not in rows[0]:
        return "-"
    real = statistics.median(1 - r["plain_fixed"] / r["plain_slow"] for r in rows)
    said = statistics.median(1 - r["predicted"] / r["slow"] for r in rows)
    return f"{100 * real:.0f} / {100 * said:.0f}"


def plain(value: float | None, form: str) -> str:
    """Write a value that not all rows have."""
    return "-" if value is None else form.format(value)


def row_of(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """Return a line of the table."""
    inside = sum(row["in_range"] for row in rows)
    return [
        name,
        f"{middle(rows, 'slow'):.1f}",
        predicted(rows),
        f"{middle(rows, 'measured'):.1f}",
        f"{middle(rows, 'naive'):.1f}",
        spread(rows, "error_of_step"),
        spread(rows, "error_of_gain"),
        f"{inside} of {len(rows)}",
        unprofiled(rows),
        plain(middle(rows, "left_in_fixed"), "{:.1f}"),
        plain(middle(rows, "others"), "{:.0%}"),
    ]


def disturbed(rows: list[dict[str, Any]]) -> str:
    """Say how far the figures are to be believed."""
    loud = sum(row["others"] >= QUIET for row in rows)
    if not loud:
        return "In no round other programs used a tenth of the processors."
    return (
        f"**In {loud} of {len(rows)} rounds other programs used a tenth of the "
        "processors or more, perhaps more beside one twin than beside the other. Those "
        "rows are to be run again on an idle machine before anything rests on them.**"
    )


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    measured = results["pairs"]
    known = {pair.name: pair for pair in PAIRS}
    lines = [row_of(f"`{name}`", rows) for name, rows in measured.items()]
    if results["recorded"]:
        lines.append(row_of(RESNET, [results["recorded"]]))
    notes = [f"- `{n}`: {known[n].what}. {known[n].why}" for n in measured]
    rounds = max((len(rows) for rows in measured.values()), default=0)
    return "\n".join(
        [
            INTRODUCTION.format(
                machine=machine_text(results["machine"])
                + f" torch {results['machine']['torch']}.",
                rounds=rounds,
                steps=results["machine"].get("steps", "-"),
                disturbed=disturbed(
                    [row for rows in measured.values() for row in rows]
                ),
            ),
            table(HEAD, lines),
            "# The pairs, and why they may differ\n",
            *notes,
            "- ResNet-50: one trace of each on a V100, by others; 6 steps. The four "
            "workers slow the training process (operators take 10 to 25 % longer), and "
            "two of its steps hold stalls of their own.",
            "",
        ]
    )
