# SPDX-License-Identifier: BSD-3-Clause
"""pairs_text.py: the sentences of benchmarks/results/replay_pairs.md."""

from __future__ import annotations

from typing import Any

RESNET = "ResNet-50, loader 0 -> 4 workers (traces of others)"
INTRODUCTION = """\
# What fixes were predicted to gain, and did

Written by `python -m benchmarks.replay.run_pairs`; not edited by hand. How gains are
worked out is said in [replay.md](../../docs/replay.md).

{machine}

Each pair is a slow program and the same program fixed, both recorded with
`torch.profiler` on one thread of a CPU. From the slow trace alone the replay without
the pattern's findings *predicts* the step, with all that it takes off
(`recoverable_us`). Of a trace without device work none of that is counted on
(`recoverable_low_us` is 0), so there is no low end to test. *Measured* is the fixed
program's step, *naive* the slow step less the time that the findings wasted, spread
evenly over the steps. The two programs are recorded in turn, {steps} steps each,
{rounds} times over, waiting a while for others to be quiet; *others* is how much of the
processors they used meanwhile. A cell is the median of the rounds, a round's value
the median of its steps but the first. Milliseconds.

A round in which nothing was *found* predicts nothing and counts in no cell of its row;
the list below has what was measured in it. *Error, step* is the prediction beyond the
measured step, *error, gain* the predicted gain beyond the measured one; in brackets the
least and most of the rounds. A fix that gained next to nothing makes the second large;
where it *gained nothing* there is no such share, and the cell says in how many rounds:
they are the worst, and neither in its median nor in its brackets. *Gained more* are the
rounds in which the fix gained more than predicted. *Unprofiled* is what the fix takes
off the step without the profiler, beside what the prediction takes off the profiled
step. *Left* is what the fixed trace's own findings of the pattern would still gain.

{outcome}

{disturbed}
"""
QUIET = 0.1  # Rounds in which others used less are taken for undisturbed.


def gained_nothing(rows: list[dict[str, Any]]) -> int:
    """Count the rounds whose fixed program took no less than the slow one."""
    return sum(row["measured"] >= row["slow"] for row in rows)


def gained_more(rows: list[dict[str, Any]]) -> int:
    """Count the rounds whose fix gained more than predicted."""
    return sum(row["measured"] < row["predicted"] for row in rows)


def not_found(rows: list[dict[str, Any]]) -> str:
    """Say what was measured in the rounds that the table leaves out."""
    out = [row for row in rows if not row["found"]]
    if not out:
        return ""
    times = ", ".join(f"{r['slow']:.1f} -> {r['measured']:.1f}" for r in out)
    return (
        f" In {len(out)} of {len(rows)} rounds nothing was found; measured there: "
        f"{times} ms."
    )


def outcome(rows: list[dict[str, Any]]) -> str:
    """Say on which side of the predictions the fixes came out."""
    found = [row for row in rows if row["found"]]
    return (
        f"Of {len(found)} rounds with a prediction, the fix gained nothing in "
        f"{gained_nothing(found)} and more than predicted in {gained_more(found)}: "
        "a fix may do less or more than take away what its finding covers."
    )


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


def resnet_note(row: dict[str, Any]) -> str:
    """Say what the row of the public pair is, and what its answer proves."""
    return (
        "- ResNet-50: one trace of each on a V100, by others; 6 steps. The four "
        "workers slow the training process (operators take 10 to 25 % longer), and "
        "two of its steps hold stalls of their own. *Naive* is less the idle time that "
        f"the finding wasted, {row['naive']:.1f}, from which the replay's "
        f"{row['predicted']:.1f} hardly differs. Each step less its own event of the "
        f"loader would be {row['less_events']:.1f} in the median: the device "
        "works on in some of that time. With what is counted on of the gain the step "
        f"would be {row['predicted_low']:.1f}; that share was chosen from this very "
        f"pair, so that {row['measured']:.1f} lies between tests nothing."
    )
